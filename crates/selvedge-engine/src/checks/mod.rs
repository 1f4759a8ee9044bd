//! Checks: each verifies one thing that must hold. One trait, and one file for each kind of step.
//!
//! A check reports what it found and its evidence. It does not decide what that means for the run. What it could not
//! examine is an `error`, never a pass.

mod command;
mod command_line;
mod digest;
mod evidence;
mod execution;
mod file_exists;
mod git_clean;
mod missing_program;
mod output;
mod package_scripts;
mod paths;
mod plugin;
mod reports;
mod runners;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::flakiness;
use selvedge_core::model::{CheckStatus, Evidence, OutputRef, ProcessCleanup, Step, StepKind};
use selvedge_digest::{Analysis, TestSummary};
use tokio_util::sync::CancellationToken;

use crate::agents::env::{check_env, host_env};
use crate::check_error::CheckError;
use crate::check_slots::SLOT_VARIABLE;
use crate::process::Supervisor;

pub use command_line::{first_program, to_argv};
pub(crate) use package_scripts::ScriptFolder;
pub use paths::{OutsideWorkspaceError, resolve_inside};

/// Where and how a check runs.
#[derive(Debug, Clone)]
pub struct CheckContext {
    /// The workspace's canonical path: where programs see its files.
    pub workspace: PathBuf,
    /// Where these files are stored: the workspace itself, or the folder that is mounted at its path.
    pub files_root: PathBuf,
    /// The check's name and its command.
    pub names: Vec<String>,
    /// Existing directory for outputs.
    pub run_dir: PathBuf,
    /// Name of this check's output file in `run_dir`.
    pub output_file: String,
    /// Output of the same check when it last passed in this run.
    pub passing_output: Option<PathBuf>,
    /// Marks every process of the check in its environment.
    pub tag: String,
    /// Lock file that is held while any process of the check is alive.
    pub lock: PathBuf,
    /// Starts supervised processes.
    pub supervisor: Supervisor,
    /// Time limit.
    pub limit: Duration,
    /// Arguments to execute instead of the step's command, to run selected tests alone.
    pub argv: Option<Vec<String>>,
    /// Whether the check is run before the work: then a program of the workspace that exists but cannot be started does
    /// not count as a failure of the work.
    pub is_baseline: bool,
}

impl CheckContext {
    /// Returns the environment of the check's processes.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = check_env(self.supervisor.env_allowlist(), &host_env());
        environment.insert(SLOT_VARIABLE.into(), "1".into());
        environment.into_iter().collect()
    }
}

/// Result of a check.
#[derive(Debug)]
pub struct CheckOutcome {
    pub status: CheckStatus,
    /// Reason in one line; always present unless the check passed.
    pub reason: Option<String>,
    /// The command's exit code, if it has one.
    pub exit_code: Option<i32>,
    pub duration: Duration,
    /// End of the output, for people.
    pub output: String,
    /// The complete output on disk.
    pub output_ref: Option<OutputRef>,
    /// Digested failures of the output, if any.
    pub analysis: Option<Analysis>,
    /// Results of its tests, from the runner's report if there is one, else from its output.
    pub tests: Option<TestSummary>,
    /// The basis of the status.
    pub evidence: Evidence,
    /// Cleanup of its processes, if it started any.
    pub processes: Option<ProcessCleanup>,
    /// Modules of its test runner that were loaded from the workspace.
    pub replaced_modules: Vec<String>,
    /// A path in the workspace that the check wanted to write, and that the verification room has read-only.
    pub(crate) read_only: Option<PathBuf>,
}

impl CheckOutcome {
    /// Creates an outcome of a check that printed nothing.
    fn without_output(status: CheckStatus, reason: Option<String>) -> Self {
        Self {
            status,
            reason,
            exit_code: None,
            duration: Duration::ZERO,
            output: String::new(),
            output_ref: None,
            analysis: None,
            tests: None,
            evidence: Evidence::Direct,
            processes: None,
            replaced_modules: Vec::new(),
            read_only: None,
        }
    }

    pub(crate) fn pass() -> Self {
        Self::without_output(CheckStatus::Pass, None)
    }

    pub(crate) fn fail(reason: impl Into<String>) -> Self {
        Self::without_output(CheckStatus::Fail, Some(reason.into()))
    }

    pub(crate) fn error(reason: impl Into<String>) -> Self {
        Self::without_output(CheckStatus::Error, Some(reason.into()))
    }

    pub(crate) fn timeout(reason: impl Into<String>) -> Self {
        Self::without_output(CheckStatus::Timeout, Some(reason.into()))
    }
}

/// One thing that must hold.
pub trait Check: Send + Sync {
    /// Runs the check.
    fn run<'a>(
        &'a self,
        context: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>>;
}

/// Returns the command that runs the first of these tests alone, if the step's command starts a runner that supports
/// it.
pub(crate) fn select_tests(
    step: &Step,
    tests: &[String],
    folder: ScriptFolder<'_>,
) -> Option<Vec<String>> {
    if tests.is_empty() || !matches!(step.kind, StepKind::Command | StepKind::TestPasses) {
        return None;
    }
    let commands = package_scripts::commands_of(&step.target, folder).into_iter();
    let mut selections = commands.filter_map(|argv| {
        let (runner, options_at) = runners::find_runner(&argv)?;
        flakiness::select_tests(runner, &argv, options_at, tests)
    });
    selections.next()
}

/// Creates the check of a step.
pub fn check_for(step: &Step) -> Box<dyn Check> {
    match step.kind {
        StepKind::Command => Box::new(command::CommandCheck::with_exit_code(step)),
        StepKind::TestPasses => Box::new(command::CommandCheck::with_test_evidence(step)),
        StepKind::FileExists => Box::new(file_exists::FileExistsCheck::new(step)),
        StepKind::Output => Box::new(output::ExpectedOutputCheck::new(step)),
        StepKind::Syntax | StepKind::ToolCalls => Box::new(output::UnsupportedStep),
        StepKind::GitClean => Box::new(git_clean::GitCleanCheck::new(step)),
        StepKind::Plugin => Box::new(plugin::PluginCheck::new(step)),
    }
}
