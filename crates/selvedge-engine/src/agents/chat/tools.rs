//! The tools that a model works with: their descriptions, and the execution of calls. A tool's
//! error is returned to the model, which may correct it; only failures that end the session
//! (cancelled, infrastructure failure) are not.

mod arguments;
mod files;
mod find;
mod run;

use std::sync::Arc;

use selvedge_core::model::{ProcessCleanup, SessionOutcome};
use serde_json::{Value, json};

use self::arguments::ToolArguments;
use super::conversation::FunctionCall;
use super::timeouts::SessionTimer;
use super::workspace_fs::{FileError, WorkspaceRoot};
use crate::agents::SessionRequest;

/// The result of a call.
#[derive(Debug)]
pub(super) enum ToolResult {
    /// The result for the model.
    Done(String),
    /// The error for the model: an invalid call, or a failure.
    Failed(String),
    /// The session has ended.
    SessionEnded(Box<SessionOutcome>),
}

impl From<Result<String, ToolError>> for ToolResult {
    fn from(result: Result<String, ToolError>) -> Self {
        match result {
            Ok(output) => Self::Done(output),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

/// Why a call failed, as a message for the model.
#[derive(Debug, thiserror::Error)]
enum ToolError {
    #[error("unknown tool `{name}`; the tools are {}", TOOL_NAMES.join(", "))]
    UnknownTool { name: String },
    #[error("the argument `{0}` is missing; it must be a string")]
    MissingArgument(&'static str),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{0}` is not a text file (no UTF-8)")]
    NotText(String),
    #[error("old_text is empty; to write a whole file use write_file")]
    EmptyOldText,
    #[error("old_text does not occur in `{0}`; read the file again and copy it exactly")]
    OldTextMissing(String),
    #[error("old_text occurs {count} times in `{path}`; add lines around it until it is unique")]
    OldTextAmbiguous { path: String, count: usize },
    #[error("invalid pattern: {0}")]
    InvalidPattern(#[source] regex::Error),
}

/// The tools of one session.
#[derive(Debug)]
pub(super) struct ToolExecutor<'a> {
    request: &'a SessionRequest,
    root: Arc<WorkspaceRoot>,
    /// Maximum bytes of one answer.
    answer_limit: usize,
    /// Process cleanup of all commands.
    pub(super) processes: Option<ProcessCleanup>,
}

const TOOL_NAMES: [&str; 6] = [
    "list_files",
    "read_file",
    "search",
    "edit_file",
    "write_file",
    "run_command",
];

/// Whether there is a tool of this name.
pub(super) fn is_tool(name: &str) -> bool {
    TOOL_NAMES.contains(&name)
}

/// Descriptions of the tools for the model.
pub(super) fn tool_descriptions() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let number = |about: &str| json!({"type": "integer", "description": about});
    let path = || text("Path below the repository, such as src/main.py");
    let tool = |name: &str, about: &str, properties: Value, required: &[&str]| {
        json!({"type": "function", "function": {
            "name": name,
            "description": about,
            "parameters": {"type": "object", "properties": properties, "required": required},
        }})
    };
    json!([
        tool(
            "list_files",
            "Lists the files of the repository, or of one directory, without ignored ones.",
            json!({"path": text("Directory; default: the whole repository")}),
            &[],
        ),
        tool(
            "read_file",
            "Reads a text file, or a range of its lines.",
            json!({
                "path": path(),
                "start_line": number("First line, counted from 1"),
                "line_count": number("How many lines"),
            }),
            &["path"],
        ),
        tool(
            "search",
            "Finds lines that match a regular expression, with file and line number.",
            json!({
                "pattern": text("Regular expression"),
                "path": text("File or directory; default: the whole repository"),
            }),
            &["pattern"],
        ),
        tool(
            "edit_file",
            "Replaces a text in a file. The text must occur in it exactly once.",
            json!({
                "path": path(),
                "old_text": text("The exact text in the file, with its indentation"),
                "new_text": text("The replacement"),
            }),
            &["path", "old_text", "new_text"],
        ),
        tool(
            "write_file",
            "Writes a whole file; creates it and missing directories.",
            json!({"path": path(), "content": text("The complete content of the file")}),
            &["path", "content"],
        ),
        tool(
            "run_command",
            "Runs a shell command in the repository and returns its output and exit code. \
             Processes that it leaves in the background are ended with it.",
            json!({
                "command": text("Command line for sh"),
                "timeout_seconds": number("Time limit in seconds; default: 120"),
            }),
            &["command"],
        ),
    ])
}

/// The subject of a call, in a few words, for display.
pub(super) fn call_subject(call: &FunctionCall) -> String {
    let arguments = ToolArguments::new(call);
    let subjects = [arguments.command(), arguments.path(), arguments.pattern()];
    subjects
        .into_iter()
        .flatten()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The file that a call writes; `None` if its tool writes no file.
pub(super) fn written_file(call: &FunctionCall) -> Option<String> {
    let is_write = matches!(&*call.name, "edit_file" | "write_file");
    let path = ToolArguments::new(call).path().filter(|_| is_write)?;
    Some(path.to_owned())
}

impl<'a> ToolExecutor<'a> {
    pub(super) fn new(request: &'a SessionRequest, answer_limit: usize) -> std::io::Result<Self> {
        let root = Arc::new(WorkspaceRoot::open(&request.workspace)?);
        Ok(Self {
            request,
            root,
            answer_limit,
            processes: None,
        })
    }

    /// Executes a call.
    pub(super) async fn run_call(
        &mut self,
        call: &FunctionCall,
        clocks: &SessionTimer<'_>,
    ) -> ToolResult {
        if call.name == "run_command" {
            return self.run_command(call, clocks).await;
        }
        let (root, limit, call) = (Arc::clone(&self.root), self.answer_limit, call.clone());
        let work = tokio::task::spawn_blocking(move || run_file_tool(&root, limit, &call).into());
        match clocks.wait_for(work).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => ToolResult::Failed("the tool failed".to_owned()),
            Err(stopped) => ToolResult::SessionEnded(Box::new(clocks.outcome_of(stopped))),
        }
    }
}

fn run_file_tool(
    root: &WorkspaceRoot,
    limit: usize,
    call: &FunctionCall,
) -> Result<String, ToolError> {
    let arguments = ToolArguments::new(call);
    match call.name.as_str() {
        "list_files" => find::list(root, arguments, limit),
        "read_file" => files::read(root, arguments, limit),
        "search" => find::search(root, arguments, limit),
        "edit_file" => files::edit(root, arguments),
        "write_file" => files::write(root, arguments),
        other => {
            let name = other.to_owned();
            Err(ToolError::UnknownTool { name })
        }
    }
}

/// The beginning and the end of a text, at most `limit` bytes in total.
fn head_and_tail(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    let left_out = tail - head;
    format!(
        "{}\n[{left_out} bytes omitted]\n{}",
        &text[..head],
        &text[tail..]
    )
}
