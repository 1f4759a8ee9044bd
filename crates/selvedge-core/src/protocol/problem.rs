//! What a hub says when it cannot do what was asked: problem details (RFC 9457), with an error for each
//! field that is wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// Its path in the body: `verification_steps.0.type`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub detail: String,
}

/// `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Which kind, as a URN: `urn:selvedge:problem:invalid-task`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// In a few words.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// What went wrong here, and how to mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}
