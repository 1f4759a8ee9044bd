//! One attempt of a program that prints records: a session, and further ones while the model's API
//! has transient failures.
//!
//! Only API failures are retried here. A program also retries by itself, and gives up early on some
//! failures; then a fresh session takes over. Both use one allowance, `api_retries`, so that their
//! retries do not multiply: retries that the program used for the failed request are no longer
//! available for a fresh session. A fresh session begins with the same prompt on the tree as the
//! failed one left it, even if that one had already changed files: it builds on that work, and
//! time, turns and cost continue to count.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use selvedge_core::model::{MicroUsd, ProcessCleanup, SessionOutcome, SessionStatus, ToolCall};
use tokio_util::sync::CancellationToken;

use super::{
    AgentCli, SessionAllowance, SessionParser, lock_parser, parse_output, session_outcome,
};
use crate::activity::{Activity, Progress};
use crate::agents::program::{self, LaunchSpec};
use crate::agents::retry::{self, Backoff, WaitOutcome};
use crate::agents::spend_limit::{self, SpendLimit};
use crate::agents::{SessionRequest, env};
use crate::process::{EndReason, StderrMode, StdinSource};

/// One attempt.
pub(super) struct AttemptRunner<'a, P> {
    pub(super) program: &'a P,
    pub(super) request: &'a SessionRequest,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a CancellationToken,
    pub(super) backoff: Backoff,
    pub(super) started: Instant,
}

/// One session of an attempt.
struct FinishedSession {
    outcome: SessionOutcome,
    /// If the API had a transient failure: the number of failed retries by the program itself.
    transient_api_failures: Option<u32>,
}

impl<P: AgentCli> AttemptRunner<'_, P> {
    pub(super) async fn run(self) -> SessionOutcome {
        let prompt = match program::write_prompt_file(self.request).await {
            Ok(path) => path,
            Err(outcome) => return outcome,
        };
        let granted = self.request.agent.api_retries;
        let Some((allowance, cap)) = self.allowance(None, granted) else {
            let error = "the run's budget is exhausted".to_owned();
            return SessionOutcome::failed(SessionStatus::Budget, error);
        };
        let mut tried = self.run_session(&prompt, allowance, cap, 0).await;
        let mut retries_left = granted;
        let mut total = tried.outcome;
        for retry in 1.. {
            // The fresh session itself counts as a retry.
            let used = tried
                .transient_api_failures
                .map(|in_vain| in_vain.saturating_add(1));
            let left = used.and_then(|used| retries_left.checked_sub(used));
            let allowance = left.and_then(|left| self.allowance(Some(&total), left));
            let Some((allowance, cap)) = allowance else {
                break;
            };
            retries_left = allowance.retries;
            let delay = self.backoff.delay(retry, None, retry::random_fraction());
            self.progress.on_activity(Activity::ApiRetry {
                attempt: granted - retries_left,
                max: granted,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                reason: total.error.clone().unwrap_or_default(),
            });
            match retry::wait(delay, self.remaining_time(), self.cancel).await {
                WaitOutcome::Elapsed => {}
                WaitOutcome::TooLong => break,
                WaitOutcome::Cancelled => {
                    total.status = SessionStatus::Cancelled;
                    total.error = Some("cancelled".to_owned());
                    break;
                }
            }
            tried = self.run_session(&prompt, allowance, cap, retry).await;
            tried.outcome.api_retries = tried.outcome.api_retries.saturating_add(1);
            total = combine_outcomes(total, tried.outcome);
        }
        total.duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        total
    }

    async fn run_session(
        &self,
        prompt: &Path,
        allowance: SessionAllowance,
        cap: SpendLimit,
        retry: u32,
    ) -> FinishedSession {
        let not_run = |outcome| FinishedSession {
            outcome,
            transient_api_failures: None,
        };
        for (path, text) in self.program.files(self.request, allowance) {
            if let Err(error) = tokio::fs::write(&path, text).await {
                return not_run(program::write_error_outcome(&path, &error));
            }
        }
        if let Err(error) = self.program.prepare(self.request, allowance) {
            return not_run(program::write_error_outcome(&self.request.run_dir, &error));
        }
        let mut environment = env::agent_env(&self.request.agent, &env::host_env());
        self.program
            .environment(self.request, allowance, &mut environment);
        let launch = LaunchSpec {
            argv: self.program.command_line(self.request, allowance),
            env: environment,
            stdin: StdinSource::File(prompt.to_owned()),
            streams: StderrMode::Separate,
            stop: P::STOP,
            wall: self.remaining_time(),
            writable_paths: self.program.written_paths(self.request),
            is_task_command: false,
            retry,
        };
        let reading = Arc::new(Mutex::new(P::Parser::default()));
        // Stopped by the user, or by a cap.
        let stop = self.cancel.child_token();
        let watch = {
            let (stop, request) = (stop.clone(), self.request.clone());
            move |reading: &P::Parser| {
                let (tokens, cost) = reading.usage_so_far(&request);
                if cap.exceeded_limit(tokens, cost).is_some() {
                    stop.cancel();
                }
            }
        };
        let reader = |activities| parse_output(Arc::clone(&reading), activities, watch);
        let ended = program::run_program(self.request, launch, reader, self.progress, &stop).await;
        self.program.remove_prepared(self.request);
        let reading = lock_parser(&reading);
        let (tokens, cost) = reading.usage_so_far(self.request);
        let by_cap = stop.is_cancelled() && !self.cancel.is_cancelled();
        let reached = cap.exceeded_limit(tokens, cost).filter(|_| by_cap);
        match ended {
            Err(outcome) => not_run(outcome),
            Ok(ended) => {
                let mut outcome = session_outcome(self.request, &*reading, &ended);
                let by_limit = matches!(ended.reason, EndReason::Exited(code) if Some(code) == P::TURN_LIMIT_EXIT);
                if by_limit && outcome.status == SessionStatus::Failed {
                    outcome.status = SessionStatus::TurnLimit;
                }
                outcome = spend_limit::mark_over_budget(outcome, reached);
                // A session that was stopped by the user or a time limit is not retried.
                let in_vain = match outcome.status {
                    SessionStatus::Failed => reading.transient_api_failures(),
                    _ => None,
                };
                FinishedSession {
                    outcome,
                    transient_api_failures: in_vain,
                }
            }
        }
    }

    /// The allowance of the next session; `None` if nothing is left.
    fn allowance(
        &self,
        spent: Option<&SessionOutcome>,
        retries: u32,
    ) -> Option<(SessionAllowance, SpendLimit)> {
        let turns_spent = spent.and_then(|spent| spent.turns).unwrap_or(0);
        let used = spent.map(|spent| (spent.usage.total(), spent.cost.at_least()));
        let (tokens_spent, cost_spent) = used.unwrap_or_default();
        let cap = SpendLimit::for_session(self.request).minus(tokens_spent, cost_spent);
        let turns = self
            .request
            .limits
            .max_turns
            .map(|limit| limit.saturating_sub(turns_spent));
        let is_left = turns != Some(0) && cap.exceeded_limit(0, MicroUsd(0)).is_none();
        let allowance = SessionAllowance {
            turns,
            cost: cap.remaining_cost(),
            retries,
        };
        is_left.then_some((allowance, cap))
    }

    fn remaining_time(&self) -> Duration {
        Duration::from_millis(self.request.limits.wall_ms).saturating_sub(self.started.elapsed())
    }
}

/// Combines two sessions of one attempt: the end of the later one, and the usage of both.
fn combine_outcomes(before: SessionOutcome, after: SessionOutcome) -> SessionOutcome {
    let turns = match (before.turns, after.turns) {
        (None, None) => None,
        (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
    };
    SessionOutcome {
        usage: before.usage + after.usage,
        cost: before.cost + after.cost,
        turns,
        tool_calls: before.tool_calls.saturating_add(after.tool_calls),
        tool_errors: before.tool_errors.saturating_add(after.tool_errors),
        calls: concatenate_calls(before.calls, after.calls),
        api_retries: before.api_retries.saturating_add(after.api_retries),
        unknown_records: before.unknown_records.saturating_add(after.unknown_records),
        processes: ProcessCleanup::merge_options(before.processes, after.processes),
        model: after.model.or(before.model),
        ..after
    }
}

/// The calls of two sessions, one after the other.
fn concatenate_calls(mut before: Vec<ToolCall>, after: Vec<ToolCall>) -> Vec<ToolCall> {
    for call in after {
        call.add(&mut before);
    }
    before
}
