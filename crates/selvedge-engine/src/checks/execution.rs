//! One execution of a command's words: started under a supervisor, its output kept and digested, and
//! its end told as a finding that rests on the exit code alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::infrastructure::Ending;
use selvedge_core::model::{Evidence, OutputRef};
use selvedge_digest::{Analysis, Exit, TestSummary};
use tokio_util::sync::CancellationToken;

use super::place::inside;
use super::reports::Events;
use super::runners::Join;
use super::{CheckAborted, Finding, Scene, digesting};
use crate::agents::env::{for_checks, ours};
use crate::process::capture::{CaptureError, Captured, Plan, StreamPlan};
use crate::process::{
    Command, Ended, How, Limits, Session, SpawnFailure, SpawnFailureKind, Streams,
};

/// How much of the end of an output a report quotes, in bytes.
const QUOTED: usize = 4 << 10;
/// How long a check that is stopped may take to end by itself.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// What is executed.
pub(super) struct Execution<'a> {
    /// The command line as a person wrote it.
    pub(super) line: &'a str,
    /// Its words.
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    /// Its output are the events of `go test`.
    pub(super) events: bool,
    /// Variables that are joined with those that it is started with.
    pub(super) variables: Vec<(&'static str, String, Join)>,
    /// A folder of ours that it writes to.
    pub(super) opens: Option<PathBuf>,
}

/// What came of it.
pub(super) struct Executed {
    pub(super) finding: Finding,
    pub(super) analysis: Option<Analysis>,
    /// How it ended, where it ended without our doing.
    pub(super) ending: Option<Ending>,
}

impl Executed {
    /// What its output says of tests.
    pub(super) fn tests(&self) -> Option<TestSummary> {
        self.analysis.as_ref()?.tests.clone()
    }
}

impl Execution<'_> {
    pub(super) async fn run(
        self,
        scene: &Scene,
        cancel: &CancellationToken,
    ) -> Result<Executed, CheckAborted> {
        let command = self.command(scene);
        let passed = digesting::last_green(scene.last_green.clone()).await;
        let (reader, reading) = digesting::pair(self.line, passed);
        let file = scene.run_dir.join(&scene.output_file);
        let mut stdout = StreamPlan::to_file(file).with_consumer(reader);
        if self.events {
            stdout = stdout.with_filter(Events::default());
        }
        let plan = Plan {
            stdout,
            ..Plan::default()
        };
        let prepared = match Session::prepare(&scene.supervisor, &command).await {
            Ok(prepared) => prepared,
            Err(error) => {
                let finding = Finding::error(error.to_string());
                return Ok(Executed {
                    finding,
                    analysis: None,
                    ending: None,
                });
            }
        };
        let limits = Limits {
            wall: Some(scene.limit),
            silence: None,
        };
        let ended = crate::process::run(prepared, limits, plan, cancel).await;
        let (exit, finding) = self.ending(scene, &ended)?;
        // What still runs may change what was looked at: then nothing that was seen counts.
        let finding = match ended.tree.said_survivors() {
            Some(survivors) => Finding::error(survivors),
            None => finding,
        };
        let ending = match ended.how {
            How::Exited(code) => Some(Ending::Code(code)),
            How::Signalled(signal) => Some(Ending::Signal(signal)),
            _ => None,
        };
        let finding = Finding {
            exit_code: match ending {
                Some(Ending::Code(code)) => Some(code),
                _ => None,
            },
            duration: ended.wall,
            output: quote(&ended.stdout),
            output_ref: output_ref(scene, &ended.stdout),
            evidence: Evidence::ExitCode,
            processes: Some(ended.tree.processes()),
            ..finding
        };
        let analysis = reading.finish(exit);
        Ok(Executed {
            finding,
            analysis,
            ending,
        })
    }

    fn command(&self, scene: &Scene) -> Command {
        let argv = self.argv.iter().map(OsString::from).collect();
        let mut env: Vec<_> = for_checks(scene.supervisor.shown(), &ours())
            .into_iter()
            .collect();
        for (name, value, join) in &self.variables {
            set(&mut env, name, value, *join);
        }
        Command {
            env,
            streams: Streams::Merged,
            lock: Some(scene.lock.clone()),
            grace: GRACE,
            opens: self.opens.iter().cloned().collect(),
            ..Command::new(argv, self.cwd.clone(), scene.tag.clone())
        }
    }

    fn ending(&self, scene: &Scene, ended: &Ended) -> Result<(Exit, Finding), CheckAborted> {
        let seconds = scene.limit.as_secs_f64();
        Ok(match &ended.how {
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
        })
    }

    /// A program that is named by a path in the workspace is part of the work: where it is missing, the work is not
    /// done yet. One that is there and cannot be started is the agent's to correct, but nobody's failure before the
    /// work began. Any other program is the machine's.
    fn not_started(&self, failure: &SpawnFailure, scene: &Scene) -> Finding {
        let is_work = self
            .argv
            .first()
            .is_some_and(|program| is_in_workspace(program, &self.cwd, scene));
        match failure.kind {
            SpawnFailureKind::NotFound if is_work => Finding::fail(failure.to_string()),
            SpawnFailureKind::PermissionDenied
            | SpawnFailureKind::ExecFormat
            | SpawnFailureKind::InterpreterNotFound
                if is_work && !scene.is_baseline =>
            {
                Finding::fail(failure.to_string())
            }
            _ => Finding::error(failure.to_string()),
        }
    }
}

/// Whether a program is named by a path that stays in the workspace, instead of being looked up in `PATH`.
fn is_in_workspace(program: &str, cwd: &Path, scene: &Scene) -> bool {
    if !program.contains('/') {
        return false;
    }
    let path = cwd.join(program);
    let relative = path.strip_prefix(&scene.workspace).ok();
    let relative = relative.and_then(Path::to_str);
    relative.is_some_and(|relative| inside(&scene.files, relative).is_ok())
}

/// Sets a variable, joined with the value that it has.
fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: &str, join: Join) {
    let named = env.iter().position(|(known, _)| known == name);
    let known = named.map(|at| env.swap_remove(at).1);
    let joined = match (known.filter(|it| !it.is_empty()), join) {
        (None, _) => value.into(),
        (Some(known), Join::Unless) => known,
        (Some(known), Join::Before(between)) => {
            let mut joined = OsString::from(format!("{value}{between}"));
            joined.push(known);
            joined
        }
        (Some(mut known), Join::After(between)) => {
            known.push(format!("{between}{value}"));
            known
        }
    };
    env.push((name.into(), joined));
}

pub(super) fn quote(output: &Captured) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_joined_with_what_is_there() {
        let set_to = |known: &[(&str, &str)], join| {
            let known = known
                .iter()
                .map(|(name, value)| (name.into(), value.into()));
            let mut env: Vec<(OsString, OsString)> = known.collect();
            set(&mut env, "A", "ours", join);
            let named = env.iter().find(|(name, _)| name == "A").unwrap();
            named.1.clone().into_string().unwrap()
        };
        for join in [Join::Before(':'), Join::After(' '), Join::Unless] {
            assert_eq!(set_to(&[("B", "x")], join), "ours");
            assert_eq!(set_to(&[("A", "")], join), "ours");
        }
        let known = [("B", "y"), ("A", "x"), ("C", "z")];
        assert_eq!(set_to(&known, Join::Before(':')), "ours:x");
        assert_eq!(set_to(&known, Join::After(' ')), "x ours");
        assert_eq!(set_to(&known, Join::Unless), "x");
    }
}
