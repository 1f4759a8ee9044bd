//! Error responses of a hub: problem details (RFC 9457), with an error for each invalid field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Begins the kind of every problem.
pub const PROBLEM_PREFIX: &str = "urn:selvedge:problem:";
/// The kind of problem, after the prefix, of a project whose limit is reached: repeating the request soon is useless.
pub const LIMIT_PROBLEM: &str = "limit";

/// One invalid field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// Its path in the body: `verification_steps.0.type`.
    pub field: String,
    /// The problem, and what is valid.
    pub detail: String,
}

/// `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The kind, as a URN: `urn:selvedge:problem:invalid-task`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Short description of the kind.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// Description of the error, and how to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Invalid fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}
