//! Claude Code: `claude -p` with stream-json, a new session for every attempt.
//!
//! Only trouble with the API is tried again here. The program itself asks again too, and gives up
//! early on some kinds (an overloaded API after two tries); then a fresh session takes over. Both
//! draw on one allowance, `api_retries`, so that they do not multiply: what the program used up on
//! the request that failed is not there for a fresh session any more. A fresh session begins with
//! the same prompt on the tree as the failed one left it, also when that one had already worked:
//! work builds on work, and clock, turns and money go on counting.

mod arguments;
mod reading;
mod record;
mod verdict;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{MicroUsd, Processes, SessionOutcome, SessionStatus, ToolCall};
use tokio_util::sync::CancellationToken;

pub(super) use reading::Reading;

use self::arguments::{Allowance, command_line};
use super::claim::heed_refusal;
use super::env::{self, Environment};
use super::program::{self, Launch, Told};
use super::retry::{self, Backoff, Wait};
use super::{Agent, SessionRequest};
use crate::activity::{Activity, Progress};
use crate::process::capture::{Consumer, Line, Lines};
use crate::process::{Ended, Stdin, StopSignal, Streams};

/// Bytes of one record that are read; the longest hold images.
const LINE_LIMIT: usize = 4 << 20;

/// Bounds the program's own retries of one request.
const MAX_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";
/// Keeps the program from looking for updates and the like in the middle of a run.
const QUIET: &str = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC";

/// Claude Code as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Claude {
    backoff: Backoff,
}

impl Claude {
    /// With these waits between tries.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self { backoff }
    }
}

impl Agent for Claude {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        Attempt {
            request,
            progress,
            cancel,
            backoff: self.backoff,
            started: Instant::now(),
        }
        .run()
        .map(heed_refusal)
        .boxed()
    }
}

/// One attempt: a session, and further ones while the API is in trouble that may pass.
struct Attempt<'a> {
    request: &'a SessionRequest,
    progress: &'a dyn Progress,
    cancel: &'a CancellationToken,
    backoff: Backoff,
    started: Instant,
}

/// One session of an attempt.
struct Tried {
    outcome: SessionOutcome,
    /// When the API was in trouble that may pass: how often the program itself asked in vain.
    in_vain: Option<u32>,
}

impl Attempt<'_> {
    async fn run(self) -> SessionOutcome {
        let prompt = match program::prompt_file(self.request).await {
            Ok(path) => path,
            Err(outcome) => return outcome,
        };
        let Some(allowance) = self.allowance(None) else {
            let error = "nothing is left of the run's budget".to_owned();
            return SessionOutcome::failed(SessionStatus::Budget, error);
        };
        let granted = self.request.agent.api_retries;
        let mut retries_left = granted;
        let mut tried = self.session(&prompt, allowance, retries_left, 0).await;
        let mut total = tried.outcome;
        for retry in 1.. {
            // The fresh session is a retry itself.
            let used = tried.in_vain.map(|in_vain| in_vain.saturating_add(1));
            let left = used.and_then(|used| retries_left.checked_sub(used));
            let (Some(left), Some(allowance)) = (left, self.allowance(Some(&total))) else {
                break;
            };
            retries_left = left;
            let delay = self.backoff.delay(retry, None, retry::random());
            self.progress.activity(Activity::ApiRetry {
                attempt: granted - left,
                max: granted,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                reason: total.error.clone().unwrap_or_default(),
            });
            match retry::wait(delay, self.wall_left(), self.cancel).await {
                Wait::Over => {}
                Wait::TooLong => break,
                Wait::Cancelled => {
                    total.status = SessionStatus::Cancelled;
                    total.error = Some("cancelled".to_owned());
                    break;
                }
            }
            tried = self.session(&prompt, allowance, retries_left, retry).await;
            tried.outcome.api_retries = tried.outcome.api_retries.saturating_add(1);
            total = sum(total, tried.outcome);
        }
        total.duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        total
    }

    async fn session(
        &self,
        prompt: &Path,
        allowance: Allowance,
        retries: u32,
        retry: u32,
    ) -> Tried {
        let launch = Launch {
            argv: command_line(self.request, allowance),
            env: self.environment(retries),
            stdin: Stdin::File(prompt.to_owned()),
            streams: Streams::Separate,
            // It ends its tools and accounts for itself; a SIGTERM to its tools as well would look
            // to it like tools that came back, and it would say that all went well.
            stop: StopSignal::Interrupt,
            wall: self.wall_left(),
            retry,
        };
        let reading = Arc::new(Mutex::new(Reading::default()));
        let reader = |told| read_along(Arc::clone(&reading), told);
        let ended = program::run(self.request, launch, reader, self.progress, self.cancel).await;
        let reading = locked(&reading);
        match ended {
            Err(outcome) => Tried {
                outcome,
                in_vain: None,
            },
            Ok(ended) => {
                let outcome = conclude(self.request, &reading, &ended);
                // One that was stopped, by a person or a clock, is not taken up again.
                let may_pass =
                    outcome.status == SessionStatus::Failed && verdict::is_passing(&reading);
                Tried {
                    outcome,
                    in_vain: may_pass.then_some(reading.fruitless_retries),
                }
            }
        }
    }

    /// What the next session may use; nothing when there is nothing left.
    fn allowance(&self, spent: Option<&SessionOutcome>) -> Option<Allowance> {
        let turns_spent = spent.and_then(|spent| spent.turns).unwrap_or(0);
        let cost_spent = spent.map(|spent| spent.cost.at_least()).unwrap_or_default();
        let turns = self
            .request
            .limits
            .max_turns
            .map(|limit| limit.saturating_sub(turns_spent));
        let cost = self
            .request
            .cost_left
            .map(|left| MicroUsd(left.0.saturating_sub(cost_spent.0)));
        let is_left = turns != Some(0) && cost != Some(MicroUsd(0));
        is_left.then_some(Allowance { turns, cost })
    }

    fn wall_left(&self) -> Duration {
        Duration::from_millis(self.request.limits.wall_ms).saturating_sub(self.started.elapsed())
    }

    fn environment(&self, retries: u32) -> Environment {
        let agent = &self.request.agent;
        let mut environment = env::for_agent(agent, &env::ours());
        environment
            .entry(QUIET.into())
            .or_insert_with(|| "1".into());
        if !agent.env.contains_key(MAX_RETRIES) {
            environment.insert(MAX_RETRIES.into(), retries.to_string().into());
        }
        environment
    }
}

/// A consumer that folds the program's records into `reading` and tells what happens in them.
pub(super) fn read_along(reading: Arc<Mutex<Reading>>, told: Told) -> impl Consumer + 'static {
    Lines::new(LINE_LIMIT, move |line: Line<'_>| {
        let mut reading = locked(&reading);
        if line.left_out > 0 {
            reading.unknown();
        } else {
            // Activity is lossy: what does not fit is dropped.
            reading.line(line.bytes, &mut |activity| drop(told.try_send(activity)));
        }
    })
}

/// What a session came to, by its records and by how the program ended.
pub(super) fn conclude(
    request: &SessionRequest,
    reading: &Reading,
    ended: &Ended,
) -> SessionOutcome {
    let by_exit = program::by_exit(request, ended);
    let outcome = verdict::outcome(reading, by_exit, ended.stopped_at);
    program::with_facts(outcome, ended)
}

pub(super) fn locked(reading: &Mutex<Reading>) -> MutexGuard<'_, Reading> {
    // A reader that panicked leaves a reading that is short, not wrong.
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two sessions of one attempt as one: how the later ended, and what both used.
fn sum(before: SessionOutcome, after: SessionOutcome) -> SessionOutcome {
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
        calls: both(before.calls, after.calls),
        api_retries: before.api_retries.saturating_add(after.api_retries),
        unknown_records: before.unknown_records.saturating_add(after.unknown_records),
        processes: Processes::both(before.processes, after.processes),
        model: after.model.or(before.model),
        ..after
    }
}

/// The calls of two sessions, one after the other.
fn both(mut before: Vec<ToolCall>, after: Vec<ToolCall>) -> Vec<ToolCall> {
    for call in after {
        call.add(&mut before);
    }
    before
}
