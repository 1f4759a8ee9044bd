//! `command` and `test_passes`: a command line is executed in the workspace, under a supervisor,
//! with its output kept and digested. Where it is a test runner that writes reports for machines, it
//! is asked for one.

use std::io;
use std::time::Instant;

use futures_util::future::BoxFuture;
use selvedge_core::infra_error_patterns::{self, AbnormalExit};
use selvedge_core::model::{CheckStatus, Step};
use selvedge_digest::TestSummary;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::command_line::{programs_in, to_argv};
use super::evidence::assess;
use super::execution::{CommandExecution, ExecutedCommand};
use super::paths::{CheckDirectory, check_directory};
use super::reports::{ExpectedReport, ParsedReport};
use super::{Check, CheckContext, CheckError, CheckOutcome, runners};
use crate::agents::env::{host_env, withheld_variables};
use crate::sandbox::{self, WorkspaceSandbox};

/// How a shell, or `env`, ends when it cannot find the program.
const NOT_FOUND: i32 = 127;
/// How it ends when it may not execute it.
const NOT_EXECUTABLE: i32 = 126;

pub(super) struct CommandCheck {
    line: String,
    directory: Option<String>,
    requires_tests: bool,
}

impl CommandCheck {
    /// Passes when it exits with 0.
    pub(super) fn with_exit_code(step: &Step) -> Self {
        Self {
            line: step.target.clone(),
            directory: step.directory.clone(),
            requires_tests: false,
        }
    }

    /// Passes when it exits with 0 and shows that tests were executed.
    pub(super) fn with_test_evidence(step: &Step) -> Self {
        Self {
            requires_tests: true,
            ..Self::with_exit_code(step)
        }
    }

    async fn run_check(
        &self,
        scene: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let directory = self.directory.as_deref().unwrap_or(".");
        let cwd = match check_directory(directory, scene) {
            Ok(directory) => directory,
            Err(finding) => return Ok(*finding),
        };
        let argv = scene.argv.clone().unwrap_or_else(|| to_argv(&self.line));
        let began = Instant::now();
        if let Some(finding) = self.run_with_report(scene, &cwd, &argv, cancel).await? {
            return Ok(finding);
        }
        let limit = scene.limit.saturating_sub(began.elapsed());
        let scene = CheckContext {
            limit,
            ..scene.clone()
        };
        let execution = CommandExecution {
            line: &self.line,
            argv,
            cwd: cwd.sandbox_path,
            has_event_output: false,
            variables: Vec::new(),
            writable_path: None,
        };
        let executed = execution.run(&scene, cancel).await?;
        Ok(self.evaluate(&scene, executed, "its runner", ParsedReport::NotExpected))
    }

    /// Executes it with a report, where it is a runner that writes one, or may start one. None also where the runner
    /// turns out to know no such option: then it has run no test.
    async fn run_with_report(
        &self,
        scene: &CheckContext,
        cwd: &CheckDirectory,
        argv: &[String],
        cancel: &CancellationToken,
    ) -> Result<Option<CheckOutcome>, CheckError> {
        let wrapper = || runners::wrapper_invocation(argv).filter(|_| self.requires_tests);
        let Some(call) = runners::find_reporting_runner(argv).or_else(wrapper) else {
            return Ok(None);
        };
        let (run_dir, project) = (scene.run_dir.clone(), cwd.clone());
        let preparing = spawn_blocking(move || ExpectedReport::prepare(call, &run_dir, project));
        let awaited = match preparing.await.map_err(io::Error::from).flatten() {
            Ok(awaited) => awaited,
            Err(error) => {
                let why = format!("cannot make room for the report of its runner: {error}");
                return Ok(Some(CheckOutcome::error(why)));
            }
        };
        let execution = CommandExecution {
            line: &self.line,
            argv: awaited.argv(argv),
            cwd: cwd.sandbox_path.clone(),
            has_event_output: awaited.is_program_output(),
            variables: awaited.variables(),
            writable_path: Some(awaited.folder().to_owned()),
        };
        let executed = execution.run(scene, cancel).await?;
        let printed = executed.test_summary();
        let workspace = scene.workspace.clone();
        let reading = spawn_blocking(move || {
            let replaced = awaited.replaced_modules(&workspace);
            (awaited.read(printed), replaced)
        });
        let (told, replaced) = reading.await.unwrap_or_else(|_| {
            (
                ParsedReport::Unreadable("cannot be read".to_owned()),
                Vec::new(),
            )
        });
        let refused = executed.finding.status == CheckStatus::Fail
            && matches!(told, ParsedReport::Missing | ParsedReport::NotExpected)
            && call.is_refused(&executed.finding.output);
        Ok((!refused).then(|| CheckOutcome {
            replaced_modules: replaced,
            ..self.evaluate(scene, executed, call.spec.name, told)
        }))
    }

    fn evaluate(
        &self,
        scene: &CheckContext,
        executed: ExecutedCommand,
        runner: &str,
        told: ParsedReport,
    ) -> CheckOutcome {
        let printed = executed.test_summary();
        let mut finding = executed.finding;
        let weighed = assess(runner, printed, told);
        (finding.tests, finding.evidence) = (weighed.tests, weighed.evidence);
        match finding.status {
            CheckStatus::Pass if self.requires_tests && weighed.problem.is_some() => {
                finding.status = CheckStatus::Fail;
                finding.reason = weighed.problem;
                // Where nothing failed, a digest would say that all is well.
                finding.analysis = executed.analysis.filter(|it| !it.failures.is_empty());
            }
            status => {
                finding.analysis = executed.analysis;
                if let Some(ending) = executed.ending.filter(|_| status == CheckStatus::Fail) {
                    reclassify_environment_failure(
                        &mut finding,
                        ending,
                        scene.supervisor.sandbox(),
                    );
                    self.reclassify_missing_program(&mut finding, ending, scene.is_baseline);
                    mention_withheld_variables(
                        &mut finding,
                        &withheld_variables(scene.supervisor.env_allowlist(), &host_env()),
                    );
                }
            }
        }
        finding
    }
}

impl CommandCheck {
    /// A shell, or `env`, was executed and could not start a program of the line: then the check could not be run,
    /// by the same rules as where the program is executed directly.
    fn reclassify_missing_program(
        &self,
        finding: &mut CheckOutcome,
        ending: AbnormalExit,
        is_baseline: bool,
    ) {
        let (is_found, what) = match ending {
            AbnormalExit::ExitCode(NOT_FOUND) => (false, "is not found in PATH"),
            AbnormalExit::ExitCode(NOT_EXECUTABLE) => (true, "may not be executed"),
            _ => return,
        };
        if finding.status != CheckStatus::Fail {
            return;
        }
        let mut programs = programs_in(&self.line)
            .filter(|program| !program.contains('/') || is_found && is_baseline);
        if let Some(program) = programs.find(|it| reports_not_started(&finding.output, it)) {
            finding.status = CheckStatus::Error;
            finding.reason = Some(format!("the program `{program}` {what}"));
        }
    }
}

/// Whether a shell or `env` says that this program could not be started: `sh: 1: NAME: not found`,
/// `env: ‘NAME’: No such file or directory`.
fn reports_not_started(output: &str, program: &str) -> bool {
    const REASONS: [&str; 4] = [
        "not found",
        "command not found",
        "No such file or directory",
        "Permission denied",
    ];
    output.lines().any(|line| {
        let Some((subject, reason)) = line.rsplit_once(": ") else {
            return false;
        };
        let subject = subject.rsplit(": ").next().unwrap_or_default();
        let subject = subject.trim_matches(['\'', '"', '`', '‘', '’', '“', '”']);
        subject == program && REASONS.contains(&reason.trim())
    })
}

/// A failure that the machine or the walls are to blame for is none of the work's: the check could
/// not be run.
fn reclassify_environment_failure(
    finding: &mut CheckOutcome,
    ending: AbnormalExit,
    walls: Option<&WorkspaceSandbox>,
) {
    let failed = |tests: &TestSummary| tests.complete && tests.failed > 0;
    let by_walls = walls.and_then(|walls| sandbox::diagnose_denial(walls, &finding.output));
    if by_walls.is_none() && finding.tests.as_ref().is_some_and(failed) {
        return;
    }
    let by_machine =
        || infra_error_patterns::find_cause(ending, &finding.output).map(str::to_owned);
    if let Some(cause) = by_walls.or_else(by_machine) {
        let said = finding.reason.take().unwrap_or_default();
        finding.status = CheckStatus::Error;
        finding.reason = Some(format!("{said}: {cause}"));
    }
}

/// A failure that speaks of a variable which checks do not see may be for want of it.
fn mention_withheld_variables(finding: &mut CheckOutcome, held_back: &[String]) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = finding.output.split(|c| !is_name(c));
    let missing = words.find(|word| word.len() > 3 && held_back.iter().any(|name| name == word));
    if let Some(name) = missing {
        let said = finding.reason.take().unwrap_or_default();
        let hint = "which checks do not see unless `environment.checks` or --check-env names it";
        finding.reason = Some(format!("{said}; it speaks of {name}, {hint}"));
    }
}

impl Check for CommandCheck {
    fn run<'a>(
        &'a self,
        scene: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(self.run_check(scene, cancel))
    }
}
