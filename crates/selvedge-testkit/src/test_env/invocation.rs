//! A command to be run in a [`TestEnv`](crate::TestEnv).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child::SpawnedProgram;
use super::output::CommandOutput;
use crate::watched_value::WAIT_TIMEOUT;

/// A program with its arguments, environment and input: [`Self::run`] it to its end, or [`Self::spawn`]
/// it.
#[derive(Debug)]
#[must_use = "nothing runs until `run` or `spawn`"]
pub struct Invocation {
    command: Command,
    root: PathBuf,
    input: Option<Vec<u8>>,
    timeout: Duration,
}

impl Invocation {
    pub(super) fn new(command: Command, root: &Path) -> Self {
        Self {
            command,
            root: root.to_owned(),
            input: None,
            timeout: WAIT_TIMEOUT,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Passes on a variable of the test's own environment, if it is set there.
    pub fn env_inherit(self, name: impl AsRef<OsStr>) -> Self {
        match std::env::var_os(&name) {
            Some(value) => self.env(name, value),
            None => self,
        }
    }

    /// Sets the standard input, which is empty by default.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Sets the working directory; a relative path starts in the work directory.
    pub fn dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command
            .current_dir(self.root.join("work").join(directory));
        self
    }

    /// Sets how long the test waits for the program before it fails (default: 60 s).
    pub fn timeout(mut self, patience: Duration) -> Self {
        self.timeout = patience;
        self
    }

    /// Starts the program and returns immediately.
    #[track_caller]
    pub fn spawn(self) -> SpawnedProgram {
        SpawnedProgram::spawn(self.command, self.root, self.input, self.timeout)
    }

    /// Runs the program to its end, whatever its exit code.
    #[track_caller]
    pub fn run(self) -> CommandOutput {
        self.spawn().wait()
    }
}
