//! A model behind Ollama's `/api/chat`, in a [session of our own](super::chat).

mod client;
mod endpoint;
mod wire;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

pub(super) use endpoint::Endpoint;

use self::client::OllamaClient;
use super::chat::{self, SessionDefaults};
use super::final_message::detect_cannot_satisfy;
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::Progress;

/// Maximum turns of the model if no other limit is set.
const DEFAULT_MAX_TURNS: u32 = 20;
/// Requested tokens of context, if the model supports as many. The servers' own default is a
/// fraction of what this work needs; a larger context may need more memory than there is.
const DEFAULT_CONTEXT_TOKENS: usize = 32_768;
/// The variable that sets another context length, as it does for the server.
const CONTEXT_VARIABLE: &str = "OLLAMA_CONTEXT_LENGTH";

/// A model behind an Ollama server as an agent.
#[derive(Debug, Clone, Copy)]
pub struct OllamaAgent {
    backoff: Backoff,
    busy_backoff: Backoff,
}

impl Default for OllamaAgent {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            busy_backoff: Backoff::BUSY,
        }
    }
}

impl OllamaAgent {
    /// Sets the waits between retries, also while the server is busy.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self {
            backoff,
            busy_backoff: backoff,
        }
    }
}

impl Agent for OllamaAgent {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        run_session(request, *self, progress, cancel)
            .map(detect_cannot_satisfy)
            .boxed()
    }
}

async fn run_session(
    request: &SessionRequest,
    agent: OllamaAgent,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let failed = |error: String| SessionOutcome::failed(SessionStatus::Failed, error);
    let Some(model) = request.agent.model.as_deref() else {
        return failed(format!("agent `{}` has no model", request.agent.name));
    };
    let endpoint = match Endpoint::for_agent(&request.agent) {
        Ok(endpoint) => endpoint,
        Err(error) => return failed(error.to_string()),
    };
    let client = match OllamaClient::new(&endpoint, model) {
        Ok(client) => client,
        Err(error) => return SessionOutcome::failed(SessionStatus::Infra, error.to_string()),
    };
    let habits = SessionDefaults {
        turns: DEFAULT_MAX_TURNS,
        context: requested_context(request).unwrap_or(DEFAULT_CONTEXT_TOKENS),
        backoff: agent.backoff,
        busy_backoff: agent.busy_backoff,
    };
    chat::run_session(request, &client, habits, progress, cancel).await
}

fn requested_context(request: &SessionRequest) -> Option<usize> {
    request.agent.env.get(CONTEXT_VARIABLE)?.trim().parse().ok()
}
