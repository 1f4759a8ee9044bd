//! Prices of tokens: a table of list prices, with look-up by the names that agents use for models.
//!
//! A price from the table is a last resort; an agent's own report takes precedence. A model that is not in the table
//! has no price: it never gets that of a similar name, and never zero.

mod name;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::{AgentSpec, MicroUsd, Price, Usage};

/// Prices by model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceTable {
    as_of: String,
    reference: String,
    prices: BTreeMap<String, Price>,
}

/// Error in a price table.
#[derive(Debug, thiserror::Error)]
pub enum PriceTableError {
    /// It is not TOML of the expected structure.
    #[error("cannot read the price table: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A price is negative, not a number, or too large.
    #[error("invalid price of `{model}`: {value}; use US dollars per million tokens")]
    Price {
        /// The model's first name.
        model: String,
        /// The value.
        value: f64,
    },
    /// A model occurs twice, possibly in different spellings.
    #[error("`{0}` has two prices")]
    Duplicate(String),
    /// The reference model has no price.
    #[error("the reference model `{0}` has no price")]
    NoReference(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    as_of: String,
    reference: String,
    #[serde(default)]
    model: Vec<PriceEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    names: Vec<String>,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

static BUILT_IN: LazyLock<PriceTable> =
    LazyLock::new(|| PriceTable::parse(include_str!("prices.toml")).unwrap_or_default());

impl PriceTable {
    /// The built-in table.
    pub fn built_in() -> &'static Self {
        // Invariant: the table parses, as a test checks. With an empty one no model would have a price.
        &BUILT_IN
    }

    /// Parses a table; `prices.toml` in this folder is an example.
    pub fn parse(text: &str) -> Result<Self, PriceTableError> {
        let PriceFile {
            as_of,
            reference,
            model,
        } = toml::from_str(text)?;
        let mut prices = BTreeMap::new();
        for entry in model {
            let price = entry.price()?;
            for spelled in entry.names {
                if prices.insert(name::canonical(&spelled), price).is_some() {
                    return Err(PriceTableError::Duplicate(spelled));
                }
            }
        }
        let table = Self {
            as_of,
            reference,
            prices,
        };
        match table.price(&table.reference) {
            Some(_) => Ok(table),
            None => Err(PriceTableError::NoReference(table.reference)),
        }
    }

    /// The date of the prices.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// The price of a model, in any spelling that agents use.
    pub fn price(&self, model: &str) -> Option<Price> {
        self.prices.get(&name::canonical(model)).copied()
    }

    /// The cost of this usage of a model; `None` if the table does not have the model.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<MicroUsd> {
        Some(self.price(model)?.of(usage))
    }

    /// The cost of the same tokens on the reference Claude model.
    pub fn equivalent_claude_cost(&self, usage: &Usage) -> Option<MicroUsd> {
        self.cost(&self.reference, usage)
    }
}

/// Whether two spellings refer to the same model.
pub fn is_same(one: &str, other: &str) -> bool {
    name::canonical(one) == name::canonical(other)
}

impl AgentSpec {
    /// The price of a model that this agent uses: the user's price for the configured model, otherwise the list price.
    pub fn price_of(&self, model: &str) -> Option<Price> {
        let configured = self.model.as_deref().unwrap_or_default();
        let own = self.price.filter(|_| is_same(model, configured));
        own.or_else(|| PriceTable::built_in().price(model))
    }

    /// The cost of this usage of a model at that price.
    pub fn cost_of(&self, model: &str, usage: &Usage) -> Option<MicroUsd> {
        Some(self.price_of(model)?.of(usage))
    }
}

impl PriceEntry {
    fn price(&self) -> Result<Price, PriceTableError> {
        let input = self.units(self.input)?;
        let cached = |price: Option<f64>| price.map_or(Ok(input), |price| self.units(price));
        Ok(Price {
            input,
            output: self.units(self.output)?,
            cache_read: cached(self.cache_read)?,
            cache_write: cached(self.cache_write)?,
        })
    }

    fn units(&self, dollars: f64) -> Result<u64, PriceTableError> {
        // Dollars per million tokens and micro-dollars per token are the same number, so rounding dollars to
        // micro-dollars also rounds micro-dollars to our units.
        MicroUsd::from_usd(dollars)
            .map(|units| units.0)
            .ok_or_else(|| PriceTableError::Price {
                model: self.names.first().cloned().unwrap_or_default(),
                value: dollars,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        input: 1_000,
        output: 50,
        cache_read: 300,
        cache_write: 200,
    };

    #[test]
    fn price_table_agrees_with_claude_code() {
        PriceTable::parse(include_str!("prices.toml")).unwrap();
        let table = PriceTable::built_in();
        // A recorded session: 0.00765 dollars for these tokens.
        assert_eq!(
            table.cost("claude-opus-4-8[1m]", &USAGE),
            Some(MicroUsd(7_650))
        );
        assert_eq!(table.equivalent_claude_cost(&USAGE), Some(MicroUsd(4_590)));
    }

    #[test]
    fn price_lookup_accepts_spellings_only() {
        let table = PriceTable::built_in();
        let haiku = table.price("claude-haiku-4-5");
        assert!(haiku.is_some());
        for spelled in [
            "claude-haiku-4-5-20251001",
            "anthropic/claude-haiku-4.5",
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5@20251001",
            "Claude-Haiku-4-5-latest",
        ] {
            assert_eq!(table.price(spelled), haiku, "{spelled}");
        }
        for unknown in [
            "claude-haiku-4-59",
            "claude-haiku",
            "haiku",
            "gpt-5-pro",
            "qwen3:8b",
            "",
        ] {
            assert_eq!(table.price(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn price_sums_are_exact_and_saturate() {
        let table = "as_of = '2000-01-01'\nreference = 'm'\n\
                     [[model]]\nnames = ['m']\ninput = 0.0005\noutput = 1";
        let table = PriceTable::parse(table).unwrap();
        let input = |tokens| Usage {
            input: tokens,
            ..Usage::default()
        };
        assert_eq!(table.cost("m", &input(999)), Some(MicroUsd(0)));
        assert_eq!(table.cost("m", &input(1_000)), Some(MicroUsd(1)));
        let flood = Usage {
            output: u64::MAX,
            ..input(u64::MAX)
        };
        assert_eq!(table.cost("m", &flood), Some(MicroUsd(u64::MAX)));
    }

    #[test]
    fn price_of_cached_tokens_defaults_to_input_price() {
        let table = "as_of = ''\nreference = 'm'\n[[model]]\nnames = ['m']\ninput = 2\noutput = 0";
        let usage = Usage {
            input: 1,
            cache_read: 10,
            cache_write: 100,
            output: 7,
        };
        assert_eq!(
            PriceTable::parse(table).unwrap().cost("m", &usage),
            Some(MicroUsd(222))
        );
    }

    #[test]
    fn price_table_rejects_invalid_values() {
        let table = |rest: &str| PriceTable::parse(&format!("as_of = ''\nreference = 'm'\n{rest}"));
        let model = "[[model]]\nnames = ['m']\noutput = 1\ninput = ";
        assert!(matches!(table(""), Err(PriceTableError::NoReference(_))));
        assert!(matches!(
            table(&format!("{model}-1")),
            Err(PriceTableError::Price { .. })
        ));
        assert!(matches!(
            table(&format!("{model}nan")),
            Err(PriceTableError::Price { .. })
        ));
        let twice = format!("{model}1\n[[model]]\nnames = ['x/M-20250101']\noutput = 1\ninput = 1");
        assert!(matches!(table(&twice), Err(PriceTableError::Duplicate(_))));
        assert!(matches!(
            table("modell = 1"),
            Err(PriceTableError::Syntax(_))
        ));
    }
}
