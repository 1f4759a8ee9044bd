//! Caps on cost, tokens and time, held against what was spent and what an attempt may cost.

use super::state::Run;
use crate::model::MicroUsd;

/// Why no further attempt fits the budget, if none does: what was spent plus the dearest attempt
/// so far would exceed a cap.
pub(super) fn exceeded(run: &Run) -> Option<String> {
    let budget = &run.spec.budget;
    if let Some(cap) = budget.cost_micro_usd {
        let spent = run.cost().at_least();
        if spent + run.dearest() > cap || spent >= cap {
            return Some(format!(
                "{} spent, the dearest attempt cost {}, the cap is {}",
                dollars(spent),
                dollars(run.dearest()),
                dollars(cap),
            ));
        }
    }
    if let Some(cap) = budget.tokens {
        let spent = run.usage().total();
        let dearest = run
            .sessions()
            .map(|session| session.usage.total())
            .max()
            .unwrap_or(0);
        if spent.saturating_add(dearest) > cap || spent >= cap {
            return Some(format!(
                "{spent} tokens used, the dearest attempt took {dearest}, the cap is {cap}"
            ));
        }
    }
    let cap = budget.wall_ms?;
    let spent = run.worked_ms();
    (spent >= cap).then(|| format!("{} s worked, the cap is {} s", spent / 1000, cap / 1000))
}

fn dollars(amount: MicroUsd) -> String {
    format!("${:.4}", amount.as_usd())
}
