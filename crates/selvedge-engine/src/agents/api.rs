//! A model behind the API of Anthropic, OpenAI (and compatible servers: llama.cpp, vLLM, OpenRouter
//! and many more) or Gemini, in a [session of our own](super::chat).
//!
//! A prefix of the model's name selects the API, as in `openai/gpt-5`; `base_url` selects another
//! server with that API. Cost is an estimate from list prices; it is `unknown` for a model that is
//! not listed.

mod client;
mod messages;
mod provider;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

pub(super) use self::provider::{Provider, is_api_key};

use self::client::GenaiClient;
use super::chat::{self, SessionDefaults};
use super::final_message::detect_cannot_satisfy;
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::Progress;

/// Maximum turns of the model if no other limit is set.
const DEFAULT_MAX_TURNS: u32 = 10;
/// Tokens of a conversation: the limit of the smallest commonly used models. The APIs do not report
/// it.
const DEFAULT_CONTEXT_TOKENS: usize = 128_000;

/// A model behind a provider's API as an agent.
#[derive(Debug, Clone, Copy)]
pub struct ApiAgent {
    backoff: Backoff,
    busy_backoff: Backoff,
}

impl Default for ApiAgent {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            busy_backoff: Backoff::BUSY,
        }
    }
}

impl ApiAgent {
    /// Sets the waits between retries, also while the server is busy.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self {
            backoff,
            busy_backoff: backoff,
        }
    }
}

impl Agent for ApiAgent {
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
    agent: ApiAgent,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let provider = match Provider::for_agent(&request.agent) {
        Ok(provider) => provider,
        Err(error) => return SessionOutcome::failed(SessionStatus::Failed, error.to_string()),
    };
    let client = match GenaiClient::new(provider, &request.agent) {
        Ok(client) => client,
        Err(error) => return SessionOutcome::failed(SessionStatus::Infra, error.to_string()),
    };
    let habits = SessionDefaults {
        turns: DEFAULT_MAX_TURNS,
        context: DEFAULT_CONTEXT_TOKENS,
        backoff: agent.backoff,
        busy_backoff: agent.busy_backoff,
    };
    chat::run_session(request, &client, habits, progress, cancel).await
}
