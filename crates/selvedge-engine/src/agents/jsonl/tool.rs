//! Describes a tool call by its arguments, with the argument names of various agents.

use selvedge_core::model::ToolCall;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient;
use crate::agents::final_message::shorten;

/// Maximum characters of a tool's name, and of its subject.
const NAME_LIMIT: usize = 80;
const SUBJECT_LIMIT: usize = 120;

/// Tools that write exactly the file in their arguments, by their names in the agents that have
/// them.
const FILE_WRITING_TOOLS: &[&str] = &[
    "Edit",
    "MultiEdit",
    "Write",
    "NotebookEdit",
    "edit",
    "write",
    "write_file",
    "replace",
];

/// The arguments that can be a call's subject. Any may be missing or of another type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SubjectArguments {
    #[serde(deserialize_with = "lenient")]
    command: Option<String>,
    #[serde(alias = "filePath", deserialize_with = "lenient")]
    file_path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    notebook_path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pattern: Option<String>,
    #[serde(deserialize_with = "lenient")]
    path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    url: Option<String>,
    #[serde(deserialize_with = "lenient")]
    query: Option<String>,
    #[serde(deserialize_with = "lenient")]
    description: Option<String>,
}

/// A call that has not completed yet: its subject is the first known argument.
pub(in crate::agents) fn tool_call_from_input(name: &str, input: Option<&RawValue>) -> ToolCall {
    let arguments: SubjectArguments = input
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let file = arguments.file_path.or(arguments.notebook_path);
    let writes = file.clone().filter(|_| FILE_WRITING_TOOLS.contains(&name));
    let subjects = [
        arguments.command,
        file,
        arguments.pattern,
        arguments.path,
        arguments.url,
        arguments.query,
        arguments.description,
    ];
    let subject = subjects.into_iter().flatten().next().unwrap_or_default();
    ToolCall {
        writes,
        ..tool_call_from_subject(name, &subject)
    }
}

/// A call of which only the name and the subject are known.
pub(in crate::agents) fn tool_call_from_subject(name: &str, subject: &str) -> ToolCall {
    ToolCall {
        name: shorten(name, NAME_LIMIT),
        subject: shorten(subject.trim(), SUBJECT_LIMIT),
        ..ToolCall::default()
    }
}
