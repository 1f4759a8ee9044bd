//! A model behind the API of Anthropic, OpenAI (and whatever is compatible with it: llama.cpp, vLLM,
//! OpenRouter and many more) or Gemini, in a [session of our own](super::chat).
//!
//! Which API it is stands before the model's name, `openai/gpt-5`; `base_url` leads to another server
//! that speaks it. Cost is an estimate from list prices; a model that is not listed costs `unknown`.

mod client;
mod messages;
mod provider;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

pub(super) use self::provider::{Provider, is_key};

use self::client::Client;
use super::chat::{self, Habits};
use super::claim::heed_refusal;
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::Progress;

/// Turns of the model when no other limit is set.
const TURNS: u32 = 10;
/// Tokens of a conversation: what the smallest of the models that are usually meant can take. No API
/// tells it.
const CONTEXT: usize = 128_000;

/// A model behind a provider's API as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Api {
    backoff: Backoff,
}

impl Api {
    /// With these waits between tries.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self { backoff }
    }
}

impl Agent for Api {
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
    let provider = match Provider::of(&request.agent) {
        Ok(provider) => provider,
        Err(error) => return SessionOutcome::failed(SessionStatus::Failed, error.to_string()),
    };
    let client = match Client::new(provider, &request.agent) {
        Ok(client) => client,
        Err(error) => return SessionOutcome::failed(SessionStatus::Infra, error.to_string()),
    };
    let habits = Habits {
        turns: TURNS,
        context: CONTEXT,
        backoff,
    };
    chat::work(request, &client, habits, progress, cancel).await
}
