//! A supervised program as an agent's session: the paths of its prompt and output, its limits, and
//! the part of its outcome that is independent of the agent.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use selvedge_core::model::{OutputRef, SessionOutcome, SessionStatus};
use selvedge_core::redact::Redactor;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::SessionRequest;
use super::final_message::output_tail;
use crate::activity::{Activity, Progress};
use crate::environment::EnvironmentMap;
use crate::process::capture::{CapturePlan, CapturedStream, OutputConsumer, StreamPlan};
use crate::process::{
    self, EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, StderrMode,
    StdinSource, StopSignal,
};

/// Maximum activities waiting for the observer; further ones are dropped.
const ACTIVITY_QUEUE_CAPACITY: usize = 256;

/// A program to run for a session.
pub(super) struct LaunchSpec {
    pub(super) argv: Vec<String>,
    pub(super) env: EnvironmentMap,
    pub(super) stdin: StdinSource,
    pub(super) streams: StderrMode,
    /// How a stop begins.
    pub(super) stop: StopSignal,
    /// Remaining wall time of the session.
    pub(super) wall: Duration,
    /// Files and folders besides its output that the program writes itself; they exist.
    pub(super) writable_paths: Vec<PathBuf>,
    /// Whether its output is acted on, so that its consumer receives it without redaction.
    pub(super) is_task_command: bool,
    /// Number of the try in the attempt, from 0: each has its own output file.
    pub(super) retry: u32,
}

/// Through which a consumer reports activity.
pub(super) type ActivitySender = mpsc::Sender<Activity>;

/// Runs the program to its end and forwards the consumer's activity. The error is the outcome of a
/// session that could not begin.
pub(super) async fn run_program<C: OutputConsumer + 'static>(
    request: &SessionRequest,
    launch: LaunchSpec,
    consumer: impl FnOnce(ActivitySender) -> C,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<SessionExit, SessionOutcome> {
    let file = |stream| {
        request
            .run_dir
            .join(output_name(request, launch.retry, stream))
    };
    let (activities, mut receiver) = mpsc::channel(ACTIVITY_QUEUE_CAPACITY);
    let plan = CapturePlan {
        stdout: StreamPlan {
            whole_to_consumer: launch.is_task_command,
            ..StreamPlan::to_file(file("stdout")).with_consumer(consumer(activities))
        },
        stderr: StreamPlan::to_file(file("stderr")),
    };
    let limits = SessionTimeouts {
        wall: Some(launch.wall),
        idle: Some(Duration::from_millis(request.limits.idle_timeout_ms)),
    };
    let command = SessionCommand {
        env: launch.env.into_iter().collect(),
        stdin: launch.stdin,
        streams: launch.streams,
        stop: launch.stop,
        lock: Some(request.lock.clone()),
        agent: Some(request.agent.kind),
        writable_paths: launch.writable_paths.clone(),
        ..SessionCommand::new(
            launch.argv.into_iter().map(Into::into).collect(),
            &request.workspace,
            &request.tag,
        )
    };
    let prepared = Session::prepare(&request.supervisor, &command)
        .await
        .map_err(|error| SessionOutcome::failed(SessionStatus::Infra, error.to_string()))?;
    let mut work = pin!(process::run(prepared, limits, plan, cancel));
    let ended = loop {
        tokio::select! {
            ended = &mut work => break ended,
            Some(activity) = receiver.recv() => progress.on_activity(activity),
        }
    };
    while let Ok(activity) = receiver.try_recv() {
        progress.on_activity(activity);
    }
    let redactor = request.supervisor.redactor();
    for path in &launch.writable_paths {
        if let Err(error) = redact_file(path, redactor).await {
            return Err(write_error_outcome(path, &error));
        }
    }
    Ok(ended)
}

/// Redacts secrets in a file that the program wrote itself.
async fn redact_file(path: &Path, redactor: &Redactor) -> io::Result<()> {
    let whole = match tokio::fs::read(path).await {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::IsADirectory
            ) =>
        {
            return Ok(());
        }
        read => read?,
    };
    match redactor.redact_bytes(&whole) {
        Cow::Borrowed(_) => Ok(()),
        Cow::Owned(redacted) => tokio::fs::write(path, redacted).await,
    }
}

/// Maximum bytes of a printed line that are shown while a program runs.
pub(super) const MAX_SHOWN_LINE_BYTES: usize = 2_000;

/// Reports a printed line as the agent's text.
pub(super) fn send_line(activities: &ActivitySender, line: &[u8]) {
    let shown = line.get(..MAX_SHOWN_LINE_BYTES).unwrap_or(line);
    let text = String::from_utf8_lossy(shown).trim_end().to_owned();
    if !text.is_empty() {
        // Activity is lossy: it is dropped if the queue is full.
        let _ = activities.try_send(Activity::Text(text));
    }
}

/// Writes the program's standard input to a file next to its output.
pub(super) async fn write_prompt_file(request: &SessionRequest) -> Result<PathBuf, SessionOutcome> {
    let path = prompt_path(request);
    match tokio::fs::write(&path, request.prompt.full_text()).await {
        Ok(()) => Ok(path),
        Err(error) => Err(write_error_outcome(&path, &error)),
    }
}

/// The path of that file.
pub(super) fn prompt_path(request: &SessionRequest) -> PathBuf {
    request.session_file("prompt")
}

/// The outcome of a session whose own files cannot be written.
pub(super) fn write_error_outcome(path: &Path, error: &io::Error) -> SessionOutcome {
    let error = format!("cannot write {}: {error}", path.display());
    SessionOutcome::failed(SessionStatus::Infra, error)
}

/// The name of a file of the session's output, below the run's directory.
pub(super) fn output_name(request: &SessionRequest, retry: u32, stream: &str) -> String {
    let files = &request.file_prefix;
    match retry {
        0 => format!("{files}.{stream}"),
        retry => format!("{files}.retry-{retry}.{stream}"),
    }
}

/// The error of a session whose end implies nothing about the agent: an infrastructure failure, or
/// a process of its tree is still alive, and then nothing may be verified.
pub(super) fn infrastructure_error(ended: &SessionExit) -> Option<String> {
    Some(match &ended.reason {
        EndReason::SpawnFailed(failure) => failure.to_string(),
        EndReason::CaptureFailed(error) => error.to_string(),
        EndReason::SupervisorLost => "the session's supervisor was lost".to_owned(),
        _ => return ended.tree.describe_survivors(),
    })
}

/// The outcome of a program without records of its own: from its exit, or from why it was stopped.
pub(super) fn outcome_from_exit(request: &SessionRequest, ended: &SessionExit) -> SessionOutcome {
    let failed = |what: String| {
        let tail = [&ended.stderr, &ended.stdout].map(|stream| output_tail(&excerpt(stream)));
        let error = match tail.into_iter().find(|tail| !tail.is_empty()) {
            None => what,
            Some(tail) => format!("{what}: {tail}"),
        };
        SessionOutcome::failed(SessionStatus::Failed, error)
    };
    if let Some(error) = infrastructure_error(ended) {
        return SessionOutcome::failed(SessionStatus::Infra, error);
    }
    match &ended.reason {
        EndReason::Exited(0) => SessionOutcome::new(SessionStatus::Success),
        EndReason::Exited(code) => failed(format!("exited with code {code}")),
        EndReason::Signalled(signal) => failed(format!("ended by signal {signal}")),
        EndReason::TimedOut => timeout_outcome(request.limits.wall_ms, "not finished"),
        EndReason::IdleTimeout => timeout_outcome(request.limits.idle_timeout_ms, "no output"),
        EndReason::Cancelled => SessionOutcome::failed(SessionStatus::Cancelled, "cancelled"),
        EndReason::SpawnFailed(_) | EndReason::CaptureFailed(_) | EndReason::SupervisorLost => {
            SessionOutcome::new(SessionStatus::Infra)
        }
    }
}

/// The outcome of a session that was ended by one of the two time limits.
pub(super) fn timeout_outcome(limit_ms: u64, lacking: &str) -> SessionOutcome {
    let error = format!(
        "{lacking} within {} s",
        Duration::from_millis(limit_ms).as_secs_f64()
    );
    SessionOutcome::failed(SessionStatus::Timeout, error)
}

/// Adds the supervisor's data about a session, however it ended.
pub(super) fn with_supervisor_data(outcome: SessionOutcome, ended: &SessionExit) -> SessionOutcome {
    let transcript = ended.stdout.file.as_ref().map(|stored| OutputRef {
        file: stored
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        bytes: ended.stdout.bytes,
        left_out: stored.omitted,
    });
    SessionOutcome {
        duration_ms: u64::try_from(ended.wall.as_millis()).unwrap_or(u64::MAX),
        processes: Some(ended.tree.to_processes()),
        transcript,
        ..outcome
    }
}

/// The part of a stream that is kept in memory: its beginning and its end, as text.
pub(super) fn excerpt(stream: &CapturedStream) -> String {
    let mut bytes = stream.head.clone();
    if stream.omitted() > 0 {
        bytes.extend_from_slice(format!("\n[{} bytes omitted]\n", stream.omitted()).as_bytes());
    }
    bytes.extend_from_slice(&stream.tail);
    String::from_utf8_lossy(&bytes).into_owned()
}
