//! The only loop: input, decide, append, evolve, carry out.
//!
//! Nothing is carried out before the events that ask for it are durable, and a once-only effect is
//! journalled as started in the very transaction that asks for it, so a crash never leaves a doubt
//! about what was paid for.

use selvedge_core::machine::{
    Control, IllegalInput, Input, Pending, Phase, Run, State, decide, evolve,
};
use selvedge_core::model::{ENVELOPE_VERSION, Envelope, Event, Once, RunId, Timestamp};
use selvedge_core::redact::Unredactable;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::activity::{Progress, Redacted};
use crate::effects::Site;
use crate::sink::{Appended, EventSink, SinkError};

/// Why a run could not be driven to where it would have stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The input does not fit the run.
    #[error(transparent)]
    Illegal(#[from] IllegalInput),
    /// Nothing can be journalled; everything that ran has been ended.
    #[error("cannot write the journal: {0}")]
    Journal(#[from] SinkError),
    /// A secret cannot be taken out of what is to be journalled.
    #[error(transparent)]
    Unredactable(#[from] Unredactable),
    /// Somebody else has taken the run over; everything that ran has been ended.
    #[error("another program has taken this run over")]
    Fenced,
}

/// A wish to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// For now: the run can be resumed.
    Suspend(String),
    /// For good.
    Cancel(String),
}

/// Who watches a run: its activities, and its events once they are durable.
pub trait Observer: Progress {
    /// Takes an event, and the run as it is with it.
    fn event(&self, envelope: &Envelope, run: &Run);
}

/// What drives a run.
pub struct Driver<'a> {
    /// Where its events go.
    pub sink: &'a dyn EventSink,
    /// Where its effects take place.
    pub site: &'a Site,
    /// Who watches.
    pub observer: &'a dyn Observer,
    /// The time.
    pub now: fn() -> Timestamp,
    /// Wishes to stop.
    pub stop: watch::Receiver<Option<Stop>>,
}

impl Driver<'_> {
    /// Tells the machine something, then carries on until the run is finished, suspended, or waits
    /// for a person.
    ///
    /// # Errors
    ///
    /// See [`DriveError`]. What was appended before stays.
    pub async fn drive(
        &mut self,
        run_id: RunId,
        state: State,
        first: Input,
    ) -> Result<State, DriveError> {
        let mut state = self.step(run_id, state, first).await?;
        while let Some(run) = state.run.as_ref().filter(|run| goes_on(run)) {
            let input = match (run.control, self.wish(run), run.pending.first().cloned()) {
                // Nothing runs between two steps, so a stop that was asked for takes place.
                (Control::Suspending | Control::Cancelling, ..) => Some(Input::Settled),
                (_, Some(stop), _) => Some(stop),
                (_, None, Some(pending)) => {
                    let (after, input) = self.carry_out(run_id, state, &pending).await?;
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
            self.site.clear_away().await;
        }
        Ok(state)
    }

    /// Carries out one effect, and passes a wish to stop on to it when one comes meanwhile.
    async fn carry_out(
        &mut self,
        run_id: RunId,
        mut state: State,
        pending: &Pending,
    ) -> Result<(State, Option<Input>), DriveError> {
        let Some(run) = state.run.clone() else {
            return Ok((state, None));
        };
        let cancel = CancellationToken::new();
        // Whatever ends this function early ends the effect with it.
        let _end_with_us = cancel.clone().drop_guard();
        let (site, now) = (self.site, (self.now)());
        let observer = &Redacted::new(self.observer, site.agents.redactor());
        let effect = site.carry_out(&run, pending, now, observer, &cancel);
        tokio::pin!(effect);
        loop {
            tokio::select! {
                biased;
                input = &mut effect => return Ok((state, input)),
                changed = self.stop.changed() => {
                    if changed.is_err() {
                        // Nobody is left who could wish anything.
                        return Ok((state, effect.await));
                    }
                }
            }
            if let Some(input) = self.wish(state.run.as_ref().unwrap_or(&run)) {
                state = self.step(run_id, state, input).await?;
                cancel.cancel();
            }
        }
    }

    /// The input that the latest wish amounts to, unless the run knows of it already.
    fn wish(&self, run: &Run) -> Option<Input> {
        match (self.stop.borrow().clone()?, run.control) {
            (Stop::Suspend(reason), Control::Running) => Some(Input::Suspend { reason }),
            (Stop::Cancel(reason), Control::Running | Control::Suspending) => {
                Some(Input::Cancel { reason })
            }
            _ => None,
        }
    }

    /// Decides, appends, evolves.
    async fn step(&self, run_id: RunId, state: State, input: Input) -> Result<State, DriveError> {
        let at = (self.now)();
        let expected_seq = state.seq;
        let mut next = state.clone();
        let mut appended = Vec::new();
        let mut fold = |next: &mut State, events: Vec<Event>| {
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
        if let Some(effect) = self.to_be_started(&next) {
            let events = self.redacted(decide(&next, Input::Start { effect: effect.id })?)?;
            fold(&mut next, events);
        }
        match self.sink.append(expected_seq, appended.clone()).await? {
            Appended::Fenced => Err(DriveError::Fenced),
            Appended::Committed => {
                if let Some(run) = &next.run {
                    for envelope in &appended {
                        self.observer.event(envelope, run);
                    }
                }
                Ok(next)
            }
        }
    }

    /// What is journalled, and with it all that is folded from the journal: later prompts, reports, what
    /// is sent.
    fn redacted(&self, events: Vec<Event>) -> Result<Vec<Event>, Unredactable> {
        let redactor = self.site.agents.redactor();
        events
            .into_iter()
            .map(|event| redactor.event(event))
            .collect()
    }

    /// The effect that costs money and will be carried out next, if it is not journalled as started yet.
    fn to_be_started(&self, state: &State) -> Option<Pending> {
        let run = state.run.as_ref().filter(|run| goes_on(run))?;
        let free = run.control == Control::Running && self.wish(run).is_none();
        let next = run.pending.first().filter(|_| free)?;
        (next.kind.once() != Once::Repeat && !next.started).then(|| next.clone())
    }
}

fn goes_on(run: &Run) -> bool {
    run.control != Control::Suspended
        && !matches!(run.phase(), Phase::Finished | Phase::AwaitingReview)
}
