//! The caps of one session on cost and tokens, and whether they are reached. Checked before each
//! turn of our own conversations, and at each record of a program.

use selvedge_core::model::{MicroUsd, SessionOutcome, SessionStatus};

use super::SessionRequest;

/// The cost and tokens that a session may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpendLimit {
    cost: Option<MicroUsd>,
    tokens: Option<u64>,
}

impl SpendLimit {
    /// The caps of a session that has not begun.
    pub(super) fn for_session(request: &SessionRequest) -> Self {
        Self {
            cost: request.cost_left,
            tokens: request.tokens_left,
        }
    }

    /// The remaining caps after this usage.
    pub(super) fn minus(self, tokens: u64, cost: MicroUsd) -> Self {
        Self {
            cost: self.cost.map(|cap| MicroUsd(cap.0.saturating_sub(cost.0))),
            tokens: self.tokens.map(|cap| cap.saturating_sub(tokens)),
        }
    }

    /// Remaining cost.
    pub(super) fn remaining_cost(self) -> Option<MicroUsd> {
        self.cost
    }

    /// The cap that this usage reaches, if any, as text.
    pub(super) fn exceeded_limit(self, tokens: u64, cost: MicroUsd) -> Option<String> {
        if self.cost.is_some_and(|cap| cost >= cap) {
            return Some(format!(
                "the cap on cost was reached: ${:.4}",
                cost.as_usd()
            ));
        }
        let is_reached = self.tokens.is_some_and(|cap| tokens >= cap);
        is_reached.then(|| format!("the cap on tokens was reached: {tokens}"))
    }
}

/// The outcome of a session that was stopped because a cap was reached. A session that had already
/// succeeded keeps its status: it is paid for.
pub(super) fn mark_over_budget(outcome: SessionOutcome, reached: Option<String>) -> SessionOutcome {
    match (outcome.status, reached) {
        (SessionStatus::Success | SessionStatus::Infra, _) | (_, None) => outcome,
        (_, Some(reached)) => SessionOutcome {
            status: SessionStatus::Budget,
            error: Some(reached),
            ..outcome
        },
    }
}
