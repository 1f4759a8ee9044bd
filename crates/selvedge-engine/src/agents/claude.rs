//! Claude Code: `claude -p` with stream-json, a new session for every attempt. The program retries
//! its API by itself, and gives up early on some failures (an overloaded API after two attempts).

mod arguments;
mod event_parser;
mod record;

#[cfg(test)]
mod tests;

pub(super) use event_parser::ClaudeEventParser;

use super::SessionRequest;
use super::jsonl::{AgentCli, JsonlAgent, ParsedSession, SessionAllowance};
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
    type Parser = ParsedSession<ClaudeEventParser>;

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
