//! `command` and `test_passes`: run a command line in the workspace under a supervisor, and store and digest its
//! output. Test runners that can write a machine-readable report get the arguments for one.

use std::io;
use std::time::Instant;

use futures_util::future::BoxFuture;
use selvedge_core::infra_error_patterns::{self, AbnormalExit};
use selvedge_core::model::{CheckStatus, Step};
use selvedge_digest::{CommandStatus, TestSummary};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::command_line::{programs_in, to_argv};
use super::evidence::assess;
use super::execution::{CommandExecution, ExecutedCommand};
use super::missing_program::{find_missing_tool, reports_not_started};
use super::paths::{CheckDirectory, check_directory};
use super::reports::{ExpectedReport, ParsedReport};
use super::{Check, CheckContext, CheckOutcome, runners};
use crate::agents::env::{host_env, withheld_variables};
use crate::check_error::CheckError;
use crate::sandbox::{self, WorkspaceSandbox};

/// Exit code of a shell or `env` that cannot find the program.
const NOT_FOUND: i32 = 127;
/// Exit code of a shell or `env` that is not permitted to execute the program.
const NOT_EXECUTABLE: i32 = 126;

pub(super) struct CommandCheck {
    line: String,
    directory: Option<String>,
    requires_tests: bool,
}

impl CommandCheck {
    /// Passes if the command exits with 0.
    pub(super) fn with_exit_code(step: &Step) -> Self {
        Self {
            line: step.target.clone(),
            directory: step.directory.clone(),
            requires_tests: false,
        }
    }

    /// Passes if the command exits with 0 and shows that tests were executed.
    pub(super) fn with_test_evidence(step: &Step) -> Self {
        Self {
            requires_tests: true,
            ..Self::with_exit_code(step)
        }
    }

    async fn run_check(
        &self,
        context: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let directory = self.directory.as_deref().unwrap_or(".");
        let cwd = match check_directory(directory, context) {
            Ok(directory) => directory,
            Err(finding) => return Ok(*finding),
        };
        let argv = context.argv.clone().unwrap_or_else(|| to_argv(&self.line));
        let start = Instant::now();
        if let Some(finding) = self.run_with_report(context, &cwd, &argv, cancel).await? {
            return Ok(finding);
        }
        let limit = context.limit.saturating_sub(start.elapsed());
        let context = CheckContext {
            limit,
            ..context.clone()
        };
        let execution = CommandExecution {
            line: &self.line,
            argv,
            cwd: cwd.sandbox_path,
            has_event_output: false,
            variables: Vec::new(),
            writable_path: None,
        };
        let executed = execution.run(&context, cancel).await?;
        Ok(self.evaluate(&context, executed, "its runner", ParsedReport::NotExpected))
    }

    /// Runs the command with a report if it is a test runner that writes one, or may start one. Returns `None`
    /// otherwise, and also if the runner rejects the added options, because then it has run no test.
    async fn run_with_report(
        &self,
        context: &CheckContext,
        cwd: &CheckDirectory,
        argv: &[String],
        cancel: &CancellationToken,
    ) -> Result<Option<CheckOutcome>, CheckError> {
        let wrapper = || runners::wrapper_invocation(argv).filter(|_| self.requires_tests);
        let Some(call) = runners::find_reporting_runner(argv).or_else(wrapper) else {
            return Ok(None);
        };
        let (run_dir, project) = (context.run_dir.clone(), cwd.clone());
        let preparing = spawn_blocking(move || ExpectedReport::prepare(call, &run_dir, project));
        let expected = match preparing.await.map_err(io::Error::from).flatten() {
            Ok(expected) => expected,
            Err(error) => {
                let reason =
                    format!("cannot create a folder for the report of its runner: {error}");
                return Ok(Some(CheckOutcome::error(reason)));
            }
        };
        let execution = CommandExecution {
            line: &self.line,
            argv: expected.argv(argv),
            cwd: cwd.sandbox_path.clone(),
            has_event_output: expected.is_program_output(),
            variables: expected.variables(),
            writable_path: Some(expected.folder().to_owned()),
        };
        let executed = execution.run(context, cancel).await?;
        let printed = executed.test_summary();
        let workspace = context.workspace.clone();
        let report_task = spawn_blocking(move || {
            let replaced = expected.replaced_modules(&workspace);
            (expected.read(printed), replaced)
        });
        let (report, replaced) = report_task.await.unwrap_or_else(|_| {
            (
                ParsedReport::Unreadable("cannot be read".to_owned()),
                Vec::new(),
            )
        });
        let is_rejected = executed.finding.status == CheckStatus::Fail
            && matches!(report, ParsedReport::Missing | ParsedReport::NotExpected)
            && call.is_refused(&executed.finding.output);
        Ok((!is_rejected).then(|| CheckOutcome {
            replaced_modules: replaced,
            ..self.evaluate(context, executed, call.spec.name, report)
        }))
    }

    fn evaluate(
        &self,
        context: &CheckContext,
        executed: ExecutedCommand,
        runner: &str,
        report: ParsedReport,
    ) -> CheckOutcome {
        let printed = executed.test_summary();
        let mut finding = executed.finding;
        let assessment = assess(runner, printed, report);
        (finding.tests, finding.evidence) = (assessment.tests, assessment.evidence);
        match finding.status {
            CheckStatus::Pass if self.requires_tests && assessment.problem.is_some() => {
                finding.status = CheckStatus::Fail;
                finding.reason = assessment.problem;
                // The exit would make a digest report success, whatever failed.
                let failed = executed
                    .analysis
                    .filter(|it| !it.failures.is_empty() && !it.warnings_only);
                finding.analysis = failed.map(|mut it| {
                    it.exit = CommandStatus::Unknown;
                    it
                });
            }
            status => {
                finding.analysis = executed.analysis;
                if let Some(ending) = executed.ending.filter(|_| status == CheckStatus::Fail) {
                    reclassify_environment_failure(
                        &mut finding,
                        ending,
                        context.supervisor.sandbox(),
                    );
                    self.reclassify_missing_program(&mut finding, ending, context.is_baseline);
                    if context.is_baseline {
                        reclassify_missing_tool(&mut finding);
                    }
                    mention_withheld_variables(
                        &mut finding,
                        &withheld_variables(context.supervisor.env_allowlist(), &host_env()),
                    );
                }
            }
        }
        finding
    }
}

impl CommandCheck {
    /// Changes the status to `error` if a shell or `env` could not start a program of the line: the check could not be
    /// run, by the same rules as for a program that is executed directly.
    fn reclassify_missing_program(
        &self,
        finding: &mut CheckOutcome,
        ending: AbnormalExit,
        is_baseline: bool,
    ) {
        let (is_found, problem) = match ending {
            AbnormalExit::ExitCode(NOT_FOUND) => (false, "was not found in PATH"),
            AbnormalExit::ExitCode(NOT_EXECUTABLE) => (true, "is not executable"),
            _ => return,
        };
        if finding.status != CheckStatus::Fail {
            return;
        }
        let mut programs = programs_in(&self.line)
            .filter(|program| !program.contains('/') || is_found && is_baseline);
        if let Some(program) = programs.find(|it| reports_not_started(&finding.output, it)) {
            finding.status = CheckStatus::Error;
            finding.reason = Some(format!("the program `{program}` {problem}"));
        }
    }
}

/// Changes the status to `error` if what the command starts is not installed. Only before the work: an attempt could
/// have removed it.
fn reclassify_missing_tool(finding: &mut CheckOutcome) {
    let has_run = |tests: &TestSummary| tests.passed + tests.failed > 0;
    if finding.status != CheckStatus::Fail || finding.tests.as_ref().is_some_and(has_run) {
        return;
    }
    if let Some(tool) = find_missing_tool(&finding.output) {
        finding.reason = Some(format!(
            "`{tool}` is not installed; install the dependencies of the project first"
        ));
        finding.status = CheckStatus::Error;
    }
}

/// Changes the status of a failure that the machine or the sandbox caused to `error`: the check could not be run.
fn reclassify_environment_failure(
    finding: &mut CheckOutcome,
    ending: AbnormalExit,
    sandbox_config: Option<&WorkspaceSandbox>,
) {
    let failed = |tests: &TestSummary| tests.complete && tests.failed > 0;
    let denial = sandbox_config
        .and_then(|sandbox_config| sandbox::diagnose_denial(sandbox_config, &finding.output));
    let read_only = denial.as_ref().and_then(|denial| denial.read_only.clone());
    // Tools also warn that they cannot write a cache.
    let is_denied = denial.is_some() && read_only.is_none();
    if !is_denied && finding.tests.as_ref().is_some_and(failed) {
        return;
    }
    let machine_failure =
        || infra_error_patterns::find_cause(ending, &finding.output).map(str::to_owned);
    if let Some(cause) = denial.map(|denial| denial.reason).or_else(machine_failure) {
        let reason = finding.reason.take().unwrap_or_default();
        finding.status = CheckStatus::Error;
        finding.reason = Some(format!("{reason}: {cause}"));
        finding.read_only = read_only;
    }
}

/// Adds a hint if the output mentions a variable that checks do not get: the failure may be caused by it.
fn mention_withheld_variables(finding: &mut CheckOutcome, withheld: &[String]) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = finding.output.split(|c| !is_name(c));
    let mentioned = words.find(|word| word.len() > 3 && withheld.iter().any(|name| name == word));
    if let Some(name) = mentioned {
        let reason = finding.reason.take().unwrap_or_default();
        let hint = "which checks can read only if `environment.checks` or --check-env lists it";
        finding.reason = Some(format!("{reason}; the output mentions {name}, {hint}"));
    }
}

impl Check for CommandCheck {
    fn run<'a>(
        &'a self,
        context: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(self.run_check(context, cancel))
    }
}
