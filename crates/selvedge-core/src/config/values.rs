//! The types of setting values, each with its own error messages.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::diagnostic::with_hint;
use crate::model::{MicroUsd, RunSpec};

/// A duration in milliseconds, greater than 0: `"30m"`, `"1h30m"`, `"500ms"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct HumanDuration(pub u64);

/// Why a text is not a duration; the second line is a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DurationError(String);

impl FromStr for HumanDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let refuse = |why| {
            let hint = "write it with units, such as \"500ms\", \"120s\", \"30m\" or \"1h30m\"";
            Err(DurationError(with_hint(
                format_args!("{text:?} is {why}"),
                hint,
            )))
        };
        let Ok(duration) = text.trim().parse::<SignedDuration>() else {
            return refuse("not a duration");
        };
        match u64::try_from(duration.as_millis()) {
            Ok(0) => refuse("too short"),
            Ok(milliseconds) => Ok(Self(milliseconds)),
            Err(_) if duration.is_negative() => refuse("negative"),
            Err(_) => refuse("out of range"),
        }
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = i64::try_from(self.0).unwrap_or(i64::MAX);
        write!(f, "{:#}", SignedDuration::from_millis(milliseconds))
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HumanDurationVisitor;
        impl Visitor<'_> for HumanDurationVisitor {
            type Value = HumanDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<HumanDuration, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<HumanDuration, E> {
                let hint = format!("write \"{number}s\" or \"{number}m\"");
                Err(E::custom(with_hint(
                    "a duration must be text with a unit",
                    hint,
                )))
            }
        }
        deserializer.deserialize_any(HumanDurationVisitor)
    }
}

/// An integer within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "u64")]
pub(super) struct BoundedInteger<const MIN: u64, const MAX: u64>(pub(super) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for BoundedInteger<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoundedIntegerVisitor<const MIN: u64, const MAX: u64>;
        impl<const MIN: u64, const MAX: u64> Visitor<'_> for BoundedIntegerVisitor<MIN, MAX> {
            type Value = BoundedInteger<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if MAX > i64::MAX.unsigned_abs() / 2 {
                    write!(f, "a whole number, {MIN} or more")
                } else {
                    write!(f, "a whole number from {MIN} to {MAX}")
                }
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                match u64::try_from(number) {
                    Ok(value) if (MIN..=MAX).contains(&value) => Ok(BoundedInteger(value)),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(BoundedIntegerVisitor)
    }
}

/// Corrections after a failed attempt: 0 to [`RunSpec::MAX_RETRIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "u32")]
pub(super) struct RetryCount(pub(super) u32);

impl<'de> Deserialize<'de> for RetryCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const CAP: u32 = RunSpec::MAX_RETRIES;
        let BoundedInteger(number) = BoundedInteger::<0, { u64::MAX }>::deserialize(deserializer)?;
        match u32::try_from(number) {
            Ok(retries) if retries <= CAP => Ok(Self(retries)),
            _ => Err(de::Error::custom(with_hint(
                format_args!("{number} retries exceed the limit of {CAP}"),
                format_args!("use a number from 0 to {CAP}"),
            ))),
        }
    }
}

/// US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "f64")]
pub(super) struct UsdAmount(pub(super) MicroUsd);

impl<'de> Deserialize<'de> for UsdAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        match MicroUsd::from_usd(dollars) {
            Some(amount) if amount > MicroUsd(0) => Ok(Self(amount)),
            _ => Err(de::Error::custom(with_hint(
                format_args!("{dollars} is not a valid amount"),
                "use a positive number of US dollars, such as 2.50",
            ))),
        }
    }
}

/// A price in US dollars per million tokens, which may be 0; stored in millionths of a micro-dollar per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "f64")]
pub(super) struct PricePerMillion(pub(super) u64);

impl<'de> Deserialize<'de> for PricePerMillion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        // Dollars per million tokens and micro-dollars per token are the same number.
        MicroUsd::from_usd(dollars)
            .map(|units| Self(units.0))
            .ok_or_else(|| {
                de::Error::custom(with_hint(
                    format_args!("{dollars} is not a valid price"),
                    "use US dollars per million tokens, such as 0.3 or 0",
                ))
            })
    }
}

/// A fraction, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(with = "f64")]
pub(super) struct UnitFraction(pub(super) f64);

impl<'de> Deserialize<'de> for UnitFraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err(de::Error::custom(with_hint(
                format_args!("{share} is out of range"),
                "use a number from 0 to 1, such as 0.6",
            )))
        }
    }
}

/// A program and its leading arguments: a command line, or a list of words.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "StringOrList")]
pub(super) struct CommandLine(pub(super) Vec<String>);

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the shape of CommandLine, for its JSON Schema")]
enum StringOrList {
    Line(String),
    Words(Vec<String>),
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommandLineVisitor;
        impl<'de> Visitor<'de> for CommandLineVisitor {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command line, or a list of words")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Vec<String>, E> {
                shell_words::split(line).map_err(|_| {
                    E::custom(with_hint(
                        "a quote is not closed",
                        "close it, or use a list of words",
                    ))
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Vec<String>, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(words))
            }
        }
        let words = deserializer.deserialize_any(CommandLineVisitor)?;
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self(words)),
            _ => Err(de::Error::custom("the program is missing")),
        }
    }
}

/// Command lines, each run separately: a single one, or a list.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "StringOrList")]
pub(super) struct CommandLines(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for CommandLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommandLinesVisitor;
        impl<'de> Visitor<'de> for CommandLinesVisitor {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command line, or a list of them")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Vec<String>, E> {
                Ok(vec![line.to_owned()])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, lines: A) -> Result<Vec<String>, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(lines))
            }
        }
        let lines = deserializer.deserialize_any(CommandLinesVisitor)?;
        if lines.iter().any(|line| line.trim().is_empty()) {
            return Err(de::Error::custom("a command line must not be empty"));
        }
        Ok(Self(lines))
    }
}

/// The value of an environment variable of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum EnvValue {
    /// A literal text.
    Text(String),
    /// The value of a variable of our own environment, with the same or a different name.
    From {
        /// The name of that variable.
        from: String,
    },
}

impl<'de> Deserialize<'de> for EnvValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct EnvReference {
            from: String,
        }
        struct EnvValueVisitor;
        impl<'de> Visitor<'de> for EnvValueVisitor {
            type Value = EnvValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or { from = \"NAME\" }")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EnvValue, E> {
                Ok(EnvValue::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EnvValue, A::Error> {
                let EnvReference { from } =
                    EnvReference::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(EnvValue::From { from })
            }
        }
        deserializer.deserialize_any(EnvValueVisitor)
    }
}
