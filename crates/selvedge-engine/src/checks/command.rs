//! `command` and `test_passes`: a command line is executed in the workspace, under a supervisor,
//! with its output kept and digested. Where it is a test runner that writes reports for machines, it
//! is asked for one.

use std::io;
use std::time::Instant;

use futures_util::future::BoxFuture;
use selvedge_core::infrastructure::{self, Ending};
use selvedge_core::model::{CheckStatus, Step};
use selvedge_digest::TestSummary;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::command_line::{programs, to_argv};
use super::evidence::weigh;
use super::execution::{Executed, Execution};
use super::place::{Directory, directory_of};
use super::reports::{Awaited, Told};
use super::{Check, CheckAborted, Finding, Scene, runners};
use crate::agents::env::{held_back, ours};
use crate::sandbox::{self, Walls};

/// How a shell, or `env`, ends when it cannot find the program.
const NOT_FOUND: i32 = 127;
/// How it ends when it may not execute it.
const NOT_EXECUTABLE: i32 = 126;

pub(super) struct CommandCheck {
    line: String,
    directory: Option<String>,
    wants_tests: bool,
}

impl CommandCheck {
    /// Passes when it exits with 0.
    pub(super) fn exit_code(step: &Step) -> Self {
        Self {
            line: step.target.clone(),
            directory: step.directory.clone(),
            wants_tests: false,
        }
    }

    /// Passes when it exits with 0 and shows that tests were executed.
    pub(super) fn with_test_evidence(step: &Step) -> Self {
        Self {
            wants_tests: true,
            ..Self::exit_code(step)
        }
    }

    async fn look(
        &self,
        scene: &Scene,
        cancel: &CancellationToken,
    ) -> Result<Finding, CheckAborted> {
        let directory = self.directory.as_deref().unwrap_or(".");
        let cwd = match directory_of(directory, scene) {
            Ok(directory) => directory,
            Err(finding) => return Ok(*finding),
        };
        let argv = scene.argv.clone().unwrap_or_else(|| to_argv(&self.line));
        let began = Instant::now();
        if let Some(finding) = self.asking(scene, &cwd, &argv, cancel).await? {
            return Ok(finding);
        }
        let limit = scene.limit.saturating_sub(began.elapsed());
        let scene = Scene {
            limit,
            ..scene.clone()
        };
        let execution = Execution {
            line: &self.line,
            argv,
            cwd: cwd.seen,
            events: false,
            variables: Vec::new(),
            opens: None,
        };
        let executed = execution.run(&scene, cancel).await?;
        Ok(self.judge(&scene, executed, "its runner", Told::Nothing))
    }

    /// Executes it with a report, where it is a runner that writes one, or may start one. None also where the runner
    /// turns out to know no such option: then it has run no test.
    async fn asking(
        &self,
        scene: &Scene,
        cwd: &Directory,
        argv: &[String],
        cancel: &CancellationToken,
    ) -> Result<Option<Finding>, CheckAborted> {
        let wrapper = || runners::wrapper(argv).filter(|_| self.wants_tests);
        let Some(call) = runners::recognise(argv).or_else(wrapper) else {
            return Ok(None);
        };
        let (run_dir, project) = (scene.run_dir.clone(), cwd.clone());
        let preparing = spawn_blocking(move || Awaited::prepare(call, &run_dir, project));
        let awaited = match preparing.await.map_err(io::Error::from).flatten() {
            Ok(awaited) => awaited,
            Err(error) => {
                let why = format!("cannot make room for the report of its runner: {error}");
                return Ok(Some(Finding::error(why)));
            }
        };
        let execution = Execution {
            line: &self.line,
            argv: awaited.argv(argv),
            cwd: cwd.seen.clone(),
            events: awaited.is_output(),
            variables: awaited.variables(),
            opens: Some(awaited.folder().to_owned()),
        };
        let executed = execution.run(scene, cancel).await?;
        let printed = executed.tests();
        let workspace = scene.workspace.clone();
        let reading = spawn_blocking(move || {
            let replaced = awaited.replaced_modules(&workspace);
            (awaited.read(printed), replaced)
        });
        let (told, replaced) = reading
            .await
            .unwrap_or_else(|_| (Told::Unreadable("cannot be read".to_owned()), Vec::new()));
        let refused = executed.finding.status == CheckStatus::Fail
            && matches!(told, Told::Missing | Told::Nothing)
            && call.is_refused(&executed.finding.output);
        Ok((!refused).then(|| Finding {
            replaced_modules: replaced,
            ..self.judge(scene, executed, call.row.runner, told)
        }))
    }

    fn judge(&self, scene: &Scene, executed: Executed, runner: &str, told: Told) -> Finding {
        let printed = executed.tests();
        let mut finding = executed.finding;
        let weighed = weigh(runner, printed, told);
        (finding.tests, finding.evidence) = (weighed.tests, weighed.evidence);
        match finding.status {
            CheckStatus::Pass if self.wants_tests && weighed.worthless.is_some() => {
                finding.status = CheckStatus::Fail;
                finding.reason = weighed.worthless;
                // Where nothing failed, a digest would say that all is well.
                finding.analysis = executed.analysis.filter(|it| !it.failures.is_empty());
            }
            status => {
                finding.analysis = executed.analysis;
                if let Some(ending) = executed.ending.filter(|_| status == CheckStatus::Fail) {
                    excuse(&mut finding, ending, scene.supervisor.walls());
                    self.name_missing_program(&mut finding, ending, scene.is_baseline);
                    name_what_is_missing(
                        &mut finding,
                        &held_back(scene.supervisor.shown(), &ours()),
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
    fn name_missing_program(&self, finding: &mut Finding, ending: Ending, is_baseline: bool) {
        let (is_found, what) = match ending {
            Ending::Code(NOT_FOUND) => (false, "is not found in PATH"),
            Ending::Code(NOT_EXECUTABLE) => (true, "may not be executed"),
            _ => return,
        };
        if finding.status != CheckStatus::Fail {
            return;
        }
        let mut programs = programs(&self.line)
            .filter(|program| !program.contains('/') || is_found && is_baseline);
        if let Some(program) = programs.find(|it| says_not_started(&finding.output, it)) {
            finding.status = CheckStatus::Error;
            finding.reason = Some(format!("the program `{program}` {what}"));
        }
    }
}

/// Whether a shell or `env` says that this program could not be started: `sh: 1: NAME: not found`,
/// `env: ‘NAME’: No such file or directory`.
fn says_not_started(output: &str, program: &str) -> bool {
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
fn excuse(finding: &mut Finding, ending: Ending, walls: Option<&Walls>) {
    let failed = |tests: &TestSummary| tests.complete && tests.failed > 0;
    let by_walls = walls.and_then(|walls| sandbox::blame(walls, &finding.output));
    if by_walls.is_none() && finding.tests.as_ref().is_some_and(failed) {
        return;
    }
    let by_machine = || infrastructure::cause(ending, &finding.output).map(str::to_owned);
    if let Some(cause) = by_walls.or_else(by_machine) {
        let said = finding.reason.take().unwrap_or_default();
        finding.status = CheckStatus::Error;
        finding.reason = Some(format!("{said}: {cause}"));
    }
}

/// A failure that speaks of a variable which checks do not see may be for want of it.
fn name_what_is_missing(finding: &mut Finding, held_back: &[String]) {
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
        scene: &'a Scene,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finding, CheckAborted>> {
        Box::pin(self.look(scene, cancel))
    }
}
