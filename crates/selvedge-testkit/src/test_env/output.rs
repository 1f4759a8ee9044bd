//! The output and exit code of a program, with accessors for tests. Every failed assertion shows the
//! whole output.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde_json::Value;

/// A program's output and exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its standard output, with invalid UTF-8 replaced.
    pub stdout: String,
    /// Its standard error, with invalid UTF-8 replaced.
    pub stderr: String,
    /// Its exit code; 128 plus the signal's number if a signal ended it.
    pub code: i32,
}

impl CommandOutput {
    pub(super) fn new(stdout: String, stderr: String, status: ExitStatus) -> Self {
        Self {
            stdout,
            stderr,
            code: shell_code(status),
        }
    }

    /// Fails the test unless the exit code is this one.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Fails the test unless the exit code is 0.
    #[track_caller]
    pub fn assert_success(&self) -> &Self {
        self.assert_code(0)
    }

    /// The standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON: {error}\n{self}"))
    }

    /// The standard output as JSON, one value per line.
    #[track_caller]
    pub fn jsonl(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("a line is not JSON: {error}\n{line}\n{self}"))
        };
        self.stdout.lines().map(parse).collect()
    }
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stdout,
            stderr,
            code,
        } = self;
        write!(
            formatter,
            "--- exit code {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        )
    }
}

/// Fails the test unless the text contains all of these parts.
#[track_caller]
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

/// The exit code as a shell reports it: 128 plus the signal's number if a signal ended the program.
fn shell_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}
