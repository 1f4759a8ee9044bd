//! The cost of a run, by model call.

use selvedge_core::describe::cost;
use selvedge_core::run::Run;

use super::frame::short_count;
use crate::text::single_line;

/// One model call.
pub(super) struct ModelCallCost {
    pub(super) what: String,
    pub(super) model: String,
    pub(super) tokens_in: String,
    pub(super) cached: String,
    pub(super) tokens_out: String,
    pub(super) cost: String,
}

/// All model calls of a run, in order.
pub(super) fn model_call_costs(run: &Run) -> Vec<ModelCallCost> {
    let mut calls = Vec::new();
    for attempt in &run.attempts {
        let number = attempt.attempt_number;
        let agent = &run.spec.agent_of(attempt.retry).name;
        if let Some(session) = &attempt.session {
            calls.push(ModelCallCost {
                what: format!("attempt {number}, {}", single_line(agent, 30)),
                model: single_line(session.model.as_deref().unwrap_or("not reported"), 40),
                tokens_in: short_count(session.usage.tokens_in()),
                cached: short_count(session.usage.cache_read),
                tokens_out: short_count(session.usage.tokens_out()),
                cost: cost(session.cost),
            });
        }
        for (gate, judgement) in attempt
            .gates()
            .iter()
            .flat_map(|gate| gate.judgements.iter().map(move |it| (gate, it)))
        {
            calls.push(ModelCallCost {
                what: format!(
                    "attempt {number}, tier {}, {}",
                    gate.tier,
                    single_line(&judgement.judge, 30)
                ),
                model: single_line(judgement.model.as_deref().unwrap_or("not reported"), 40),
                tokens_in: short_count(judgement.usage.tokens_in()),
                cached: short_count(judgement.usage.cache_read),
                tokens_out: short_count(judgement.usage.tokens_out()),
                cost: cost(judgement.cost),
            });
        }
    }
    calls
}
