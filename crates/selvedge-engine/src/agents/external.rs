//! A program that Selvedge does not start: its result is in the workspace already, or it is a session of the user that
//! reports to the stop gate through hooks.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{Cost, SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use super::{Agent, SessionRequest};
use crate::activity::Progress;

/// The agent of a run whose work another program does.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExternalAgent;

impl Agent for ExternalAgent {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        _: &'a dyn Progress,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        let outcome = if request.agent.is_user_session() {
            let error = format!(
                "the user's own session of {} did this work; only that session can continue it",
                request.agent.name
            );
            SessionOutcome::failed(SessionStatus::Failed, error)
        } else {
            SessionOutcome {
                cost: Cost::ZERO,
                ..SessionOutcome::new(SessionStatus::Success)
            }
        };
        std::future::ready(outcome).boxed()
    }
}
