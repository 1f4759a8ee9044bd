//! Checks: one thing each that must hold. One trait, one file for each kind of step.
//!
//! A check says what it found and how it knows. It never decides what that means for the run, and
//! what it could not look at is an `error`, never a pass.

mod command;
mod command_line;
mod digest;
mod evidence;
mod execution;
mod file_exists;
mod git_clean;
mod output;
mod paths;
mod plugin;
mod reports;
mod runners;

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::flakiness;
use selvedge_core::model::{CheckStatus, Evidence, OutputRef, ProcessCleanup, Step, StepKind};
use selvedge_digest::{Analysis, TestSummary};
use tokio_util::sync::CancellationToken;

use crate::process::Supervisor;

pub use command_line::{first_program, to_argv};
pub use paths::{OutsideWorkspaceError, resolve_inside};

/// What a check may know of where it runs.
#[derive(Debug, Clone)]
pub struct CheckContext {
    /// The workspace, canonical: where programs see its files.
    pub workspace: PathBuf,
    /// Where these files lie; the workspace itself, or what is mounted at its path.
    pub files_root: PathBuf,
    /// Where outputs are kept; exists.
    pub run_dir: PathBuf,
    /// Name of this check's output file in there.
    pub output_file: String,
    /// What the same check printed when it last passed in this run.
    pub passing_output: Option<PathBuf>,
    /// Marks every process of the check in its environment.
    pub tag: String,
    /// Held for as long as anything of the check's process tree lives.
    pub lock: PathBuf,
    /// How to start a supervised process.
    pub supervisor: Supervisor,
    /// How long it may take.
    pub limit: Duration,
    /// The words to execute in place of the step's own: tests that are run alone.
    pub argv: Option<Vec<String>>,
    /// Whether it is run before the work begins: then a program of the workspace that is there and cannot be
    /// started is no failure of the work.
    pub is_baseline: bool,
}

/// What a check found.
#[derive(Debug)]
pub struct CheckOutcome {
    /// What it says.
    pub status: CheckStatus,
    /// Why, in one line; always there when it did not pass.
    pub reason: Option<String>,
    /// The command's exit code, where it had one.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration: Duration,
    /// The end of its output, for people.
    pub output: String,
    /// The whole output on disk.
    pub output_ref: Option<OutputRef>,
    /// What the digest makes of the output, where there was one.
    pub analysis: Option<Analysis>,
    /// What its tests did, by the runner's own report where there is one, else by its output.
    pub tests: Option<TestSummary>,
    /// What the status rests on.
    pub evidence: Evidence,
    /// What became of its processes, where it started any.
    pub processes: Option<ProcessCleanup>,
    /// Modules of its test runner that were loaded from the workspace.
    pub replaced_modules: Vec<String>,
}

impl CheckOutcome {
    /// A finding without any output.
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

/// Why a check has no finding at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The run is being stopped.
    #[error("stopped before the check ended")]
    Cancelled,
    /// Nothing can be stored any more: going on would lose evidence.
    #[error("{0}")]
    Infrastructure(String),
}

/// One thing that must hold.
pub trait Check: Send + Sync {
    /// Looks.
    fn run<'a>(
        &'a self,
        scene: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>>;
}

/// The words that run the first of these tests alone, where the step's command is a runner that can.
pub(crate) fn select_tests(step: &Step, tests: &[String]) -> Option<Vec<String>> {
    if !matches!(step.kind, StepKind::Command | StepKind::TestPasses) {
        return None;
    }
    let argv = to_argv(&step.target);
    let (runner, options_at) = runners::find_runner(&argv)?;
    flakiness::select_tests(runner, &argv, options_at, tests)
}

/// The check that a step asks for.
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
