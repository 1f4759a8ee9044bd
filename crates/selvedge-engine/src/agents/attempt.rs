//! One attempt of a program: a session, and further ones while the model's API has transient failures.
//!
//! Only API failures are retried here. A program also retries by itself, and gives up early on some
//! failures; then a fresh session takes over. Both use one allowance, `api_retries`, so that their
//! retries do not multiply: retries that the program used for the failed request are no longer
//! available for a fresh session. A fresh session begins with the same prompt on the tree as the
//! failed one left it, even if that one had already changed files: it builds on that work, and
//! time, turns and cost continue to count.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use selvedge_core::model::{MicroUsd, ProcessCleanup, SessionOutcome, SessionStatus, ToolCall};
use tokio_util::sync::CancellationToken;

use super::SessionRequest;
use super::program;
use super::retry::{self, Backoff, WaitOutcome};
use super::spend_limit::SpendLimit;
use crate::activity::{Activity, Progress};

/// The limits of one session; they differ between the sessions of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionAllowance {
    /// Remaining turns.
    pub(super) turns: Option<u32>,
    /// Remaining cost.
    pub(super) cost: Option<MicroUsd>,
    /// Maximum API retries by the program itself.
    pub(super) retries: u32,
}

/// One of the sessions of an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionTry {
    pub(super) allowance: SessionAllowance,
    /// Remaining cost and tokens.
    pub(super) cap: SpendLimit,
    /// Remaining time.
    pub(super) wall: Duration,
    /// Its number, from 0.
    pub(super) retry: u32,
}

/// Runs the sessions of an attempt.
pub(super) trait SessionRunner: Sync {
    /// Runs one session to its end.
    fn run_session(&self, session: SessionTry) -> BoxFuture<'_, FinishedSession>;
}

/// The end of one session of an attempt.
pub(super) struct FinishedSession {
    pub(super) outcome: SessionOutcome,
    /// If the API had a transient failure: the number of failed retries by the program itself.
    pub(super) transient_api_failures: Option<u32>,
}

impl FinishedSession {
    /// A session that is not followed by another one.
    pub(super) fn last(outcome: SessionOutcome) -> Self {
        Self {
            outcome,
            transient_api_failures: None,
        }
    }
}

/// One attempt.
pub(super) struct AttemptContext<'a> {
    pub(super) request: &'a SessionRequest,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a CancellationToken,
    pub(super) backoff: Backoff,
    pub(super) started: Instant,
}

impl AttemptContext<'_> {
    /// Runs sessions until one ends otherwise than by a transient failure of the API, or nothing is
    /// left for another one.
    pub(super) async fn run(&self, runner: &impl SessionRunner) -> SessionOutcome {
        if let Err(outcome) = program::write_prompt_file(self.request).await {
            return outcome;
        }
        let granted = self.request.agent.api_retries;
        let Some(first) = self.next_try(None, granted, 0) else {
            let error = "the run's budget is exhausted".to_owned();
            return SessionOutcome::failed(SessionStatus::Budget, error);
        };
        let mut tried = runner.run_session(first).await;
        let mut retries_left = granted;
        let mut total = tried.outcome;
        for retry in 1.. {
            // The fresh session itself counts as a retry.
            let used = tried
                .transient_api_failures
                .map(|in_vain| in_vain.saturating_add(1));
            let left = used.and_then(|used| retries_left.checked_sub(used));
            let next = left.and_then(|left| self.next_try(Some(&total), left, retry));
            let Some(next) = next else {
                break;
            };
            retries_left = next.allowance.retries;
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
            let wall = self.remaining_time();
            tried = runner.run_session(SessionTry { wall, ..next }).await;
            tried.outcome.api_retries = tried.outcome.api_retries.saturating_add(1);
            total = combine_outcomes(total, tried.outcome);
        }
        total.duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        total
    }

    /// The next session; `None` if nothing is left for it.
    fn next_try(
        &self,
        spent: Option<&SessionOutcome>,
        retries: u32,
        retry: u32,
    ) -> Option<SessionTry> {
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
        is_left.then_some(SessionTry {
            allowance,
            cap,
            wall: self.remaining_time(),
            retry,
        })
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
