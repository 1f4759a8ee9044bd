//! Messages between the main program and the supervisor over the control socket, one JSON line
//! each. Both ends always come from the same build, so the format may change freely.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::command::{SessionCommand, StdinSource, StopSignal, TAG_VARIABLE};
use super::session_exit::{ProcessExit, SpawnError, TreeReport};
use crate::sandbox::{SandboxPlan, WorkspaceSandbox};

/// Maximum descriptors sent with a message: a program's standard input, output and error.
pub(crate) const MAX_DESCRIPTORS: usize = 3;

/// First line of a session, from the main program: everything that the supervisor needs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SessionSpec {
    pub(super) argv: Vec<SystemString>,
    pub(super) env: Vec<(SystemString, SystemString)>,
    pub(super) cwd: SystemString,
    pub(super) stdin: StdinSpec,
    pub(super) lock: Option<SystemString>,
    pub(super) stop: StopSignal,
    pub(super) grace: Duration,
    pub(super) leftover_grace: Duration,
    pub(super) sandbox: Option<SandboxPlan>,
}

/// Source of standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StdinSpec {
    Null,
    File(SystemString),
}

/// All later lines of a session from the main program. Closing the socket means: kill everything
/// immediately.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorOrder {
    /// Start the program.
    Go,
    /// Stop the tree, with the grace period of the specification.
    Stop,
    /// Kill the tree immediately.
    Kill,
}

/// A line from the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorMessage {
    /// The lock is held and nothing is started: waiting for [`SupervisorOrder::Go`].
    Ready,
    /// The supervisor cannot do its work.
    Refused { message: String },
    /// The program runs.
    Started { pid: i32 },
    /// The program does not run.
    SpawnFailed(SpawnError),
    /// The program ended; its leftover processes are being ended.
    Exited(ProcessExit),
    /// These processes cannot be ended. The supervisor keeps trying, and keeps its lock.
    Surviving(TreeReport),
    /// Nothing is left, and the lock is released. The last line of a session: the supervisor waits
    /// for the next one.
    Gone(TreeReport),
}

/// A system string in JSON: text if it is valid text, otherwise its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum SystemString {
    Text(String),
    Raw(Vec<u8>),
}

impl From<&OsStr> for SystemString {
    fn from(value: &OsStr) -> Self {
        match value.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Raw(value.as_bytes().to_vec()),
        }
    }
}

impl From<&SystemString> for OsString {
    fn from(value: &SystemString) -> Self {
        match value {
            SystemString::Text(text) => Self::from(text),
            SystemString::Raw(bytes) => Self::from_vec(bytes.clone()),
        }
    }
}

impl From<&SystemString> for PathBuf {
    fn from(value: &SystemString) -> Self {
        Self::from(OsString::from(value))
    }
}

impl SessionSpec {
    /// Describes a command and its sandbox.
    pub(super) fn new(command: &SessionCommand, sandbox: Option<&WorkspaceSandbox>) -> Self {
        let (sandbox, moved) = sandbox.map(|sandbox| sandbox.plan_for(command)).unzip();
        let moved = moved.unwrap_or_default();
        let is_moved = |name: &OsString| moved.iter().any(|(moved, _)| moved == name);
        let tag = (
            OsStr::new(TAG_VARIABLE).into(),
            SystemString::Text(command.tag.clone()),
        );
        let env = command
            .env
            .iter()
            .filter(|(name, _)| name != TAG_VARIABLE && !is_moved(name))
            .chain(&moved)
            .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
            .chain([tag])
            .collect();
        Self {
            argv: command
                .argv
                .iter()
                .map(|arg| arg.as_os_str().into())
                .collect(),
            env,
            cwd: command.cwd.as_os_str().into(),
            stdin: match &command.stdin {
                StdinSource::Null => StdinSpec::Null,
                StdinSource::File(path) => StdinSpec::File(path.as_os_str().into()),
            },
            lock: command.lock.as_ref().map(|path| path.as_os_str().into()),
            stop: command.stop,
            grace: command.grace,
            leftover_grace: command.leftover_grace,
            sandbox,
        }
    }
}

/// Encodes a message as a line.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Decodes a line.
pub(crate) fn decode<T: DeserializeOwned>(line: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(line)?)
}
