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
use selvedge_core::plugin::{LIMIT, parse};
use selvedge_digest::Analysis;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::command_line::to_argv;
use super::execution::{GRACE, quote};
use super::place::directory_of;
use super::{Check, CheckAborted, Finding, Scene};
use crate::agents::env::{for_checks, ours};
use crate::process::capture::{CaptureError, Plan, StreamPlan};
use crate::process::{self, Command, Ended, How, Limits, Session, Stdin, Streams};

pub(super) struct Plugin {
    step: Step,
}

impl Plugin {
    pub(super) fn new(step: &Step) -> Self {
        Self { step: step.clone() }
    }

    async fn look(
        &self,
        scene: &Scene,
        cancel: &CancellationToken,
    ) -> Result<Finding, CheckAborted> {
        let directory = self.step.directory.as_deref().unwrap_or(".");
        let directory = match directory_of(directory, scene) {
            Ok(directory) => directory.seen,
            Err(finding) => return Ok(*finding),
        };
        let question = match self.ask(scene, &directory).await {
            Ok(path) => path,
            Err(error) => return Ok(Finding::error(error)),
        };
        let answer = scene.run_dir.join(format!("{}.answer", scene.output_file));
        let command = Command {
            env: for_checks(scene.supervisor.shown(), &ours())
                .into_iter()
                .collect(),
            stdin: Stdin::File(question),
            streams: Streams::Separate,
            lock: Some(scene.lock.clone()),
            grace: GRACE,
            ..Command::new(self.argv(), directory, scene.tag.clone())
        };
        let plan = Plan {
            stdout: StreamPlan::to_file(&answer),
            stderr: StreamPlan::to_file(scene.run_dir.join(&scene.output_file)),
        };
        let prepared = match Session::prepare(&scene.supervisor, &command).await {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Finding::error(error.to_string())),
        };
        let limits = Limits {
            wall: Some(scene.limit),
            silence: None,
        };
        let ended = process::run(prepared, limits, plan, cancel).await;
        let said = match broken(&ended, scene)? {
            Some(why) => Err(why),
            None => spawn_blocking(move || read(&answer))
                .await
                .unwrap_or_else(|error| Err(error.to_string())),
        };
        Ok(told(said, &ended, scene))
    }

    fn argv(&self) -> Vec<OsString> {
        let argv = to_argv(&self.step.target);
        argv.into_iter().map(OsString::from).collect()
    }

    /// Writes the question down; the plug-in reads it as its standard input.
    async fn ask(&self, scene: &Scene, directory: &Path) -> Result<PathBuf, String> {
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
fn broken(ended: &Ended, scene: &Scene) -> Result<Option<String>, CheckAborted> {
    // What still runs may change what was looked at: then nothing that was seen counts.
    if let Some(survivors) = ended.tree.said_survivors() {
        return Ok(Some(survivors));
    }
    Ok(match &ended.how {
        How::Exited(0) => None,
        How::Exited(code) => Some(format!("the plug-in exited with {code}")),
        How::Signalled(signal) => Some(format!("the plug-in was ended by signal {signal}")),
        How::TimedOut | How::Silent => {
            let seconds = scene.limit.as_secs_f64();
            Some(format!("the plug-in had not answered after {seconds:.0} s"))
        }
        How::SpawnFailed(failure) => Some(failure.to_string()),
        How::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
            return Err(CheckAborted::Infrastructure(error.to_string()));
        }
        How::CaptureFailed(error) => Some(error.to_string()),
        How::Lost => Some("its supervisor was lost".to_owned()),
        How::Cancelled => return Err(CheckAborted::Cancelled),
    })
}

fn read(answer: &Path) -> Result<PluginReport, String> {
    let mut bytes = Vec::new();
    let file = File::open(answer).map_err(|error| error.to_string())?;
    let limit = u64::try_from(LIMIT).unwrap_or(u64::MAX);
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    parse(&bytes).map_err(|error| error.to_string())
}

/// What was found, with what became of the plug-in.
fn told(said: Result<PluginReport, String>, ended: &Ended, scene: &Scene) -> Finding {
    let finding = match said {
        Err(why) => Finding::error(why),
        Ok(report) => {
            let status = match report.status {
                PluginStatus::Pass => CheckStatus::Pass,
                PluginStatus::Fail => CheckStatus::Fail,
                PluginStatus::Error => CheckStatus::Error,
            };
            let first = report.failures.first().map(|it| it.summary.clone());
            let failed = status != CheckStatus::Pass;
            Finding {
                status,
                reason: report.reason.or(first).filter(|_| failed),
                analysis: failed.then(|| Analysis::of_failures(report.failures)),
                tests: report.tests,
                evidence: Evidence::Plugin,
                ..Finding::pass()
            }
        }
    };
    let stderr = ended.stderr.file.as_ref();
    Finding {
        exit_code: match ended.how {
            How::Exited(code) => Some(code),
            _ => None,
        },
        duration: ended.wall,
        output: quote(&ended.stderr),
        output_ref: stderr.map(|stored| OutputRef {
            file: scene.output_file.clone(),
            bytes: ended.stderr.bytes,
            left_out: stored.left_out,
        }),
        processes: Some(ended.tree.processes()),
        ..finding
    }
}

impl Check for Plugin {
    fn run<'a>(
        &'a self,
        scene: &'a Scene,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finding, CheckAborted>> {
        Box::pin(self.look(scene, cancel))
    }
}
