//! Converts events to entries. What the hub stores in separate tables has its own kind of entry. Pure.
//!
//! Invariant: all events that follow an `attempt_began` in its append are in the same entry. If the hub knew an attempt
//! but not its start, the attempt would be started twice after a takeover.

use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{AttemptEnd, EffectKind, Envelope, Event};
use selvedge_core::run::Attempt;
use selvedge_protocol::{AttemptClosing, AttemptReport, AttemptStart, CostEntry, EntryKind};

/// An entry without its header.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EntryDraft {
    pub(super) kind: EntryKind,
    pub(super) events: Vec<Envelope>,
    pub(super) costs: Vec<CostEntry>,
    /// The attempt whose tree is final and will be judged: the hub has to store the tree.
    pub(super) sealed_attempt: Option<u32>,
}

/// The run's current state, and the attempt whose report is not submitted yet.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryBuilder {
    pub(super) state: JournalState,
    pub(super) unsubmitted_attempt: Option<u32>,
}

impl EntryBuilder {
    /// Creates a builder for a run with a journal.
    pub(super) fn from_state(state: JournalState) -> Self {
        // A report is submitted after all judges have answered.
        let judging = state.run.as_ref().filter(|run| {
            let judge = |it: &EffectKind| matches!(it, EffectKind::Judge { .. });
            run.pending.iter().any(|pending| judge(&pending.kind))
        });
        let unsubmitted = judging
            .and_then(|run| run.attempts.last())
            .map(|it| it.attempt_number);
        Self {
            state,
            unsubmitted_attempt: unsubmitted,
        }
    }

    /// The number of the open attempt; 0 if there is none.
    pub(super) fn open_attempt(&self) -> u32 {
        let run = self.state.run.as_ref();
        run.and_then(|run| run.open_attempt())
            .map_or(0, |attempt| attempt.attempt_number)
    }

    /// Applies an append, and returns its entries.
    pub(super) fn build_entries(&mut self, events: Vec<Envelope>) -> Vec<EntryDraft> {
        let mut drafts = Vec::new();
        let mut open = EntryDraft::progress();
        for envelope in events {
            if self.finalizes_report(&envelope.event)
                && let Some(report) = self.take_report()
            {
                open.kind = report;
                drafts.push(std::mem::replace(&mut open, EntryDraft::progress()));
            }
            if let Event::AttemptBegan {
                attempt_number,
                from_tree,
                ..
            } = &envelope.event
            {
                let began = EntryDraft {
                    kind: EntryKind::BeginAttempt(AttemptStart {
                        attempt_number: *attempt_number,
                        from_tree: from_tree.clone(),
                    }),
                    ..EntryDraft::progress()
                };
                drafts.push(std::mem::replace(&mut open, began));
            }
            self.state = evolve(std::mem::take(&mut self.state), &envelope);
            open.costs.extend(self.cost_entry(&envelope));
            let closed = self.close_attempt(&envelope.event, &mut open);
            open.events.push(envelope);
            if closed {
                drafts.push(std::mem::replace(&mut open, EntryDraft::progress()));
            }
        }
        drafts.push(open);
        drafts.retain(|it| !it.events.is_empty() || it.kind != EntryKind::Progress);
        drafts
    }

    /// Whether the last report is complete after this event.
    fn finalizes_report(&self, event: &Event) -> bool {
        self.unsubmitted_attempt.is_some()
            && matches!(
                event,
                Event::AttemptBegan { .. }
                    | Event::OutcomeDecided { .. }
                    | Event::ReviewRequested { .. }
                    | Event::EffectRequested {
                        effect: EffectKind::Restore { .. }
                    }
            )
    }

    fn take_report(&mut self) -> Option<EntryKind> {
        let attempt_number = self.unsubmitted_attempt.take()?;
        let report = self.attempt(attempt_number)?.report.as_ref()?;
        let report = AttemptReport::new(attempt_number, report);
        Some(EntryKind::SubmitReport(report))
    }

    /// Whether the event closes an attempt without a report, which is a separate entry.
    fn close_attempt(&mut self, event: &Event, draft: &mut EntryDraft) -> bool {
        let Event::AttemptClosed {
            attempt_number,
            closing,
        } = event
        else {
            return false;
        };
        if *closing == AttemptEnd::Report {
            self.unsubmitted_attempt = Some(*attempt_number);
            draft.sealed_attempt = Some(*attempt_number);
            return false;
        }
        draft.kind = EntryKind::CloseAttempt(AttemptClosing {
            attempt_number: *attempt_number,
            closing: *closing,
        });
        true
    }

    fn attempt(&self, attempt_number: u32) -> Option<&Attempt> {
        self.state.run.as_ref()?.attempt(attempt_number)
    }

    fn cost_entry(&self, envelope: &Envelope) -> Option<CostEntry> {
        match &envelope.event {
            Event::SessionEnded {
                attempt_number,
                outcome,
                ..
            } => Some(CostEntry {
                attempt_number: *attempt_number,
                call_id: "session".to_owned(),
                cost: outcome.cost,
                usage: outcome.usage,
                model: outcome.model.clone(),
            }),
            Event::GateJudged {
                attempt_number,
                gate,
                ..
            } => Some(CostEntry {
                attempt_number: *attempt_number,
                call_id: format!("gate-{}-{}", gate.tier, envelope.seq),
                cost: gate.cost(),
                usage: gate.usage(),
                model: None,
            }),
            Event::AttemptClosed { attempt_number, .. } => {
                let attempt = self.attempt(*attempt_number)?;
                let cut_off = attempt.session.is_none();
                cut_off.then(|| CostEntry::lost(*attempt_number))
            }
            _ => None,
        }
    }
}

impl EntryDraft {
    const fn progress() -> Self {
        Self {
            kind: EntryKind::Progress,
            events: Vec::new(),
            costs: Vec::new(),
            sealed_attempt: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use selvedge_core::machine::{Input, decide};
    use selvedge_core::model::{
        Cost, ENVELOPE_VERSION, RunId, SessionOutcome, SessionStatus, Timestamp,
    };
    use serde_json::json;

    use super::*;

    /// A run with one check and one retry, driven as by a driver.
    struct DrivenRun {
        builder: EntryBuilder,
        shadow: JournalState,
    }

    impl DrivenRun {
        fn apply(&mut self, input: Input) -> Vec<EntryDraft> {
            let mut envelopes = Vec::new();
            let mut events = decide(&self.shadow, input).unwrap();
            loop {
                for event in events {
                    let envelope = Envelope {
                        v: ENVELOPE_VERSION,
                        run_id: RunId::new(uuid::Uuid::nil()),
                        seq: self.shadow.seq + 1,
                        at: Timestamp::UNIX_EPOCH,
                        event,
                    };
                    self.shadow = evolve(std::mem::take(&mut self.shadow), &envelope);
                    envelopes.push(envelope);
                }
                let run = self.shadow.run.as_ref().unwrap();
                let next = run
                    .pending
                    .first()
                    .filter(|it| matches!(it.kind, EffectKind::Execute { .. }) && !it.started);
                let Some(effect) = next.map(|it| it.id) else {
                    break;
                };
                events = decide(&self.shadow, Input::Start { effect }).unwrap();
            }
            self.builder.build_entries(envelopes)
        }

        fn effect(&self) -> selvedge_core::model::EffectId {
            self.shadow.run.as_ref().unwrap().pending[0].id
        }

        fn session(&mut self, status: SessionStatus) -> Vec<EntryDraft> {
            let effect = self.effect();
            let outcome = Box::new(SessionOutcome::new(status));
            self.apply(Input::SessionEnded { effect, outcome })
        }

        fn report(&mut self, number: u32, status: &str) -> Vec<EntryDraft> {
            let effect = self.effect();
            let report = json!({
                "task_id": "0190163d-8694-739b-aea5-966c26f8ad91", "run_number": number,
                "status": status, "summary": {"total": 1}, "started_at": "2026-01-01T00:00:00Z",
                "checks": [{"type": "command", "target": "true", "status": status}], "duration_ms": 1,
            });
            let report = Box::new(serde_json::from_value(report).unwrap());
            self.apply(Input::Verified { effect, report })
        }
    }

    fn spec() -> Input {
        let spec = json!({
            "task_id": "0190163d-8694-739b-aea5-966c26f8ad91", "description": "x", "workspace": "/w",
            "agent": {"name": "a", "kind": "command"}, "max_verification_retries": 1,
            "verification": {"mode": "steps", "steps": [{"type": "command", "target": "true"}]},
            "verification_timeout_ms": 1, "limits": {"wall_ms": 1, "silence_ms": 1},
            "snapshots": false, "selvedge_version": "0",
        });
        Input::Create {
            spec: Box::new(serde_json::from_value(spec).unwrap()),
        }
    }

    fn words(drafts: &[EntryDraft]) -> Vec<(String, usize, usize)> {
        let word = |kind: &EntryKind| match kind {
            EntryKind::Progress => "progress".to_owned(),
            EntryKind::BeginAttempt(attempt) => format!("begin {}", attempt.attempt_number),
            EntryKind::SubmitReport(attempt) => format!("report {}", attempt.attempt_number),
            EntryKind::CloseAttempt(attempt) => format!("close {}", attempt.attempt_number),
            other => panic!("the events of a run do not end its task: {other:?}"),
        };
        drafts
            .iter()
            .map(|it| (word(&it.kind), it.events.len(), it.costs.len()))
            .collect()
    }

    #[test]
    fn entry_builder_separates_attempts_and_reports() {
        let mut driven = DrivenRun {
            builder: EntryBuilder::default(),
            shadow: JournalState::default(),
        };
        let word = |text: &str| text.to_owned();
        assert_eq!(
            words(&driven.apply(spec())),
            [(word("progress"), 1, 0), (word("begin 1"), 3, 0)],
            "began, requested, started: together"
        );
        assert_eq!(driven.builder.open_attempt(), 1);
        assert_eq!(
            words(&driven.session(SessionStatus::Success)),
            [(word("progress"), 2, 1)]
        );
        assert_eq!(
            words(&driven.report(1, "fail")),
            [(word("report 1"), 2, 0), (word("begin 2"), 3, 0)]
        );
        driven.session(SessionStatus::Success);
        assert_eq!(
            words(&driven.report(2, "pass")),
            [(word("report 2"), 2, 0), (word("progress"), 2, 0)]
        );
        assert_eq!(driven.builder.state, driven.shadow, "nothing is left out");
    }

    #[test]
    fn entry_builder_closes_interrupted_attempt() {
        let mut driven = DrivenRun {
            builder: EntryBuilder::default(),
            shadow: JournalState::default(),
        };
        driven.apply(spec());
        let drafts = driven.apply(Input::Resume);
        let began = words(&drafts);
        assert_eq!(began[0].0, "close 1");
        assert_eq!(began[0].2, 1, "{drafts:?}");
        assert_eq!(drafts[0].costs[0].cost, Cost::UNKNOWN);
        assert_eq!(began.last().unwrap().0, "begin 2");
    }
}
