//! Executes a command under a supervisor, stores and digests its output, and returns an outcome that is based on the
//! exit code alone.

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
use super::{CheckContext, CheckOutcome, digest};
use crate::check_error::CheckError;
use crate::process::capture::{CaptureError, CapturePlan, CapturedStream, StreamPlan};
use crate::process::{
    EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, SpawnError, SpawnErrorKind,
    StderrMode,
};

/// Maximum bytes of the end of an output that a report quotes.
const QUOTED_BYTES: usize = 4 << 10;
/// How long a check that is being stopped may take to exit by itself.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(2);

pub(super) struct CommandExecution<'a> {
    /// The command line as a person wrote it.
    pub(super) line: &'a str,
    /// The arguments to execute, including the program.
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    /// Whether its output is the event stream of `go test -json`.
    pub(super) has_event_output: bool,
    /// Variables to set, each joined with an existing value.
    pub(super) variables: Vec<(&'static str, String, VariableJoin)>,
    /// A folder outside of the workspace that the command may write to.
    pub(super) writable_path: Option<PathBuf>,
}

pub(super) struct ExecutedCommand {
    pub(super) finding: CheckOutcome,
    pub(super) analysis: Option<Analysis>,
    /// How the command ended, unless Selvedge ended it.
    pub(super) ending: Option<AbnormalExit>,
}

impl ExecutedCommand {
    /// Returns the tests that its output reports.
    pub(super) fn test_summary(&self) -> Option<TestSummary> {
        self.analysis.as_ref()?.tests.clone()
    }
}

impl CommandExecution<'_> {
    pub(super) async fn run(
        self,
        context: &CheckContext,
        cancel: &CancellationToken,
    ) -> Result<ExecutedCommand, CheckError> {
        let command = self.command(context);
        let passing_output = digest::load_passing_output(context.passing_output.clone()).await;
        let (consumer, digest_handle) = digest::digest_pair(self.line, passing_output);
        let file = context.run_dir.join(&context.output_file);
        let mut stdout = StreamPlan::to_file(file).with_consumer(consumer);
        if self.has_event_output {
            stdout = stdout.with_filter(GoTestFilter::default());
        }
        let plan = CapturePlan {
            stdout,
            ..CapturePlan::default()
        };
        let prepared = match Session::prepare(&context.supervisor, &command).await {
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
            wall: Some(context.limit),
            idle: None,
        };
        let ended = crate::process::run(prepared, limits, plan, cancel).await;
        let (exit, finding) = self.interpret_exit(context, &ended)?;
        // A surviving process may change the files that were checked, so nothing that was found counts.
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
            output_ref: output_ref(context, &ended.stdout),
            evidence: Evidence::ExitCode,
            processes: Some(ended.tree.to_processes()),
            ..finding
        };
        let analysis = digest_handle.finish(exit);
        Ok(ExecutedCommand {
            finding,
            analysis,
            ending,
        })
    }

    fn command(&self, context: &CheckContext) -> SessionCommand {
        let argv = self.argv.iter().map(OsString::from).collect();
        let mut env = context.environment();
        for (name, value, join) in &self.variables {
            set_variable(&mut env, name, value, *join);
        }
        SessionCommand {
            env,
            streams: StderrMode::Merged,
            lock: Some(context.lock.clone()),
            grace: STOP_GRACE,
            writable_paths: self.writable_path.iter().cloned().collect(),
            check_names: context.names.clone(),
            ..SessionCommand::new(argv, self.cwd.clone(), context.tag.clone())
        }
    }

    fn interpret_exit(
        &self,
        context: &CheckContext,
        ended: &SessionExit,
    ) -> Result<(CommandStatus, CheckOutcome), CheckError> {
        let seconds = context.limit.as_secs_f64();
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
                CheckOutcome::timeout(format!("timed out after {seconds:.0} s")),
            ),
            EndReason::SpawnFailed(failure) => {
                (CommandStatus::Unknown, self.start_failure(failure, context))
            }
            EndReason::CaptureFailed(error @ CaptureError::DiskFull(_)) => {
                return Err(CheckError::DiskFull(error.to_string()));
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

    /// Returns the outcome of a program that could not be started. A program named by a path in the workspace is part
    /// of the work: if it is missing, the work is not done yet; if it cannot be started, the agent has to correct it,
    /// but before the work it does not count as a failure. Any other program belongs to the machine.
    fn start_failure(&self, failure: &SpawnError, context: &CheckContext) -> CheckOutcome {
        let is_work = self
            .argv
            .first()
            .is_some_and(|program| is_in_workspace(program, &self.cwd, context));
        match failure.kind {
            SpawnErrorKind::NotFound if is_work => CheckOutcome::fail(failure.to_string()),
            SpawnErrorKind::PermissionDenied
            | SpawnErrorKind::ExecFormat
            | SpawnErrorKind::InterpreterNotFound
                if is_work && !context.is_baseline =>
            {
                CheckOutcome::fail(failure.to_string())
            }
            _ => CheckOutcome::error(failure.to_string()),
        }
    }
}

/// Returns whether a program is named by a path inside the workspace instead of being looked up in `PATH`.
fn is_in_workspace(program: &str, cwd: &Path, context: &CheckContext) -> bool {
    if !program.contains('/') {
        return false;
    }
    let path = cwd.join(program);
    let relative = path.strip_prefix(&context.workspace).ok();
    let relative = relative.and_then(Path::to_str);
    relative.is_some_and(|relative| resolve_inside(&context.files_root, relative).is_ok())
}

/// Sets a variable, joined with its existing value.
fn set_variable(env: &mut Vec<(OsString, OsString)>, name: &str, value: &str, join: VariableJoin) {
    let position = env.iter().position(|(existing, _)| existing == name);
    let existing = position.map(|at| env.swap_remove(at).1);
    let joined = match (existing.filter(|it| !it.is_empty()), join) {
        (None, _) => value.into(),
        (Some(existing), VariableJoin::KeepExisting) => existing,
        (Some(existing), VariableJoin::Prepend(separator)) => {
            let mut joined = OsString::from(format!("{value}{separator}"));
            joined.push(existing);
            joined
        }
        (Some(mut existing), VariableJoin::Append(separator)) => {
            existing.push(format!("{separator}{value}"));
            existing
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

fn output_ref(context: &CheckContext, output: &CapturedStream) -> Option<OutputRef> {
    let stored = output.file.as_ref()?;
    Some(OutputRef {
        file: context.output_file.clone(),
        bytes: output.bytes,
        left_out: stored.omitted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_variable_joins_existing_value() {
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
