//! A model behind Ollama's `/api/chat`, working in the repository through our own tools.
//!
//! A correction is a follow-up in the chat: system, task, the last answer, the correction, and
//! never more than the latest attempt. A session that ends with mere talk has done nothing, so
//! tool calls that the model wrote as plain text are taken for what they are, and a model that
//! never used a tool is told so, once. Whether the work is right, the checks say.

mod client;
mod clocks;
mod confined;
mod context;
mod endpoint;
mod instructions;
mod session;
mod textual;
mod tools;
mod transcript;
mod wire;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{Cost, SessionOutcome, SessionStatus};
use selvedge_core::price::PriceTable;
use tokio_util::sync::CancellationToken;

pub(super) use endpoint::Endpoint;

use self::clocks::Clocks;
use self::session::Session;
use super::claim::heed_refusal;
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::Progress;

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
    let clocks = Clocks::start(request.limits, cancel);
    let mut session = match Session::open(request, &endpoint, model, backoff, clocks, progress) {
        Ok(session) => session,
        Err(outcome) => return *outcome,
    };
    let ending = session.converse().await;
    let outcome = session.account(ending);
    SessionOutcome {
        model: Some(model.to_owned()),
        cost: cost(model),
        equivalent_claude_cost: PriceTable::built_in().equivalent_claude_cost(&outcome.usage),
        ..outcome
    }
}

/// A model on one's own machine costs nothing. Ollama also passes on to models that it hosts, and
/// what those cost it does not say.
fn cost(model: &str) -> Cost {
    if model.ends_with("-cloud") || model.ends_with(":cloud") {
        Cost::UNKNOWN
    } else {
        Cost::ZERO
    }
}
