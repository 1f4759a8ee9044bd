//! What a script can say: a JSON array with one list of steps for each attempt, the last of which
//! stands for all later ones. Paths are relative to where the agent works.
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

/// One list of steps for each attempt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct AgentScript {
    attempts: Vec<Vec<ScriptStep>>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ScriptStep {
    /// Say something. The last that was said is the final text.
    Say(String),
    /// Write a file, with the directories above it.
    Write(FileText),
    /// Add to the end of a file.
    Append(FileText),
    /// Replace a text that must be there, once.
    Replace {
        /// The file.
        path: PathBuf,
        /// What must be there.
        from: String,
        /// What comes in its place.
        to: String,
    },
    /// Remove a file or a directory.
    Delete(PathBuf),
    /// Make an empty file: a sign to a test that this point is reached.
    Touch(PathBuf),
    /// Run a program. That it fails is the agent's business, not the script's.
    Run(Vec<String>),
    /// Wait.
    SleepMs(u64),
    /// Wait until a file is there: the point at which a test does something to the agent.
    WaitForFile(PathBuf),
    /// Say and do nothing more, for ever.
    Hang(bool),
    /// Print much.
    Flood(Flood),
    /// Leave a process behind that outlives the agent.
    Daemon(Daemon),
    /// Print a line that is not UTF-8.
    InvalidUtf8(bool),
    /// Print half a record and end.
    DieMidRecord(bool),
    /// End at once, without a final record.
    Exit(u8),
    /// The final record, in place of that of a plain success that cost nothing.
    Result(ScriptedResult),
}

/// A file and its text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileText {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub text: String,
}

/// Much output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flood {
    /// How much.
    pub bytes: u64,
    /// Where to.
    #[serde(default)]
    pub stream: OutputStream,
    /// What it looks like.
    #[serde(default)]
    pub kind: FloodKind,
}

/// An output stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputStream {
    /// Where records go.
    #[default]
    Stdout,
    /// Where they do not.
    Stderr,
}

/// What a flood looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FloodKind {
    /// Lines of text.
    #[default]
    Lines,
    /// A single line, with its end at the end.
    OneLine,
    /// Every byte there is.
    Binary,
}

/// A process that is left behind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Daemon {
    /// How it gets away.
    #[serde(default)]
    pub kind: DetachMethod,
    /// The file to which it keeps appending its process id, a line each time.
    pub write_to: PathBuf,
    /// How often.
    #[serde(default = "Daemon::often")]
    pub every_ms: u64,
    /// Whether it keeps the agent's standard output open.
    #[serde(default)]
    pub holds_stdout: bool,
}

/// How a process gets away from its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DetachMethod {
    /// A child in the agent's own process group.
    #[default]
    Background,
    /// A child in a session of its own.
    Setsid,
    /// An orphan in a session of its own.
    DoubleFork,
}

/// How a session says it ended, in the words of Claude Code's final record; any other field of it
/// can be given too, and stands as it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ScriptedResult {
    /// `success`, `error_max_turns`, …
    pub subtype: Option<String>,
    /// Whether it failed; what the subtype says when absent.
    pub is_error: Option<bool>,
    /// The final text; the last that was said when absent.
    pub result: Option<String>,
    /// `total_cost_usd`.
    #[serde(alias = "total_cost_usd")]
    pub cost_usd: f64,
    /// Tokens, in the API's names (`input_tokens`, …).
    pub usage: Map<String, Value>,
    /// Turns; those that were taken when absent.
    pub num_turns: Option<u32>,
    /// All other fields.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl AgentScript {
    /// A script in code.
    pub(crate) fn new(attempts: impl IntoIterator<Item = Vec<ScriptStep>>) -> Self {
        Self {
            attempts: attempts.into_iter().collect(),
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let say = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| say(&error))?;
        serde_json::from_str(&text).map_err(|error| say(&error))
    }

    /// The steps of an attempt, counted from 1.
    pub(super) fn attempt_steps(&self, attempt: usize) -> &[ScriptStep] {
        let own = self.attempts.get(attempt.saturating_sub(1));
        own.or(self.attempts.last()).map_or(&[], Vec::as_slice)
    }
}

impl Daemon {
    const fn often() -> u64 {
        20
    }
}

impl ScriptedResult {
    /// Whether the session failed.
    pub(super) fn is_failure(&self) -> bool {
        let by_subtype = self
            .subtype
            .as_deref()
            .is_some_and(|subtype| subtype != "success");
        self.is_error.unwrap_or(by_subtype)
    }
}
