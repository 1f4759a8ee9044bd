//! Which caps an agent gives no hold to, because it does not tell what they need: said before the run
//! begins, or refused where the person wants only caps that hold.

use selvedge_core::model::{AgentSpec, Budget, CostReporting};

use crate::error::CliError;

/// One line for each cap that may not hold.
pub(super) fn unenforceable_caps(budget: &Budget, agent: &AgentSpec) -> Vec<String> {
    let known = agent.kind.capabilities();
    let name = &agent.name;
    let mut unheld = Vec::new();
    if budget.cost_micro_usd.is_some() || budget.attempt_cost_micro_usd.is_some() {
        let priced = |model| agent.price_of(model).is_some();
        match known.cost_reporting {
            CostReporting::Always => {}
            CostReporting::FromTokens if agent.model.as_deref().is_some_and(priced) => {}
            CostReporting::FromTokens => unheld.push(format!(
                "agent `{name}` tells its tokens only, and no price is known for its model: the cap \
                 on cost cannot hold"
            )),
            CostReporting::Unreliable => unheld.push(format!(
                "agent `{name}` may not tell what it costs: then the cap on cost cannot hold"
            )),
        }
    }
    let caps_tokens = budget.tokens.is_some() || budget.attempt_tokens.is_some();
    if caps_tokens && !known.reports_tokens {
        unheld.push(format!(
            "agent `{name}` may not tell its tokens: then the cap on tokens cannot hold"
        ));
    }
    unheld
}

/// The refusal of a run whose caps would not hold.
pub(super) fn unenforceable_caps_error(unheld: &[String]) -> CliError {
    CliError::usage(unheld.join("; "))
        .hint("choose an agent, or a model with a price, whose use is told (docs/agents.md)")
        .hint("or leave out --strict-budget (budget.strict): the caps then hold as far as they can")
}
