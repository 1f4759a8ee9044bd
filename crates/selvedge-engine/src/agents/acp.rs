//! Any agent that speaks the Agent Client Protocol over its standard input and output, a new session
//! for every attempt. The protocol is spoken by the official library; whatever the agent prints is
//! read along beside it, kept, and folded into an account like any other program's records. It asks us
//! for permissions and for files, and gets what lies in the workspace, nothing else.

mod conversation;
mod model;
mod policy;
mod updates;
mod wire;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use super::claim::heed_refusal;
use super::program::{self, Launch};
use super::records::{self, Folded, locked};
use super::{Agent, SessionRequest, env};
use crate::activity::Progress;
use crate::process::{Ended, How, Stdin, StopSignal, Streams};

use self::conversation::{Conversation, Talk};
use self::updates::Updates;
use self::wire::Wire;

/// How long an agent may take to end by itself once nobody talks to it any more.
const LEAVING: Duration = Duration::from_secs(2);

/// An agent that speaks the Agent Client Protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acp;

impl Agent for Acp {
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
    // Nothing reads it: it is kept beside the transcript, like any other agent's prompt.
    if let Err(outcome) = program::prompt_file(request).await {
        return outcome;
    }
    let wire = match Wire::lay(request) {
        Ok(wire) => wire,
        Err(outcome) => return *outcome,
    };
    let conversation = match Conversation::new(request, cancel) {
        Ok(conversation) => conversation,
        Err(outcome) => return *outcome,
    };
    let launch = Launch {
        argv: request.agent.program.clone(),
        env: env::with_run(env::for_agent(&request.agent, &env::ours()), request),
        stdin: Stdin::File(wire.path().to_owned()),
        streams: Streams::Separate,
        stop: StopSignal::Terminate,
        wall: Duration::from_millis(request.limits.wall_ms),
        opens: Vec::new(),
        carried_out: true,
        retry: 0,
    };
    let reading = Arc::new(Mutex::new(Folded::<Updates>::default()));
    let (sending, receiving, heard) = wire.ends();
    let reader = |told| wire::read_along(Arc::clone(&reading), heard, told);
    let (stop, gone) = (CancellationToken::new(), CancellationToken::new());
    let work = async {
        let ended = program::run(request, launch, reader, progress, &stop).await;
        gone.cancel();
        ended
    };
    let talk = async {
        let talk = conversation.hold(sending, receiving).await;
        // Its input is closed now, which asks it to leave.
        let _ = tokio::time::timeout(LEAVING, gone.cancelled()).await;
        stop.cancel();
        talk
    };
    let (ended, talk) = futures_util::join!(work, talk);
    match ended {
        Ok(ended) => conclude(request, &locked(&reading), ended, talk, cancel),
        Err(outcome) => outcome,
    }
}

/// What the session came to: by what the agent said, unless the talk was broken off.
fn conclude(
    request: &SessionRequest,
    reading: &Folded<Updates>,
    mut ended: Ended,
    talk: Talk,
    cancel: &CancellationToken,
) -> SessionOutcome {
    if matches!(ended.how, How::Cancelled) && !cancel.is_cancelled() {
        // It was over, and did not leave by itself: that says nothing about the work.
        ended.how = How::Exited(0);
        ended.stopped_at = None;
    }
    let by_itself = matches!(ended.how, How::Exited(0));
    let outcome = records::conclude(request, reading, &ended);
    match talk {
        Talk::OverBudget if outcome.status != SessionStatus::Infra => SessionOutcome {
            status: SessionStatus::Budget,
            error: Some("the cap on cost was reached".to_owned()),
            ..outcome
        },
        Talk::Broke(why) if by_itself && !reading.has_ended() => SessionOutcome {
            status: SessionStatus::Failed,
            error: Some(why),
            ..outcome
        },
        _ => outcome,
    }
}
