//! Settings about our own environment: names of variables, never values, and the machine's limit of checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine user's settings for the processes of checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentSpec {
    /// Additional variables for checks; a `*` at the end matches the rest of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Additional variables whose values are redacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Number of checks that may run on the machine at the same time; 0 for the number of its cores.
    #[serde(skip_serializing_if = "is_zero")]
    pub machine_checks: u32,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl EnvironmentSpec {
    /// Whether there are only the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
