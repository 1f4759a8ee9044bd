//! Arguments about known failures, and the command that lists them.

use std::path::PathBuf;

use clap::Args;

use super::checks::CheckArgs;

/// Tests that may fail.
#[derive(Debug, Default, Args)]
pub(crate) struct KnownArgs {
    /// Test that may fail if it failed in the same way before the work began, by the id that its runner prints.
    /// Repeatable; replaces the configured list.
    #[arg(long = "known-failure", value_name = "ID")]
    pub(crate) known_failures: Vec<String>,
    /// File with known failures, one per line, as `selvedge known-failures` writes it.
    #[arg(long = "known-failures", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) known_failures_file: Option<PathBuf>,
}

impl KnownArgs {
    /// The absolute path of the file: relative paths in settings are relative to the repository.
    pub(crate) fn absolute_file(&self) -> Option<String> {
        let file = self.known_failures_file.as_deref()?;
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        Some(file.to_string_lossy().into_owned())
    }
}

/// `selvedge known-failures`
#[derive(Debug, Args)]
#[command(after_help = "\
A known failure is excused only if it fails with the same kind of message as before the work began, \
the task does not name it, and the work did not change its file. Runs read the file if \
`selvedge.toml` contains `[verification] known_failures_file = \"known-failures.txt\"`.

Examples:
  selvedge known-failures                                 print the tests that fail now
  selvedge known-failures --output known-failures.txt     write them to a file")]
pub(crate) struct KnownFailuresArgs {
    /// The checks.
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Write to this file [default: standard output].
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Directory of the project [default: current directory].
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
