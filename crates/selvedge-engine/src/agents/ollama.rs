//! A model behind Ollama's `/api/chat`, in a [session of our own](super::chat).

mod client;
mod endpoint;
mod wire;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

pub(super) use endpoint::Endpoint;

use self::client::Client;
use super::chat::{self, Habits};
use super::claim::heed_refusal;
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::Progress;

/// Turns of the model when no other limit is set.
const TURNS: u32 = 20;
/// Tokens of context that are asked for, if the model was made for as many. The servers' own
/// default is a fraction of what this work needs; a larger one takes memory that may not be there.
const CONTEXT: usize = 32_768;
/// Sets another number, as it does for the server.
const CONTEXT_VARIABLE: &str = "OLLAMA_CONTEXT_LENGTH";

/// A model behind an Ollama server as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ollama {
    backoff: Backoff,
}

impl Ollama {
    /// With these waits between tries.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self { backoff }
    }
}

impl Agent for Ollama {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        work(request, self.backoff, progress, cancel)
            .map(heed_refusal)
            .boxed()
    }
}

async fn work(
    request: &SessionRequest,
    backoff: Backoff,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let failed = |error: String| SessionOutcome::failed(SessionStatus::Failed, error);
    let Some(model) = request.agent.model.as_deref() else {
        return failed(format!("agent `{}` names no model", request.agent.name));
    };
    let endpoint = match Endpoint::of(&request.agent) {
        Ok(endpoint) => endpoint,
        Err(error) => return failed(error.to_string()),
    };
    let client = match Client::new(&endpoint, model) {
        Ok(client) => client,
        Err(error) => return SessionOutcome::failed(SessionStatus::Infra, error.to_string()),
    };
    let habits = Habits {
        turns: TURNS,
        context: asked_context(request).unwrap_or(CONTEXT),
        backoff,
    };
    chat::work(request, &client, habits, progress, cancel).await
}

fn asked_context(request: &SessionRequest) -> Option<usize> {
    request.agent.env.get(CONTEXT_VARIABLE)?.trim().parse().ok()
}
