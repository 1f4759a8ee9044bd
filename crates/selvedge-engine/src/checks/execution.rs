//! One execution of a command's words: started under a supervisor, its output kept and digested, and
//! its end told as a finding that rests on the exit code alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use selvedge_core::infra_error_patterns::AbnormalExit;
use selvedge_core::model::{Evidence, OutputRef};
use selvedge_digest::{Analysis, CommandStatus, TestSummary};
use tokio_util::sync::CancellationToken;

use super::paths::resolve_inside;
use super::reports::GoTestFilter;
use super::runners::VariableJoin;
use super::{CheckContext, CheckError, CheckOutcome, digest};
use crate::agents::env::{check_env, host_env};
use crate::process::capture::{CaptureError, CapturePlan, CapturedStream, StreamPlan};
use crate::process::{
    EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, SpawnError, SpawnErrorKind,
    StderrMode,
};

/// How much of the end of an output a report quotes, in bytes.
const QUOTED_BYTES: usize = 4 << 10;
/// How long a check that is stopped may take to end by itself.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(2);

/// What is executed.
pub(super) struct CommandExecution<'a> {
    /// The command line as a person wrote it.
    pub(super) line: &'a str,
    /// Its words.
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    /// Its output are the events of `go test`.
    pub(super) has_event_output: bool,
    /// Variables that are joined with those that it is started with.
    pub(super) variables: Vec<(&'static str, String, VariableJoin)>,
    /// A folder of ours that it writes to.
    pub(super) writable_path: Option<PathBuf>,
}

/// What came of it.
pub(super) struct ExecutedCommand {
    pub(super) finding: CheckOutcome,
    pub(super) analysis: Option<Analysis>,
    /// How it ended, where it ended without our doing.
    pub(super) ending: Option<AbnormalExit>,
}

impl ExecutedCommand {
    /// What its output says of tests.
    pub(super) fn test_summary(&self) -> Option<TestSummary> {
        self.analysis.as_ref()?.tests.clone()
    }
}

impl CommandExecution<'_> {
    pub(super) async fn run(
        self,
        scene: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<ExecutedCommand, CheckError> {
        let command = self.command(scene);
        let passed = digest::load_passing_output(scene.passing_output.clone()).await;
        let (reader, reading) = digest::digest_pair(self.line, passed);
        let file = scene.run_dir.join(&scene.output_file);
        let mut stdout = StreamPlan::to_file(file).with_consumer(reader);
        if self.has_event_output {
            stdout = stdout.with_filter(GoTestFilter::default());
        }
        let plan = CapturePlan {
            stdout,
            ..CapturePlan::default()
        };
        let prepared = match Session::prepare(&scene.supervisor, &command).await {
            Ok(prepared) => prepared,
            Err(error) => {
                let finding = CheckOutcome::error(error.to_string());
                return Ok(ExecutedCommand {
                    finding,
                    analysis: None,
                    ending: None,
                });
            }
        };
        let limits = SessionTimeouts {
            wall: Some(scene.limit),
            idle: None,
        };
        let ended = crate::process::run(prepared, limits, plan, cancel).await;
        let (exit, finding) = self.interpret_exit(scene, &ended)?;
        // What still runs may change what was looked at: then nothing that was seen counts.
        let finding = match ended.tree.describe_survivors() {
            Some(survivors) => CheckOutcome::error(survivors),
            None => finding,
        };
        let ending = match ended.reason {
            EndReason::Exited(code) => Some(AbnormalExit::ExitCode(code)),
            EndReason::Signalled(signal) => Some(AbnormalExit::Signal(signal)),
            _ => None,
        };
        let finding = CheckOutcome {
            exit_code: match ending {
                Some(AbnormalExit::ExitCode(code)) => Some(code),
                _ => None,
            },
            duration: ended.wall,
            output: excerpt(&ended.stdout),
            output_ref: output_ref(scene, &ended.stdout),
            evidence: Evidence::ExitCode,
            processes: Some(ended.tree.to_processes()),
            ..finding
        };
        let analysis = reading.finish(exit);
        Ok(ExecutedCommand {
            finding,
            analysis,
            ending,
        })
    }

    fn command(&self, scene: &CheckContext) -> SessionCommand {
        let argv = self.argv.iter().map(OsString::from).collect();
        let mut env: Vec<_> = check_env(scene.supervisor.env_allowlist(), &host_env())
            .into_iter()
            .collect();
        for (name, value, join) in &self.variables {
            set_variable(&mut env, name, value, *join);
        }
        SessionCommand {
            env,
            streams: StderrMode::Merged,
            lock: Some(scene.lock.clone()),
            grace: STOP_GRACE,
            writable_paths: self.writable_path.iter().cloned().collect(),
            ..SessionCommand::new(argv, self.cwd.clone(), scene.tag.clone())
        }
    }

    fn interpret_exit(
        &self,
        scene: &CheckContext,
        ended: &SessionExit,
    ) -> Result<(CommandStatus, CheckOutcome), CheckError> {
        let seconds = scene.limit.as_secs_f64();
        Ok(match &ended.reason {
            EndReason::Exited(0) => (CommandStatus::Code(0), CheckOutcome::pass()),
            EndReason::Exited(code) => (
                CommandStatus::Code(*code),
                CheckOutcome::fail(format!("exited with {code}")),
            ),
            EndReason::Signalled(signal) => (
                CommandStatus::Signal(*signal),
                CheckOutcome::fail(format!("ended by signal {signal}")),
            ),
            EndReason::TimedOut | EndReason::IdleTimeout => (
                CommandStatus::TimedOut,
                CheckOutcome::timeout(format!("not done after {seconds:.0} s")),
            ),
            EndReason::SpawnFailed(failure) => {
                (CommandStatus::Unknown, self.start_failure(failure, scene))
            }
            EndReason::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
                return Err(CheckError::Infrastructure(error.to_string()));
            }
            EndReason::CaptureFailed(error) => (
                CommandStatus::Unknown,
                CheckOutcome::error(error.to_string()),
            ),
            EndReason::SupervisorLost => (
                CommandStatus::Unknown,
                CheckOutcome::error("its supervisor was lost"),
            ),
            EndReason::Cancelled => return Err(CheckError::Cancelled),
        })
    }

    /// A program that is named by a path in the workspace is part of the work: where it is missing, the work is not
    /// done yet. One that is there and cannot be started is the agent's to correct, but nobody's failure before the
    /// work began. Any other program is the machine's.
    fn start_failure(&self, failure: &SpawnError, scene: &CheckContext) -> CheckOutcome {
        let is_work = self
            .argv
            .first()
            .is_some_and(|program| is_in_workspace(program, &self.cwd, scene));
        match failure.kind {
            SpawnErrorKind::NotFound if is_work => CheckOutcome::fail(failure.to_string()),
            SpawnErrorKind::PermissionDenied
            | SpawnErrorKind::ExecFormat
            | SpawnErrorKind::InterpreterNotFound
                if is_work && !scene.is_baseline =>
            {
                CheckOutcome::fail(failure.to_string())
            }
            _ => CheckOutcome::error(failure.to_string()),
        }
    }
}

/// Whether a program is named by a path that stays in the workspace, instead of being looked up in `PATH`.
fn is_in_workspace(program: &str, cwd: &Path, scene: &CheckContext) -> bool {
    if !program.contains('/') {
        return false;
    }
    let path = cwd.join(program);
    let relative = path.strip_prefix(&scene.workspace).ok();
    let relative = relative.and_then(Path::to_str);
    relative.is_some_and(|relative| resolve_inside(&scene.files_root, relative).is_ok())
}

/// Sets a variable, joined with the value that it has.
fn set_variable(env: &mut Vec<(OsString, OsString)>, name: &str, value: &str, join: VariableJoin) {
    let named = env.iter().position(|(known, _)| known == name);
    let known = named.map(|at| env.swap_remove(at).1);
    let joined = match (known.filter(|it| !it.is_empty()), join) {
        (None, _) => value.into(),
        (Some(known), VariableJoin::KeepExisting) => known,
        (Some(known), VariableJoin::Prepend(between)) => {
            let mut joined = OsString::from(format!("{value}{between}"));
            joined.push(known);
            joined
        }
        (Some(mut known), VariableJoin::Append(between)) => {
            known.push(format!("{between}{value}"));
            known
        }
    };
    env.push((name.into(), joined));
}

pub(super) fn excerpt(output: &CapturedStream) -> String {
    let mut bytes = output.head.clone();
    if output.omitted() > 0 {
        bytes.clear();
    }
    bytes.extend_from_slice(&output.tail);
    let from = bytes.len().saturating_sub(QUOTED_BYTES);
    String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).into_owned()
}

fn output_ref(scene: &CheckContext, output: &CapturedStream) -> Option<OutputRef> {
    let stored = output.file.as_ref()?;
    Some(OutputRef {
        file: scene.output_file.clone(),
        bytes: output.bytes,
        left_out: stored.omitted,
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
            set_variable(&mut env, "A", "ours", join);
            let named = env.iter().find(|(name, _)| name == "A").unwrap();
            named.1.clone().into_string().unwrap()
        };
        for join in [
            VariableJoin::Prepend(':'),
            VariableJoin::Append(' '),
            VariableJoin::KeepExisting,
        ] {
            assert_eq!(set_to(&[("B", "x")], join), "ours");
            assert_eq!(set_to(&[("A", "")], join), "ours");
        }
        let known = [("B", "y"), ("A", "x"), ("C", "z")];
        assert_eq!(set_to(&known, VariableJoin::Prepend(':')), "ours:x");
        assert_eq!(set_to(&known, VariableJoin::Append(' ')), "x ours");
        assert_eq!(set_to(&known, VariableJoin::KeepExisting), "x");
    }
}
