//! The task's own command: deterministic, without a model, without a prompt. It is run again only
//! when it could not be started at all, and then once; whatever it does once it runs, it would do
//! again.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{Cost, SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use super::claim::heed_refusal;
use super::program::{self, Launch};
use super::{Agent, SessionRequest, env};
use crate::activity::{Activity, Progress};
use crate::process::capture::{Line, Lines};
use crate::process::{Ended, How, Stdin, StopSignal, Streams};

/// The task's own command as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shell;

impl Agent for Shell {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        session(request, progress, cancel).map(heed_refusal).boxed()
    }
}

async fn session(
    request: &SessionRequest,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    if request.agent.program.is_empty() {
        let error = "the task has no command to run".to_owned();
        return SessionOutcome::failed(SessionStatus::Infra, error);
    }
    let first = start(request, 0, progress, cancel).await;
    let has_run = matches!(&first, Ok(ended) if !matches!(ended.how, How::SpawnFailed(_)));
    let last = if has_run || cancel.is_cancelled() {
        first
    } else {
        let note = "the command could not be started; trying once more".to_owned();
        progress.activity(Activity::Note(note));
        start(request, 1, progress, cancel).await
    };
    match last {
        Ok(ended) => conclude(request, &ended),
        Err(outcome) => outcome,
    }
}

async fn start(
    request: &SessionRequest,
    retry: u32,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Ended, SessionOutcome> {
    let launch = Launch {
        argv: request.agent.program.clone(),
        env: env::with_run(env::for_agent(&request.agent, &env::ours()), request),
        stdin: Stdin::Null,
        // In the order in which a person would have seen it.
        streams: Streams::Merged,
        stop: StopSignal::Terminate,
        opens: Vec::new(),
        wall: Duration::from_millis(request.limits.wall_ms),
        carried_out: false,
        retry,
    };
    let show = |told: program::Told| {
        let show = move |line: Line<'_>| program::show(&told, line.bytes);
        Lines::new(program::SHOWN_LINE, show)
    };
    program::run(request, launch, show, progress, cancel).await
}

fn conclude(request: &SessionRequest, ended: &Ended) -> SessionOutcome {
    let outcome = SessionOutcome {
        text: program::excerpt(&ended.stdout).trim_end().to_owned(),
        cost: Cost::ZERO,
        ..program::by_exit(request, ended)
    };
    program::with_facts(outcome, ended)
}
