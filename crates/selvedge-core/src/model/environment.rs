//! Settings about our own environment: names of variables, never values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Variables of our own environment that the defaults do not cover.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentSpec {
    /// Additional variables for checks; a `*` at the end matches the rest of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Additional variables whose values are redacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

impl EnvironmentSpec {
    /// Whether there are only the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
