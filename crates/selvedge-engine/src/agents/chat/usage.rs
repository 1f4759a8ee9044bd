//! Resources used by a session: turns, tokens, tool calls and cost.

use selvedge_core::model::{Cost, SessionOutcome, ToolCall, Usage};
use selvedge_core::price::PriceTable;

use super::model::{ChatModel, FailedTurn};

/// Usage of a session so far.
#[derive(Debug, Default)]
pub(super) struct UsageTally {
    usage: Usage,
    /// Whether there was usage that the API did not count.
    is_uncounted: bool,
    pub(super) turns: u32,
    pub(super) tool_calls: u32,
    tool_errors: u32,
    calls: Vec<ToolCall>,
    pub(super) api_retries: u32,
}

impl UsageTally {
    /// Adds the usage of one turn.
    pub(super) fn add_usage(&mut self, usage: Option<Usage>) {
        match usage {
            Some(usage) => self.usage = self.usage + usage,
            None => self.is_uncounted = true,
        }
    }

    /// Adds the usage of a turn without an answer: the tokens that the server reported until then. If
    /// it may charge for more, the cost is not completely known.
    pub(super) fn add_failed_turn(&mut self, turn: &FailedTurn) {
        self.usage = self.usage + turn.usage;
        self.is_uncounted |= turn.error.may_be_charged();
    }

    /// Adds a tool call.
    pub(super) fn add_tool_call(&mut self, call: ToolCall) {
        self.tool_calls += 1;
        self.tool_errors += u32::from(call.error.is_some());
        call.add(&mut self.calls);
    }

    /// Input and output tokens so far.
    pub(super) fn total_tokens(&self) -> u64 {
        self.usage.total()
    }

    /// Cost so far. If the API did not count all usage, or counted nothing at all, it is unknown and
    /// at least that of the counted tokens.
    pub(super) fn cost(&self, model: &dyn ChatModel) -> Cost {
        let counted = model.cost_of(&self.usage);
        let is_complete = !self.is_uncounted && self.usage.total() > 0;
        if is_complete || counted == Cost::ZERO {
            return counted;
        }
        Cost {
            micro_usd: counted.micro_usd.filter(|amount| amount.0 > 0),
            ..Cost::UNKNOWN
        }
    }

    /// Adds the usage to an outcome.
    pub(super) fn apply_to_outcome(
        &self,
        model: &dyn ChatModel,
        outcome: SessionOutcome,
    ) -> SessionOutcome {
        SessionOutcome {
            model: Some(model.name().to_owned()),
            usage: self.usage,
            cost: self.cost(model),
            equivalent_claude_cost: PriceTable::built_in().equivalent_claude_cost(&self.usage),
            turns: Some(self.turns),
            tool_calls: self.tool_calls,
            tool_errors: self.tool_errors,
            calls: self.calls.clone(),
            api_retries: self.api_retries,
            ..outcome
        }
    }
}
