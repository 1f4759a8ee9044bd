//! `plugin`: runs a program that gets a request on standard input and reports on standard output, both as JSON.
//!
//! Its standard error is stored as the check's output, for people. A plugin that crashes, hangs or prints an invalid
//! report has checked nothing: that is an error, never a pass and never a failure of the work.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use selvedge_core::model::{
    CheckStatus, Evidence, OutputRef, PLUGIN_VERSION, PluginReport, PluginRequest, PluginStatus,
    Step,
};
use selvedge_core::plugin::{MAX_ANSWER_BYTES, PluginReportError, parse};
use selvedge_digest::Analysis;
use tokio::task::{JoinError, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::command_line::to_argv;
use super::execution::{STOP_GRACE, excerpt};
use super::paths::check_directory;
use super::{Check, CheckContext, CheckOutcome};
use crate::check_error::CheckError;
use crate::process::capture::{CaptureError, CapturePlan, StreamPlan};
use crate::process::{
    self, EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, StderrMode, StdinSource,
};

/// Why a plug-in has checked nothing.
#[derive(Debug, thiserror::Error)]
enum PluginError {
    #[error(transparent)]
    EncodeRequest(serde_json::Error),
    #[error("cannot write {}: {source}", path.display())]
    WriteRequest { path: PathBuf, source: io::Error },
    /// It did not end as it must; contains how.
    #[error("{0}")]
    Ended(String),
    #[error(transparent)]
    ReadReport(#[from] io::Error),
    #[error(transparent)]
    Report(#[from] PluginReportError),
    #[error(transparent)]
    Join(#[from] JoinError),
}

pub(super) struct PluginCheck {
    step: Step,
}

impl PluginCheck {
    pub(super) fn new(step: &Step) -> Self {
        Self { step: step.clone() }
    }

    async fn run_check(
        &self,
        context: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<CheckOutcome, CheckError> {
        let directory = self.step.directory.as_deref().unwrap_or(".");
        let directory = match check_directory(directory, context) {
            Ok(directory) => directory.sandbox_path,
            Err(finding) => return Ok(*finding),
        };
        let request = match self.write_request(context, &directory).await {
            Ok(path) => path,
            Err(error) => return Ok(CheckOutcome::error(error.to_string())),
        };
        let answer = context
            .run_dir
            .join(format!("{}.answer", context.output_file));
        let command = SessionCommand {
            env: context.environment(),
            stdin: StdinSource::File(request),
            streams: StderrMode::Separate,
            lock: Some(context.lock.clone()),
            grace: STOP_GRACE,
            check_names: context.names.clone(),
            ..SessionCommand::new(self.argv(), directory, context.tag.clone())
        };
        let plan = CapturePlan {
            stdout: StreamPlan::to_file(&answer),
            stderr: StreamPlan::to_file(context.run_dir.join(&context.output_file)),
        };
        let prepared = match Session::prepare(&context.supervisor, &command).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(CheckOutcome::error(error.to_string())),
        };
        let limits = SessionTimeouts {
            wall: Some(context.limit),
            idle: None,
        };
        let ended = process::run(prepared, limits, plan, cancel).await;
        let report = match failure_reason(&ended, context)? {
            Some(why) => Err(PluginError::Ended(why)),
            None => spawn_blocking(move || read_report(&answer))
                .await
                .unwrap_or_else(|error| Err(error.into())),
        };
        Ok(outcome_from_report(report, &ended, context))
    }

    fn argv(&self) -> Vec<OsString> {
        let argv = to_argv(&self.step.target);
        argv.into_iter().map(OsString::from).collect()
    }

    /// Writes the request to a file, which is the plugin's standard input.
    async fn write_request(
        &self,
        context: &CheckContext,
        directory: &Path,
    ) -> Result<PathBuf, PluginError> {
        let request = PluginRequest {
            v: PLUGIN_VERSION,
            check: self.step.label().to_owned(),
            workspace: context.workspace.clone(),
            directory: directory.to_owned(),
            timeout_ms: u64::try_from(context.limit.as_millis()).unwrap_or(u64::MAX),
            settings: self.step.settings.clone().unwrap_or_default(),
        };
        let text = serde_json::to_vec(&request).map_err(PluginError::EncodeRequest)?;
        let path = context
            .run_dir
            .join(format!("{}.question", context.output_file));
        match tokio::fs::write(&path, text).await {
            Ok(()) => Ok(path),
            Err(source) => Err(PluginError::WriteRequest { path, source }),
        }
    }
}

/// Returns why the plugin's report does not count, if so.
fn failure_reason(
    ended: &SessionExit,
    context: &CheckContext,
) -> Result<Option<String>, CheckError> {
    // A surviving process may change the files that were checked, so nothing that was found counts.
    if let Some(survivors) = ended.tree.describe_survivors() {
        return Ok(Some(survivors));
    }
    Ok(match &ended.reason {
        EndReason::Exited(0) => None,
        EndReason::Exited(code) => Some(format!("the plug-in exited with {code}")),
        EndReason::Signalled(signal) => Some(format!("the plug-in was ended by signal {signal}")),
        EndReason::TimedOut | EndReason::IdleTimeout => {
            let seconds = context.limit.as_secs_f64();
            Some(format!("the plug-in did not answer within {seconds:.0} s"))
        }
        EndReason::SpawnFailed(failure) => Some(failure.to_string()),
        EndReason::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
            return Err(CheckError::DiskFull(error.to_string()));
        }
        EndReason::CaptureFailed(error) => Some(error.to_string()),
        EndReason::SupervisorLost => Some("its supervisor was lost".to_owned()),
        EndReason::Cancelled => return Err(CheckError::Cancelled),
    })
}

fn read_report(answer: &Path) -> Result<PluginReport, PluginError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_ANSWER_BYTES).unwrap_or(u64::MAX);
    File::open(answer)?
        .take(limit + 1)
        .read_to_end(&mut bytes)?;
    Ok(parse(&bytes)?)
}

/// Combines the plugin's report with how the plugin ended.
fn outcome_from_report(
    result: Result<PluginReport, PluginError>,
    ended: &SessionExit,
    context: &CheckContext,
) -> CheckOutcome {
    let finding = match result {
        Err(error) => CheckOutcome::error(error.to_string()),
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
            file: context.output_file.clone(),
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
        context: &'a CheckContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(self.run_check(context, cancel))
    }
}
