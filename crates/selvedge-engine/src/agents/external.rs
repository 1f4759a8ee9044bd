//! A session that its user started, outside of Selvedge: it reports to the stop gate through hooks. Selvedge cannot
//! start it.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use super::{Agent, SessionRequest};
use crate::activity::Progress;

/// The agent of a run whose session belongs to its user.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExternalAgent;

impl Agent for ExternalAgent {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        _: &'a dyn Progress,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        let error = format!(
            "the user's own session of {} did this work; only that session can continue it",
            request.agent.name
        );
        let outcome = SessionOutcome::failed(SessionStatus::Failed, error);
        std::future::ready(outcome).boxed()
    }
}
