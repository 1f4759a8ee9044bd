//! `command` and `test_passes`: a command line is executed in the workspace, under a supervisor,
//! with its output kept and digested.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::model::{CheckStatus, Evidence, OutputRef, Step};
use selvedge_digest::Exit;
use tokio_util::sync::CancellationToken;

use super::command_line::to_argv;
use super::place::inside;
use super::{Check, CheckAborted, Finding, Scene, digesting, evidence};
use crate::process::capture::{CaptureError, Captured, Plan, StreamPlan};
use crate::process::{
    Command, Ended, How, Limits, Session, SpawnFailure, SpawnFailureKind, Streams,
};

/// How much of the end of an output a report quotes, in bytes.
const QUOTED: usize = 4 << 10;
/// How long a check that is stopped may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

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

    /// Passes when it exits with 0 and its output shows that tests were executed.
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
        let cwd = match &self.directory {
            None => scene.workspace.clone(),
            Some(directory) => match inside(&scene.workspace, directory) {
                Ok(path) => path,
                Err(outside) => return Ok(Finding::error(outside.to_string())),
            },
        };
        let command = self.command(scene, cwd);
        let passed = digesting::last_green(scene.last_green.clone()).await;
        let (reader, reading) = digesting::pair(&self.line, passed);
        let file = scene.run_dir.join(&scene.output_file);
        let plan = Plan {
            stdout: StreamPlan::to_file(file).with_consumer(reader),
            ..Plan::default()
        };
        let prepared = match Session::prepare(&scene.supervisor, &command).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Finding::error(error.to_string())),
        };
        let limits = Limits {
            wall: Some(scene.limit),
            silence: None,
        };
        let ended = crate::process::run(prepared, limits, plan, cancel).await;
        self.judge(scene, &ended, reading)
    }

    fn command(&self, scene: &Scene, cwd: PathBuf) -> Command {
        let argv = to_argv(&self.line)
            .into_iter()
            .map(OsString::from)
            .collect();
        Command {
            env: environment(std::env::vars_os()),
            streams: Streams::Merged,
            lock: Some(scene.lock.clone()),
            grace: GRACE,
            ..Command::new(argv, cwd, scene.tag.clone())
        }
    }

    fn judge(
        &self,
        scene: &Scene,
        ended: &Ended,
        reading: digesting::Reading,
    ) -> Result<Finding, CheckAborted> {
        let seconds = scene.limit.as_secs_f64();
        let (exit, mut finding) = match &ended.how {
            How::Exited(0) => (Exit::Code(0), Finding::pass()),
            How::Exited(code) => (
                Exit::Code(*code),
                Finding::fail(format!("exited with {code}")),
            ),
            How::Signalled(signal) => (
                Exit::Signal(*signal),
                Finding::fail(format!("ended by signal {signal}")),
            ),
            How::TimedOut | How::Silent => (
                Exit::TimedOut,
                Finding::timeout(format!("not done after {seconds:.0} s")),
            ),
            How::SpawnFailed(failure) => (Exit::Unknown, self.not_started(failure, scene)),
            How::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
                return Err(CheckAborted::Infrastructure(error.to_string()));
            }
            How::CaptureFailed(error) => (Exit::Unknown, Finding::error(error.to_string())),
            How::Lost => (Exit::Unknown, Finding::error("its supervisor was lost")),
            How::Cancelled => return Err(CheckAborted::Cancelled),
        };
        finding.exit_code = match &ended.how {
            How::Exited(code) => Some(*code),
            _ => None,
        };
        finding.duration = ended.wall;
        finding.output = quote(&ended.stdout);
        finding.output_ref = output_ref(scene, &ended.stdout);
        finding.analysis = reading.finish(exit);
        let tests = finding
            .analysis
            .as_ref()
            .and_then(|analysis| analysis.tests.as_ref());
        finding.evidence = tests.map_or(Evidence::ExitCode, |_| Evidence::Text);
        let worthless = evidence::missing(tests)
            .filter(|_| self.wants_tests && finding.status == CheckStatus::Pass);
        if let Some(reason) = worthless {
            finding.status = CheckStatus::Fail;
            finding.reason = Some(reason);
        }
        Ok(finding)
    }

    /// A program that is part of the work is the agent's to mend; one of the machine's is not.
    fn not_started(&self, failure: &SpawnFailure, scene: &Scene) -> Finding {
        let program = to_argv(&self.line).into_iter().next().unwrap_or_default();
        let of_the_work = program.contains('/')
            && scene
                .workspace
                .join(Path::new(&program))
                .starts_with(&scene.workspace);
        match failure.kind {
            SpawnFailureKind::NotFound
            | SpawnFailureKind::PermissionDenied
            | SpawnFailureKind::ExecFormat
            | SpawnFailureKind::InterpreterNotFound
                if of_the_work =>
            {
                Finding::fail(failure.to_string())
            }
            _ => Finding::error(failure.to_string()),
        }
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

/// Checks run in the user's own environment, as in their terminal, but for two things: `CI` is set,
/// so that test runners do not wait for a person, and nothing of ours is passed on.
fn environment(ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let foreign = |name: &OsString| !name.to_string_lossy().starts_with("SELVEDGE_");
    let mut env: Vec<_> = ours.filter(|(name, _)| foreign(name)).collect();
    if !env.iter().any(|(name, _)| name == "CI") {
        env.push(("CI".into(), "true".into()));
    }
    env
}

fn quote(output: &Captured) -> String {
    let mut bytes = output.head.clone();
    if output.omitted() > 0 {
        bytes.clear();
    }
    bytes.extend_from_slice(&output.tail);
    let from = bytes.len().saturating_sub(QUOTED);
    String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).into_owned()
}

fn output_ref(scene: &Scene, output: &Captured) -> Option<OutputRef> {
    let stored = output.file.as_ref()?;
    Some(OutputRef {
        file: scene.output_file.clone(),
        bytes: output.bytes,
        left_out: stored.left_out,
    })
}
