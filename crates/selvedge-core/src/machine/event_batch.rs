//! A decision in progress: events, and the run after appending them.
//!
//! Policy is written against the run *after* the input, so every rule reads one state.

use super::evolve::fold;
use crate::model::{ENVELOPE_VERSION, EffectKind, Envelope, Event};
use crate::run::Run;

pub(super) struct EventBatch {
    run: Run,
    seq: u64,
    events: Vec<Event>,
}

impl EventBatch {
    /// Begins a decision about a run whose last event has this sequence number.
    pub(super) fn new(run: &Run, seq: u64) -> Self {
        Self {
            run: run.clone(),
            seq,
            events: Vec::new(),
        }
    }

    /// The run after the events.
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Adds an event and folds it in.
    pub(super) fn push(&mut self, event: Event) {
        self.seq += 1;
        let envelope = Envelope {
            v: ENVELOPE_VERSION,
            run_id: self.run.run_id,
            seq: self.seq,
            at: self.run.updated_at,
            event,
        };
        fold(&mut self.run, &envelope);
        self.events.push(envelope.event);
    }

    /// Requests an effect.
    pub(super) fn request(&mut self, effect: EffectKind) {
        self.push(Event::EffectRequested { effect });
    }

    /// The events to append.
    pub(super) fn into_events(self) -> Vec<Event> {
        self.events
    }
}
