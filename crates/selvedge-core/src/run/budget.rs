//! Limits on cost, tokens and time, compared with what was spent and what an attempt may cost.

use super::state::Run;
use crate::model::{Cost, MicroUsd, Usage};

/// The remaining budget of a session; `None` for what is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemainingBudget {
    /// Money.
    pub cost: Option<MicroUsd>,
    /// Tokens, in and out together.
    pub tokens: Option<u64>,
    /// Time in milliseconds.
    pub duration_ms: Option<u64>,
}

impl RemainingBudget {
    /// An equal share of money and tokens for each of several sessions that work side by side.
    #[must_use]
    pub fn divide_among(self, sessions: u32) -> Self {
        let share = |left: u64| left.div_ceil(sessions.max(1).into());
        Self {
            cost: self.cost.map(|left| MicroUsd(share(left.0))),
            tokens: self.tokens.map(share),
            ..self
        }
    }

    /// Subtracts spent cost (as far as it is known), tokens and time.
    #[must_use]
    pub fn subtract_spent(self, cost: Cost, usage: Usage, worked_ms: u64) -> Self {
        let less = |remaining: u64, spent: u64| remaining.saturating_sub(spent);
        Self {
            cost: self
                .cost
                .map(|remaining| MicroUsd(less(remaining.0, cost.at_least().0))),
            tokens: self.tokens.map(|remaining| less(remaining, usage.total())),
            duration_ms: self.duration_ms.map(|remaining| less(remaining, worked_ms)),
        }
    }
}

/// The rest of the run's budget; an attempt's session also has limits of its own.
pub(super) fn remaining_budget(run: &Run, for_attempt: bool) -> RemainingBudget {
    let budget = &run.spec.budget;
    let own = |cap: Option<u64>| cap.filter(|_| for_attempt);
    let least = |one: Option<u64>, two: Option<u64>| one.into_iter().chain(two).min();
    let of_run = |cap: Option<u64>, spent: u64| cap.map(|cap| cap.saturating_sub(spent));
    let cost = of_run(
        budget.cost_micro_usd.map(|cap| cap.0),
        run.cost().at_least().0,
    );
    let attempt_cost = own(budget.attempt_cost_micro_usd.map(|cap| cap.0));
    let tokens = of_run(budget.tokens, run.usage().total());
    RemainingBudget {
        cost: least(cost, attempt_cost).map(MicroUsd),
        tokens: least(tokens, own(budget.attempt_tokens)),
        duration_ms: of_run(budget.duration_ms, run.active_ms()),
    }
}

/// The limit that is exhausted, if any.
pub(crate) fn exhausted_cap(run: &Run) -> Option<String> {
    let budget = &run.spec.budget;
    let (cost, tokens, wall) = (run.cost().at_least(), run.usage().total(), run.active_ms());
    if let Some(cap) = budget.cost_micro_usd.filter(|cap| cost >= *cap) {
        return Some(format!(
            "{} spent, the cap is {}",
            dollars(cost),
            dollars(cap)
        ));
    }
    if let Some(cap) = budget.tokens.filter(|cap| tokens >= *cap) {
        return Some(format!("{tokens} tokens used, the cap is {cap}"));
    }
    let cap = budget.duration_ms.filter(|cap| wall >= *cap)?;
    Some(format!(
        "{} s worked, the cap is {} s",
        wall / 1000,
        cap / 1000
    ))
}

/// Why no further attempt fits the budget: a limit is exhausted, or the spent amount plus the most expensive attempt so
/// far would exceed it.
pub(crate) fn budget_exceeded_reason(run: &Run) -> Option<String> {
    let budget = &run.spec.budget;
    if let Some(cap) = budget.cost_micro_usd {
        let spent = run.cost().at_least();
        if spent + run.max_attempt_cost() > cap || spent >= cap {
            return Some(format!(
                "{} spent, the most expensive attempt cost {}, the cap is {}",
                dollars(spent),
                dollars(run.max_attempt_cost()),
                dollars(cap),
            ));
        }
    }
    if let Some(cap) = budget.tokens {
        let spent = run.usage().total();
        let largest = run
            .sessions()
            .map(|session| session.usage.total())
            .max()
            .unwrap_or(0);
        if spent.saturating_add(largest) > cap || spent >= cap {
            return Some(format!(
                "{spent} tokens used, the largest attempt used {largest}, the cap is {cap}"
            ));
        }
    }
    exhausted_cap(run)
}

fn dollars(amount: MicroUsd) -> String {
    format!("${:.4}", amount.as_usd())
}
