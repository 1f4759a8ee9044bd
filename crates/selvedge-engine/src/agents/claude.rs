//! Claude Code: `claude -p` with stream-json, a new session for every attempt. The program asks its
//! API again itself, and gives up early on some kinds of trouble (an overloaded API after two tries).

mod arguments;
mod reading;
mod record;
mod verdict;

#[cfg(test)]
mod tests;

use std::time::Instant;

use selvedge_core::model::{MicroUsd, SessionOutcome};

pub(super) use reading::Reading;

use super::SessionRequest;
use super::env::Environment;
use super::records::{self, Allowance, Program, Recorded};
use crate::activity::Activity;
use crate::process::StopSignal;

/// Bounds the program's own retries of one request.
const MAX_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";
/// Keeps the program from looking for updates and the like in the middle of a run.
const QUIET: &str = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC";

/// Claude Code as an agent.
pub type Claude = Recorded<ClaudeCode>;

/// Claude Code's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeCode;

impl Program for ClaudeCode {
    type Reading = Reading;

    // It ends its tools and accounts for itself; a SIGTERM to its tools as well would look to it like
    // tools that came back, and it would say that all went well.
    const STOP: StopSignal = StopSignal::Interrupt;

    fn command_line(&self, request: &SessionRequest, allowance: Allowance) -> Vec<String> {
        arguments::command_line(request, allowance)
    }

    fn environment(
        &self,
        request: &SessionRequest,
        allowance: Allowance,
        environment: &mut Environment,
    ) {
        environment
            .entry(QUIET.into())
            .or_insert_with(|| "1".into());
        if !request.agent.env.contains_key(MAX_RETRIES) {
            environment.insert(MAX_RETRIES.into(), allowance.retries.to_string().into());
        }
    }
}

impl records::Reading for Reading {
    fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity)) {
        self.line(line, told);
    }

    fn unknown(&mut self) {
        self.unknown();
    }

    fn outcome(
        &self,
        _: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        verdict::outcome(self, by_exit, stopped_at)
    }

    fn spent(&self, _: &SessionRequest) -> (u64, MicroUsd) {
        verdict::spent(self)
    }

    fn asked_in_vain(&self) -> Option<u32> {
        verdict::is_passing(self).then_some(self.fruitless_retries)
    }
}
