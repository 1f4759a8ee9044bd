//! The driver loop: takes an input, decides, appends events, evolves the state and runs effects.
//!
//! Effects run only after the events that request them are durable. The start of an at-most-once effect is recorded in
//! the transaction that requests it, so after a crash it is known whether it was started.

use selvedge_core::machine::{IllegalInputError, Input, JournalState, decide, evolve};
use selvedge_core::model::{
    ENVELOPE_VERSION, EffectKind, Envelope, Event, RetryPolicy, RunId, Timestamp,
};
use selvedge_core::redact::{RedactError, Redactor};
use selvedge_core::run::{PendingEffect, Phase, Run, RunControl};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::activity::{Progress, RedactingProgress};
use crate::effects::{DiskFullError, RunContext};
use crate::sink::{AppendResult, EventSink, SinkError};

/// Reasons why a run could not be driven to its regular end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The input is not allowed in the current state of the run.
    #[error(transparent)]
    IllegalInput(#[from] IllegalInputError),
    /// The journal cannot be written; all processes of the run have been ended.
    #[error("cannot write the journal: {0}")]
    Journal(#[from] SinkError),
    /// Secrets cannot be removed from events.
    #[error(transparent)]
    Redact(#[from] RedactError),
    /// An effect could not be carried out on a full disk; it remains pending.
    #[error(transparent)]
    DiskFull(#[from] DiskFullError),
    /// Another process has taken the run over; all processes of the run have been ended.
    #[error("another process has taken over this run")]
    Fenced,
}

/// A request to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopRequest {
    /// Temporarily: the run can be resumed.
    Suspend(String),
    /// Permanently.
    Cancel(String),
}

/// Observer of a run: receives its activities, and its events once they are durable.
pub trait Observer: Progress {
    /// Receives an event and the state of the run after it.
    fn on_event(&self, envelope: &Envelope, run: &Run);
}

/// Appends the events of inputs to a run's journal, without running effects.
pub struct RunJournal<'a> {
    /// Receives the run's events.
    pub sink: &'a dyn EventSink,
    /// Removes secrets from events, and so from everything that is derived from the journal: later prompts, reports
    /// and what is sent to a hub.
    pub redactor: &'a Redactor,
    /// Clock.
    pub now: fn() -> Timestamp,
}

impl RunJournal<'_> {
    /// Decides, evolves and appends; returns the new state and the appended events. If the next effect costs money and
    /// `may_start` accepts it, its start is appended with them.
    ///
    /// # Errors
    ///
    /// See [`DriveError`]. Nothing is appended then.
    pub async fn step(
        &self,
        run_id: RunId,
        state: JournalState,
        input: Input,
        may_start: impl Fn(&Run) -> bool,
    ) -> Result<(JournalState, Vec<Envelope>), DriveError> {
        let at = (self.now)();
        let expected_seq = state.seq;
        let mut next = state.clone();
        let mut appended = Vec::new();
        let mut fold = |next: &mut JournalState, events: Vec<Event>| {
            for event in events {
                let seq = next.seq + 1;
                let envelope = Envelope {
                    v: ENVELOPE_VERSION,
                    run_id,
                    seq,
                    at,
                    event,
                };
                *next = evolve(std::mem::take(next), &envelope);
                appended.push(envelope);
            }
        };
        let events = self.redacted(decide(&state, input)?)?;
        fold(&mut next, events);
        if let Some(effect) = next_paid_effect(&next, may_start) {
            let events = self.redacted(decide(&next, Input::Start { effect: effect.id })?)?;
            fold(&mut next, events);
        }
        match self.sink.append(expected_seq, appended.clone()).await? {
            AppendResult::Fenced => Err(DriveError::Fenced),
            AppendResult::Committed => Ok((next, appended)),
        }
    }

    fn redacted(&self, events: Vec<Event>) -> Result<Vec<Event>, RedactError> {
        events
            .into_iter()
            .map(|event| self.redactor.redact_event(event))
            .collect()
    }
}

/// Drives one run.
pub struct Driver<'a> {
    /// Receives the run's events.
    pub sink: &'a dyn EventSink,
    /// Where the run's effects take place.
    pub context: &'a RunContext,
    /// Observes the run.
    pub observer: &'a dyn Observer,
    /// Clock.
    pub now: fn() -> Timestamp,
    /// Whether a run that would have to wait is suspended instead, so that the caller can do something else meanwhile.
    pub suspends_waits: bool,
    /// Requests to stop.
    pub stop: watch::Receiver<Option<StopRequest>>,
}

impl Driver<'_> {
    /// Gives an input to the state machine, then continues until the run is finished, suspended or waits for a person.
    ///
    /// # Errors
    ///
    /// See [`DriveError`]. Events that were appended before the error are kept.
    pub async fn drive(
        &mut self,
        run_id: RunId,
        state: JournalState,
        first: Input,
    ) -> Result<JournalState, DriveError> {
        let mut state = self.step(run_id, state, first).await?;
        while let Some(run) = state.run.as_ref().filter(|run| is_in_progress(run)) {
            let input = match (
                run.control,
                self.requested_stop(run),
                run.pending.first().cloned(),
            ) {
                // No effect is running, so a requested stop takes place now.
                (RunControl::Suspending | RunControl::Cancelling, ..) => Some(Input::Settled),
                (_, Some(stop), _) => Some(stop),
                (_, None, Some(pending)) if self.suspends_waits && is_wait(&pending) => {
                    Some(Input::Suspend {
                        reason: "the agent's usage limit is reached".to_owned(),
                    })
                }
                (_, None, Some(pending)) => {
                    let (after, input) = self.run_effect(run_id, state, &pending).await?;
                    state = after;
                    input
                }
                (_, None, None) => break,
            };
            if let Some(input) = input {
                state = self.step(run_id, state, input).await?;
            }
        }
        let is_over = |run: &Run| run.phase() == Phase::Finished;
        if state.run.as_ref().is_some_and(is_over) {
            self.context.remove_temporary_files().await;
        }
        Ok(state)
    }

    /// Runs one effect, and forwards a request to stop that arrives meanwhile.
    async fn run_effect(
        &mut self,
        run_id: RunId,
        mut state: JournalState,
        pending: &PendingEffect,
    ) -> Result<(JournalState, Option<Input>), DriveError> {
        let Some(run) = state.run.clone() else {
            return Ok((state, None));
        };
        let cancel = CancellationToken::new();
        // If this function ends early, the effect is cancelled.
        let _end_with_us = cancel.clone().drop_guard();
        let (context, now) = (self.context, (self.now)());
        let observer = &RedactingProgress::new(self.observer, context.agents.redactor());
        let effect = context.run_effect(&run, pending, now, observer, &cancel);
        tokio::pin!(effect);
        loop {
            tokio::select! {
                biased;
                input = &mut effect => return Ok((state, input?)),
                changed = self.stop.changed() => {
                    if changed.is_err() {
                        // All senders are gone: no request can arrive any longer.
                        return Ok((state, effect.await?));
                    }
                }
            }
            if let Some(input) = self.requested_stop(state.run.as_ref().unwrap_or(&run)) {
                state = self.step(run_id, state, input).await?;
                cancel.cancel();
            }
        }
    }

    /// Input for the latest request to stop; `None` if the run has already processed it.
    fn requested_stop(&self, run: &Run) -> Option<Input> {
        match (self.stop.borrow().clone()?, run.control) {
            (StopRequest::Suspend(reason), RunControl::Running) => Some(Input::Suspend { reason }),
            (StopRequest::Cancel(reason), RunControl::Running | RunControl::Suspending) => {
                Some(Input::Cancel { reason })
            }
            _ => None,
        }
    }

    /// Takes one step, and reports its events.
    async fn step(
        &self,
        run_id: RunId,
        state: JournalState,
        input: Input,
    ) -> Result<JournalState, DriveError> {
        let journal = RunJournal {
            sink: self.sink,
            redactor: self.context.agents.redactor(),
            now: self.now,
        };
        let may_start = |run: &Run| self.requested_stop(run).is_none();
        let (next, appended) = journal.step(run_id, state, input, may_start).await?;
        if let Some(run) = &next.run {
            for envelope in &appended {
                self.observer.on_event(envelope, run);
            }
        }
        Ok(next)
    }
}

/// The next paid effect, unless it is already journalled as started.
fn next_paid_effect(
    state: &JournalState,
    may_start: impl Fn(&Run) -> bool,
) -> Option<PendingEffect> {
    let run = state.run.as_ref().filter(|run| is_in_progress(run))?;
    let free = run.control == RunControl::Running && may_start(run);
    let next = run.pending.first().filter(|_| free)?;
    (next.kind.retry_policy() != RetryPolicy::Idempotent && !next.started).then(|| next.clone())
}

fn is_wait(pending: &PendingEffect) -> bool {
    matches!(pending.kind, EffectKind::Wait { .. })
}

fn is_in_progress(run: &Run) -> bool {
    run.control != RunControl::Suspended
        && !matches!(run.phase(), Phase::Finished | Phase::AwaitingReview)
}
