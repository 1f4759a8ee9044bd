//! `plugin`: any program that is asked on standard input and reports on standard output, both as JSON.
//!
//! What it prints on standard error is kept as its output, for people. A plug-in that crashes, hangs or
//! answers nonsense has looked at nothing: that is an error, never a pass and never a failure of the work.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use selvedge_core::model::{
    CheckStatus, Evidence, OutputRef, PLUGIN_VERSION, PluginReport, PluginRequest, PluginStatus,
    Step,
};
use selvedge_core::plugin::{MAX_ANSWER_BYTES, parse};
use selvedge_digest::Analysis;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::command_line::to_argv;
use super::execution::{STOP_GRACE, excerpt};
use super::paths::check_directory;
use super::{Check, CheckContext, CheckError, CheckOutcome};
use crate::agents::env::{check_env, host_env};
use crate::process::capture::{CaptureError, CapturePlan, StreamPlan};
use crate::process::{
    self, EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, StderrMode, StdinSource,
};

pub(super) struct PluginCheck {
    step: Step,
}

impl PluginCheck {
    pub(super) fn new(step: &Step) -> Self {
        Self { step: step.clone() }
    }

    async fn run_check(
        &self,
        scene: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let directory = self.step.directory.as_deref().unwrap_or(".");
        let directory = match check_directory(directory, scene) {
            Ok(directory) => directory.sandbox_path,
            Err(finding) => return Ok(*finding),
        };
        let question = match self.write_request(scene, &directory).await {
            Ok(path) => path,
            Err(error) => return Ok(CheckOutcome::error(error)),
        };
        let answer = scene.run_dir.join(format!("{}.answer", scene.output_file));
        let command = SessionCommand {
            env: check_env(scene.supervisor.env_allowlist(), &host_env())
                .into_iter()
                .collect(),
            stdin: StdinSource::File(question),
            streams: StderrMode::Separate,
            lock: Some(scene.lock.clone()),
            grace: STOP_GRACE,
            ..SessionCommand::new(self.argv(), directory, scene.tag.clone())
        };
        let plan = CapturePlan {
            stdout: StreamPlan::to_file(&answer),
            stderr: StreamPlan::to_file(scene.run_dir.join(&scene.output_file)),
        };
        let prepared = match Session::prepare(&scene.supervisor, &command).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(CheckOutcome::error(error.to_string())),
        };
        let limits = SessionTimeouts {
            wall: Some(scene.limit),
            idle: None,
        };
        let ended = process::run(prepared, limits, plan, cancel).await;
        let said = match failure_reason(&ended, scene)? {
            Some(why) => Err(why),
            None => spawn_blocking(move || read_report(&answer))
                .await
                .unwrap_or_else(|error| Err(error.to_string())),
        };
        Ok(outcome_from_report(said, &ended, scene))
    }

    fn argv(&self) -> Vec<OsString> {
        let argv = to_argv(&self.step.target);
        argv.into_iter().map(OsString::from).collect()
    }

    /// Writes the question down; the plug-in reads it as its standard input.
    async fn write_request(
        &self,
        scene: &CheckContext,
        directory: &Path,
    ) -> Result<PathBuf, String> {
        let request = PluginRequest {
            v: PLUGIN_VERSION,
            check: self.step.label().to_owned(),
            workspace: scene.workspace.clone(),
            directory: directory.to_owned(),
            timeout_ms: u64::try_from(scene.limit.as_millis()).unwrap_or(u64::MAX),
            settings: self.step.settings.clone().unwrap_or_default(),
        };
        let text = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
        let path = scene
            .run_dir
            .join(format!("{}.question", scene.output_file));
        let written = tokio::fs::write(&path, text).await;
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }
}

/// Why its answer does not count, whatever it is.
fn failure_reason(ended: &SessionExit, scene: &CheckContext) -> Result<Option<String>, CheckError> {
    // What still runs may change what was looked at: then nothing that was seen counts.
    if let Some(survivors) = ended.tree.describe_survivors() {
        return Ok(Some(survivors));
    }
    Ok(match &ended.reason {
        EndReason::Exited(0) => None,
        EndReason::Exited(code) => Some(format!("the plug-in exited with {code}")),
        EndReason::Signalled(signal) => Some(format!("the plug-in was ended by signal {signal}")),
        EndReason::TimedOut | EndReason::IdleTimeout => {
            let seconds = scene.limit.as_secs_f64();
            Some(format!("the plug-in had not answered after {seconds:.0} s"))
        }
        EndReason::SpawnFailed(failure) => Some(failure.to_string()),
        EndReason::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
            return Err(CheckError::Infrastructure(error.to_string()));
        }
        EndReason::CaptureFailed(error) => Some(error.to_string()),
        EndReason::SupervisorLost => Some("its supervisor was lost".to_owned()),
        EndReason::Cancelled => return Err(CheckError::Cancelled),
    })
}

fn read_report(answer: &Path) -> Result<PluginReport, String> {
    let mut bytes = Vec::new();
    let file = File::open(answer).map_err(|error| error.to_string())?;
    let limit = u64::try_from(MAX_ANSWER_BYTES).unwrap_or(u64::MAX);
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    parse(&bytes).map_err(|error| error.to_string())
}

/// What was found, with what became of the plug-in.
fn outcome_from_report(
    said: Result<PluginReport, String>,
    ended: &SessionExit,
    scene: &CheckContext,
) -> CheckOutcome {
    let finding = match said {
        Err(why) => CheckOutcome::error(why),
        Ok(report) => {
            let status = match report.status {
                PluginStatus::Pass => CheckStatus::Pass,
                PluginStatus::Fail => CheckStatus::Fail,
                PluginStatus::Error => CheckStatus::Error,
            };
            let first = report.failures.first().map(|it| it.summary.clone());
            let failed = status != CheckStatus::Pass;
            CheckOutcome {
                status,
                reason: report.reason.or(first).filter(|_| failed),
                analysis: failed.then(|| Analysis::from_failures(report.failures)),
                tests: report.tests,
                evidence: Evidence::Plugin,
                ..CheckOutcome::pass()
            }
        }
    };
    let stderr = ended.stderr.file.as_ref();
    CheckOutcome {
        exit_code: match ended.reason {
            EndReason::Exited(code) => Some(code),
            _ => None,
        },
        duration: ended.wall,
        output: excerpt(&ended.stderr),
        output_ref: stderr.map(|stored| OutputRef {
            file: scene.output_file.clone(),
            bytes: ended.stderr.bytes,
            left_out: stored.omitted,
        }),
        processes: Some(ended.tree.to_processes()),
        ..finding
    }
}

impl Check for PluginCheck {
    fn run<'a>(
        &'a self,
        scene: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(self.run_check(scene, cancel))
    }
}
