//! The arguments of each tool: types and JSON schemas. Unknown arguments are rejected, because the caller expects them
//! to have an effect.

use rmcp::ErrorData;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Arguments of `verify`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifyCall {}

/// Arguments of `digest`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DigestCall {
    pub(super) output: String,
    pub(super) command: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) tokens: Option<usize>,
}

/// Arguments of `show`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowCall {
    #[serde(default = "last")]
    pub(super) run: String,
    pub(super) attempt: Option<u32>,
}

fn last() -> String {
    "last".to_owned()
}

/// Parses the arguments of a call.
pub(super) fn parse_arguments<T: DeserializeOwned>(
    arguments: Map<String, Value>,
) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

/// The tools: name, description and JSON schema of the arguments.
pub(super) fn tool_definitions() -> Vec<(&'static str, &'static str, Map<String, Value>)> {
    vec![
        (
            "verify",
            "Run this project's own checks (selvedge.toml) once on the current files, and report \
             failures with a digest. Call it before you report that you are done.",
            object_schema(&json!({}), &[]),
        ),
        (
            "digest",
            "Shorten the output of a build, test or lint tool to the failures and their locations.",
            object_schema(
                &json!({
                    "output": { "type": "string", "description": "The output of the tool." },
                    "command": { "type": "string", "description": "The command line that printed it." },
                    "exit_code": { "type": "integer", "description": "The exit code of the command. Without it, the digest never reports success." },
                    "tokens": { "type": "integer", "minimum": 1, "description": "Token limit of the digest; default: 500." },
                }),
                &["output"],
            ),
        ),
        (
            "show",
            "Show a Selvedge run: its attempts, the results of its checks, and its cost.",
            object_schema(
                &json!({
                    "run": { "type": "string", "description": "The run's id, or the beginning or end of it; default: `last`." },
                    "attempt": { "type": "integer", "minimum": 1, "description": "Show only this attempt." },
                }),
                &[],
            ),
        ),
    ]
}

fn object_schema(properties: &Value, required: &[&str]) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}
