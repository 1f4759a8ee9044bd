//! What a run says of our own environment: names, never values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Variables of our own environment that the defaults do not cover.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentSpec {
    /// More that checks see; a `*` at the end stands for the rest of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// More whose values are redacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

impl EnvironmentSpec {
    /// Whether there is nothing beyond the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
