//! The task's own command: deterministic, without a model, without a prompt. It is retried only if
//! it could not be started at all, and then once; a retry after a start would have the same result.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{Cost, SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use super::final_message::detect_cannot_satisfy;
use super::program::{self, LaunchSpec};
use super::{Agent, SessionRequest, env};
use crate::activity::{Activity, Progress};
use crate::process::capture::{LineSplitter, OutputLine};
use crate::process::{EndReason, SessionExit, StderrMode, StdinSource, StopSignal};

/// The task's own command as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellAgent;

impl Agent for ShellAgent {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        run_session(request, progress, cancel)
            .map(detect_cannot_satisfy)
            .boxed()
    }
}

async fn run_session(
    request: &SessionRequest,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    if request.agent.program.is_empty() {
        let error = "the task has no command to run".to_owned();
        return SessionOutcome::failed(SessionStatus::Infra, error);
    }
    let first = run_command(request, 0, progress, cancel).await;
    let has_run = matches!(&first, Ok(ended) if !matches!(ended.reason, EndReason::SpawnFailed(_)));
    let last = if has_run || cancel.is_cancelled() {
        first
    } else {
        let note = "the command could not be started; retrying once".to_owned();
        progress.on_activity(Activity::Note(note));
        run_command(request, 1, progress, cancel).await
    };
    match last {
        Ok(ended) => session_outcome(request, &ended),
        Err(outcome) => outcome,
    }
}

async fn run_command(
    request: &SessionRequest,
    retry: u32,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<SessionExit, SessionOutcome> {
    let launch = LaunchSpec {
        argv: request.agent.program.clone(),
        env: env::with_run_vars(env::agent_env(&request.agent, &env::host_env()), request),
        stdin: StdinSource::Null,
        // In the order in which a terminal would show it.
        streams: StderrMode::Merged,
        stop: StopSignal::Terminate,
        writable_paths: Vec::new(),
        wall: Duration::from_millis(request.limits.wall_ms),
        is_task_command: false,
        retry,
    };
    let show = |activities: program::ActivitySender| {
        let show = move |line: OutputLine<'_>| program::send_line(&activities, line.bytes);
        LineSplitter::new(program::MAX_SHOWN_LINE_BYTES, show)
    };
    program::run_program(request, launch, show, progress, cancel).await
}

fn session_outcome(request: &SessionRequest, ended: &SessionExit) -> SessionOutcome {
    let outcome = SessionOutcome {
        text: program::excerpt(&ended.stdout).trim_end().to_owned(),
        cost: Cost::ZERO,
        ..program::outcome_from_exit(request, ended)
    };
    program::with_supervisor_data(outcome, ended)
}
