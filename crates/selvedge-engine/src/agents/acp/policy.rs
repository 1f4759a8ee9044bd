//! Answers an agent's requests for files and permissions. Files are accessed below an open
//! directory, so that neither `..` nor a symbolic link leads out of the workspace; permissions are
//! granted for actions in the workspace. No person is present, so the decision is made here. An
//! agent can do more without asking: the sandbox restricts that.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol::v1::schema::{
    PermissionOptionKind, ReadTextFileRequest, ReadTextFileResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    ToolCallContent, ToolCallUpdateFields, ToolKind, WriteTextFileRequest, WriteTextFileResponse,
};
use serde_json::Value;

use super::command_paths::{self, CommandContext};
use crate::agents::SessionRole;
use crate::agents::chat::workspace_fs::{FileError, WorkspaceRoot};

/// Argument names with which agents' tools name a file or a directory.
const PATH_ARGUMENTS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "abs_path",
    "absolute_path",
    "notebook_path",
    "directory",
    "dir_path",
    "cwd",
    "workdir",
];
/// Argument names of the folder in which a command runs.
const FOLDER_ARGUMENTS: &[&str] = &["cwd", "workdir", "directory", "dir_path"];
/// Argument names of a command.
const COMMAND_ARGUMENTS: &[&str] = &["command", "cmd", "script"];

/// Decides which requests of an agent are granted.
pub(super) struct AccessPolicy {
    root: WorkspaceRoot,
    role: SessionRole,
    /// Whether a missing file is returned as an empty one.
    missing_is_empty: AtomicBool,
}

/// Why a request for a file is denied.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileRequestError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{0}` is not a text file")]
    InvalidText(String),
    #[error("a judge must not change files")]
    JudgeMayNotWrite,
}

impl AccessPolicy {
    pub(super) fn new(workspace: &Path, role: SessionRole) -> io::Result<Self> {
        let root = WorkspaceRoot::open(workspace)?;
        Ok(Self {
            root,
            role,
            missing_is_empty: AtomicBool::new(false),
        })
    }

    /// Works around an agent's limitations: Gemini CLI checks whether a file exists before it
    /// creates one, and treats the protocol's "missing" error as a failure.
    pub(super) fn apply_agent_quirks(&self, agent: &str) {
        let misreads = agent == "gemini-cli";
        self.missing_is_empty.store(misreads, Ordering::Relaxed);
    }

    /// Answers a request for permission: for one use, if that option is offered.
    pub(super) fn answer_permission_request(
        &self,
        request: &RequestPermissionRequest,
    ) -> RequestPermissionResponse {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let wanted = if self.allows(&request.tool_call.fields) {
            [AllowOnce, AllowAlways]
        } else {
            [RejectOnce, RejectAlways]
        };
        let chosen = wanted
            .iter()
            .find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
        let outcome = chosen.map_or(RequestPermissionOutcome::Cancelled, |option| {
            let chosen = SelectedPermissionOutcome::new(option.option_id.clone());
            RequestPermissionOutcome::Selected(chosen)
        });
        RequestPermissionResponse::new(outcome)
    }

    /// Whether a tool call is allowed: only on paths in the workspace, and for a judge only
    /// reading.
    fn allows(&self, call: &ToolCallUpdateFields) -> bool {
        let kind = call.kind.unwrap_or_default();
        let looks = matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
        let changes = matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        if self.role == SessionRole::Judge && !looks {
            return false;
        }
        let mut named = paths_in_call(call);
        named.extend(self.paths_in_command(call, kind));
        named.iter().all(|path| {
            let is_gits = Path::new(path)
                .iter()
                .any(|part| part.eq_ignore_ascii_case(".git"));
            self.root.contains(path) && !(changes && is_gits)
        })
    }

    /// All paths that the command of a tool call names. Some agents name the command only in the title.
    fn paths_in_command(&self, call: &ToolCallUpdateFields, kind: ToolKind) -> Vec<String> {
        let argument = |names: &[&str]| {
            let input = call.raw_input.as_ref()?;
            names.iter().find_map(|name| input.get(*name))
        };
        let folder = argument(FOLDER_ARGUMENTS).and_then(Value::as_str);
        // An absolute path replaces the workspace's.
        let folder = self.root.path().join(folder.unwrap_or_default());
        let home = std::env::home_dir();
        let context = CommandContext {
            folder: &folder,
            home: home.as_deref(),
            is_root_entry: Path::exists,
        };
        let title = call.title.as_deref().filter(|_| kind == ToolKind::Execute);
        let paths = match (argument(COMMAND_ARGUMENTS), title) {
            (Some(Value::String(command)), _) => command_paths::find_paths(command, context),
            (Some(Value::Array(words)), _) => {
                let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
                let words: Vec<_> = words.collect();
                command_paths::find_paths_in_words(&words, context)
            }
            (_, Some(title)) => command_paths::find_paths(title, context),
            _ => Vec::new(),
        };
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        paths.into_iter().map(text).collect()
    }

    /// Reads a text file, or some of its lines.
    pub(super) fn read(
        &self,
        request: &ReadTextFileRequest,
    ) -> Result<ReadTextFileResponse, FileRequestError> {
        let path = request.path.to_string_lossy();
        let bytes = match self.root.read(&path) {
            Err(FileError::Missing(_)) if self.missing_is_empty.load(Ordering::Relaxed) => {
                Vec::new()
            }
            read => read?,
        };
        let text = String::from_utf8(bytes)
            .map_err(|_| FileRequestError::InvalidText(path.into_owned()))?;
        if request.line.is_none() && request.limit.is_none() {
            return Ok(ReadTextFileResponse::new(text));
        }
        let count = |number: Option<u32>, otherwise| {
            number.map_or(otherwise, |number| {
                usize::try_from(number).unwrap_or(usize::MAX)
            })
        };
        let first = count(request.line, 1).saturating_sub(1);
        let lines = text.split_inclusive('\n').skip(first);
        let part: String = lines.take(count(request.limit, usize::MAX)).collect();
        Ok(ReadTextFileResponse::new(part))
    }

    /// Writes a whole file.
    pub(super) fn write(
        &self,
        request: &WriteTextFileRequest,
    ) -> Result<WriteTextFileResponse, FileRequestError> {
        if self.role == SessionRole::Judge {
            return Err(FileRequestError::JudgeMayNotWrite);
        }
        let path = request.path.to_string_lossy();
        self.root.write(&path, request.content.as_bytes())?;
        Ok(WriteTextFileResponse::new())
    }
}

/// All files and directories named by a tool call.
fn paths_in_call(call: &ToolCallUpdateFields) -> Vec<String> {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let mut named = Vec::new();
    for location in call.locations.iter().flatten() {
        named.push(shown(&location.path));
    }
    for content in call.content.iter().flatten() {
        if let ToolCallContent::Diff(diff) = content {
            named.push(shown(&diff.path));
        }
    }
    if let Some(Value::Object(arguments)) = &call.raw_input {
        let values = PATH_ARGUMENTS
            .iter()
            .filter_map(|name| arguments.get(*name)?.as_str());
        named.extend(values.map(str::to_owned));
    }
    named
}
