//! Finds budget limits that cannot be enforced because the agent does not report the usage that they need. They are
//! reported before the run begins, or rejected if the settings require enforceable limits.

use selvedge_core::model::{AgentSpec, Budget, CostReporting};

use crate::error::CliError;

/// One message for each limit that may not be enforced.
pub(super) fn unenforceable_caps(budget: &Budget, agent: &AgentSpec) -> Vec<String> {
    let capabilities = agent.kind.capabilities();
    let name = &agent.name;
    let mut messages = Vec::new();
    if budget.cost_micro_usd.is_some() || budget.attempt_cost_micro_usd.is_some() {
        let priced = |model| agent.price_of(model).is_some();
        match capabilities.cost_reporting {
            CostReporting::Always => {}
            CostReporting::FromTokens if agent.model.as_deref().is_some_and(priced) => {}
            CostReporting::FromTokens => messages.push(format!(
                "agent `{name}` reports only tokens, and the price of its model is unknown: the cost \
                 limit cannot be enforced"
            )),
            CostReporting::Unreliable => messages.push(format!(
                "agent `{name}` may not report its cost: the cost limit may not be enforced"
            )),
        }
    }
    let caps_tokens = budget.tokens.is_some() || budget.attempt_tokens.is_some();
    if caps_tokens && !capabilities.reports_tokens {
        messages.push(format!(
            "agent `{name}` may not report its tokens: the token limit may not be enforced"
        ));
    }
    messages
}

/// The error for a run with unenforceable limits.
pub(super) fn unenforceable_caps_error(messages: &[String]) -> CliError {
    CliError::usage(messages.join("; "))
        .hint("choose an agent that reports its usage, or a model with a price (docs/reference/agents.md)")
        .hint("or leave out --require-cost-reporting (`budget.require_cost_reporting`)")
}
