//! Tokens and money. Money is counted in whole micro-dollars, so that sums are exact; an unknown amount is `unknown`,
//! never zero.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Millionths of a US dollar.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Converts dollars, rounded to the nearest micro-dollar. Negative and non-finite amounts are `None`.
    pub fn from_usd(usd: f64) -> Option<Self> {
        let micro = (usd * 1e6).round();
        // Above 2^53 micro-dollars (nine billion dollars), f64 is no longer exact.
        let exact = micro.is_finite() && (0.0..=9_007_199_254_740_992.0).contains(&micro);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "range checked above"
        )]
        exact.then_some(Self(micro as u64))
    }

    /// In dollars.
    pub fn as_usd(self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "exact below nine billion dollars"
        )]
        let micro = self.0 as f64;
        micro / 1e6
    }
}

impl Add for MicroUsd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

/// The source of a cost.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The agent reported it.
    Reported,
    /// Computed from tokens and the price table.
    Estimated,
    /// Neither the agent nor the price table has it.
    Unknown,
}

/// An amount and its reliability. `usd` is absent exactly when the source is `unknown` and nothing is known; in a sum
/// it may be present with `unknown`, as a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<MicroUsd>,
    /// The weakest source of all summands.
    pub source: CostSource,
}

impl Cost {
    /// No cost.
    pub const ZERO: Self = Self {
        micro_usd: Some(MicroUsd(0)),
        source: CostSource::Reported,
    };
    /// Unknown cost.
    pub const UNKNOWN: Self = Self {
        micro_usd: None,
        source: CostSource::Unknown,
    };

    /// A cost that the agent reported.
    pub const fn reported(amount: MicroUsd) -> Self {
        Self {
            micro_usd: Some(amount),
            source: CostSource::Reported,
        }
    }

    /// A cost estimated from tokens and the price table.
    pub const fn estimated(amount: MicroUsd) -> Self {
        Self {
            micro_usd: Some(amount),
            source: CostSource::Estimated,
        }
    }

    /// The lower bound of the amount.
    pub fn at_least(self) -> MicroUsd {
        self.micro_usd.unwrap_or_default()
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl Add for Cost {
    type Output = Self;

    /// The sum is as reliable as its least reliable part. A zero amount changes nothing; adding an unknown amount makes
    /// the sum unknown.
    fn add(self, other: Self) -> Self {
        if self == Self::ZERO {
            return other;
        }
        if other == Self::ZERO {
            return self;
        }
        let micro_usd = match (self.micro_usd, other.micro_usd) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or_default() + two.unwrap_or_default()),
        };
        Self {
            micro_usd,
            source: self.source.max(other.source),
        }
    }
}

/// Tokens, by the kinds that have different prices. `input` excludes cached tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// All input tokens, cached or not: the wire's `tokens_in`.
    pub fn tokens_in(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// All output tokens: the wire's `tokens_out`.
    pub fn tokens_out(&self) -> u64 {
        self.output
    }

    /// Input and output tokens together.
    pub fn total(&self) -> u64 {
        self.tokens_in().saturating_add(self.output)
    }

    /// The larger count of each kind of token, for two reports about the same request.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

/// Prices of one model, in millionths of a micro-dollar per token, so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Input that was not cached.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input that was read from a cache.
    pub cache_read: u64,
    /// Input that was written to a cache.
    pub cache_write: u64,
}

/// Price units in one micro-dollar.
const UNITS_PER_MICRO_USD: u128 = 1_000_000;

impl Price {
    /// The cost of this usage, rounded to the nearest micro-dollar.
    pub fn of(&self, usage: &Usage) -> MicroUsd {
        let kinds = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        // Four products of two u64 only overflow u128 for unrealistic usage.
        let units = kinds.iter().fold(0_u128, |sum, &(tokens, price)| {
            sum.saturating_add(u128::from(tokens) * u128::from(price))
        });
        let micro = units.saturating_add(UNITS_PER_MICRO_USD / 2) / UNITS_PER_MICRO_USD;
        MicroUsd(u64::try_from(micro).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_sum_has_weakest_source() {
        let reported = Cost::reported(MicroUsd(5));
        let sum = reported + Cost::UNKNOWN;
        assert_eq!(
            sum,
            Cost {
                micro_usd: Some(MicroUsd(5)),
                source: CostSource::Unknown
            }
        );
        assert_eq!(
            (reported + Cost::estimated(MicroUsd(1))).source,
            CostSource::Estimated
        );
        assert_eq!(Cost::UNKNOWN + Cost::UNKNOWN, Cost::UNKNOWN);
        assert_eq!(Cost::ZERO + Cost::UNKNOWN, Cost::UNKNOWN);
    }

    #[test]
    fn micro_usd_rounds_and_rejects_invalid() {
        assert_eq!(MicroUsd::from_usd(0.023_400_4), Some(MicroUsd(23_400)));
        assert_eq!(MicroUsd::from_usd(-1.0), None);
        assert_eq!(MicroUsd::from_usd(f64::NAN), None);
        assert_eq!(MicroUsd::from_usd(f64::INFINITY), None);
    }
}
