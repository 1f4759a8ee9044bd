//! The script: a JSON array with a list of steps for each attempt. The last list also applies to all later attempts.
//! Paths are relative to the agent's working directory.
//!
//! ```json
//! [
//!   [{"say": "I think it is done."}],
//!   [{"write": {"path": "answer", "text": "42\n"}}, {"run": ["sh", "test.sh"]},
//!    {"result": {"cost_usd": 0.02, "usage": {"input_tokens": 900, "output_tokens": 40}}}]
//! ]
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ScriptedAgentError;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct AgentScript {
    attempts: Vec<Vec<ScriptStep>>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ScriptStep {
    /// Print a text. The last one is the final message.
    Say(String),
    /// Write a file; creates its parent directories.
    Write(FileText),
    /// Append to a file.
    Append(FileText),
    /// Replace a text that must occur exactly once.
    Replace {
        /// The file.
        path: PathBuf,
        /// The old text.
        from: String,
        /// The new text.
        to: String,
    },
    /// Delete a file or a directory.
    Delete(PathBuf),
    /// Create an empty file, to signal a test that this step was reached.
    Touch(PathBuf),
    /// Run a program. Its failure does not end the script.
    Run(Vec<String>),
    SleepMs(u64),
    /// Wait until a file exists, for example while a test acts on the agent.
    WaitForFile(PathBuf),
    /// Print nothing and wait forever.
    Hang(bool),
    /// Print a lot of output.
    Flood(Flood),
    /// Start a process that outlives the agent.
    Daemon(Daemon),
    /// Print a line that is not UTF-8.
    InvalidUtf8(bool),
    /// Print half a record and exit with 1.
    DieMidRecord(bool),
    /// Exit immediately, without a final record.
    Exit(u8),
    /// Print this final record instead of that of a success without cost.
    Result(ScriptedResult),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileText {
    pub path: PathBuf,
    pub text: String,
}

/// A large amount of output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flood {
    pub bytes: u64,
    #[serde(default)]
    pub stream: OutputStream,
    #[serde(default)]
    pub kind: FloodKind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputStream {
    /// The stream of the records.
    #[default]
    Stdout,
    Stderr,
}

/// The contents of a large output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FloodKind {
    #[default]
    Lines,
    /// A single line, with a line feed at the end.
    OneLine,
    /// All byte values in turn.
    Binary,
}

/// A process that outlives the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Daemon {
    #[serde(default)]
    pub kind: DetachMethod,
    /// The file that it appends its process id to, one line each time.
    pub write_to: PathBuf,
    /// Interval in milliseconds.
    #[serde(default = "Daemon::often")]
    pub every_ms: u64,
    /// Whether it keeps the agent's standard output open.
    #[serde(default)]
    pub holds_stdout: bool,
}

/// How a process detaches from its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DetachMethod {
    /// A child in the agent's process group.
    #[default]
    Background,
    /// A child in a new session.
    Setsid,
    /// An orphan in a new session.
    DoubleFork,
}

/// The session's final record, with the fields of Claude Code's. Other fields are passed through unchanged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ScriptedResult {
    /// `success`, `error_max_turns`, …
    pub subtype: Option<String>,
    /// Whether the session failed; by default according to the subtype.
    pub is_error: Option<bool>,
    /// The final message; by default the last printed text.
    pub result: Option<String>,
    /// `total_cost_usd`.
    #[serde(alias = "total_cost_usd")]
    pub cost_usd: f64,
    /// Tokens, with the API's names (`input_tokens`, …).
    pub usage: Map<String, Value>,
    /// Number of turns; by default the number of messages.
    pub num_turns: Option<u32>,
    /// All other fields.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl AgentScript {
    /// Creates a script.
    pub(crate) fn new(attempts: impl IntoIterator<Item = Vec<ScriptStep>>) -> Self {
        Self {
            attempts: attempts.into_iter().collect(),
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self, ScriptedAgentError> {
        let text = fs::read_to_string(path).map_err(|source| ScriptedAgentError::File {
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|source| ScriptedAgentError::InvalidScript {
            path: path.to_owned(),
            source,
        })
    }

    /// The steps of an attempt, counted from 1.
    pub(super) fn attempt_steps(&self, attempt: usize) -> &[ScriptStep] {
        let steps = self.attempts.get(attempt.saturating_sub(1));
        steps.or(self.attempts.last()).map_or(&[], Vec::as_slice)
    }
}

impl Daemon {
    const fn often() -> u64 {
        20
    }
}

impl ScriptedResult {
    pub(super) fn is_failure(&self) -> bool {
        let by_subtype = self
            .subtype
            .as_deref()
            .is_some_and(|subtype| subtype != "success");
        self.is_error.unwrap_or(by_subtype)
    }
}
