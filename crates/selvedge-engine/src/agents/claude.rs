//! Claude Code: `claude -p` with stream-json, a new session for every attempt. The program retries
//! its API by itself, and gives up early on some failures (an overloaded API after two attempts).

mod arguments;
mod outcome;
mod record;
mod session_parser;

#[cfg(test)]
mod tests;

use std::time::Instant;

use selvedge_core::model::{MicroUsd, SessionOutcome};

pub(super) use session_parser::ClaudeSessionParser;

use super::SessionRequest;
use super::jsonl::{self, AgentCli, JsonlAgent, SessionAllowance};
use crate::activity::Activity;
use crate::environment::EnvironmentMap;
use crate::process::StopSignal;

/// Limits the program's own retries of one request.
const MAX_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";
/// Disables update checks and similar traffic during a run.
const QUIET_ENVIRONMENT: &str = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC";

/// Claude Code as an agent.
pub type ClaudeAgent = JsonlAgent<ClaudeCode>;

/// Claude Code's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeCode;

impl AgentCli for ClaudeCode {
    type Parser = ClaudeSessionParser;

    // It ends its tools and writes its last record; if its tools received SIGTERM too, it would
    // treat them as completed and report success.
    const STOP: StopSignal = StopSignal::Interrupt;

    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String> {
        arguments::command_line(request, allowance)
    }

    fn environment(
        &self,
        request: &SessionRequest,
        allowance: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) {
        environment
            .entry(QUIET_ENVIRONMENT.into())
            .or_insert_with(|| "1".into());
        if !request.agent.env.contains_key(MAX_RETRIES) {
            environment.insert(MAX_RETRIES.into(), allowance.retries.to_string().into());
        }
    }
}

impl jsonl::SessionParser for ClaudeSessionParser {
    fn parse_line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity)) {
        self.line(line, told);
    }

    fn count_unknown(&mut self) {
        self.unknown();
    }

    fn outcome(
        &self,
        _: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        outcome::session_outcome(self, by_exit, stopped_at)
    }

    fn usage_so_far(&self, _: &SessionRequest) -> (u64, MicroUsd) {
        outcome::usage_so_far(self)
    }

    fn transient_api_failures(&self) -> Option<u32> {
        outcome::is_transient_failure(self).then_some(self.retries_since_answer)
    }
}
