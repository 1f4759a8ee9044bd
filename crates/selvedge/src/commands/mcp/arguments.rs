//! What each tool takes, as its caller reads it and as it is read: an argument that a tool does not
//! know is refused, for the caller meant something by it.

use rmcp::ErrorData;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// `verify`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifyCall {}

/// `digest`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DigestCall {
    pub(super) output: String,
    pub(super) command: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) tokens: Option<usize>,
}

/// `show`
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

/// The arguments of a call.
pub(super) fn parse_arguments<T: DeserializeOwned>(
    arguments: Map<String, Value>,
) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

/// Each tool: its name, what it is for, and the schema of its arguments.
pub(super) fn tool_definitions() -> Vec<(&'static str, &'static str, Map<String, Value>)> {
    vec![
        (
            "verify",
            "Run this project's own checks (selvedge.toml) once, on the files as they are now, and say \
             what fails, with a digest. Call it before you say that you are done.",
            object_schema(&json!({}), &[]),
        ),
        (
            "digest",
            "Shorten the output of a build, test or lint tool to what failed and where.",
            object_schema(
                &json!({
                    "output": { "type": "string", "description": "What the tool printed." },
                    "command": { "type": "string", "description": "The command line that printed it." },
                    "exit_code": { "type": "integer", "description": "How it exited. Without it the digest never says that all is well." },
                    "tokens": { "type": "integer", "minimum": 1, "description": "Most tokens of the digest; 500 when absent." },
                }),
                &["output"],
            ),
        ),
        (
            "show",
            "Tell the story of a run of Selvedge: its attempts, what the checks found, what it cost.",
            object_schema(
                &json!({
                    "run": { "type": "string", "description": "The run's id, or the beginning or end of it; `last` when absent." },
                    "attempt": { "type": "integer", "minimum": 1, "description": "One attempt only." },
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
