//! Decides what a change of a task writes. It needs no database: the caller has loaded the row and keeps it
//! locked.
//!
//! Invariants: an entry counts once, as the next one of its stream; a journal has no gaps; a write under an
//! earlier lease adds evidence and costs, and changes nothing else.

use selvedge_core::lease::{
    InputDisposition, LeaseCredential, LeaseError, LeaseEvent, LeaseInput, LeaseRules, LossReason,
    ReviewAction, decide,
};
use selvedge_core::model::AttemptEnd;
use selvedge_core::protocol::{RefusalCode, TaskState};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::change::{
    ChangeAnswer, EntryKind, JournalLine, StoredAttempt, StreamEntry, TaskChange, WriteSet,
};
use super::mutants;
use super::rows::TaskRecord;

/// SHA-256 of a body.
pub(crate) fn digest(body: &str) -> [u8; 32] {
    Sha256::digest(body.as_bytes()).into()
}

/// Applies a change to a row; returns the answer and the data to write. `stored` is the stored state of the
/// attempt that an [`EntryKind::Close`] names.
pub fn apply(
    row: &mut TaskRecord,
    change: &TaskChange,
    stored: Option<StoredAttempt>,
    now: i64,
    rules: &LeaseRules,
) -> (ChangeAnswer, WriteSet) {
    let mut draft = ChangeApplier {
        row,
        written: WriteSet::default(),
        now,
        rules,
    };
    let answer = draft.apply_change(change, stored);
    let written = draft.written;
    (answer.unwrap_or_else(|refused| refused), written)
}

struct ChangeApplier<'a> {
    row: &'a mut TaskRecord,
    written: WriteSet,
    now: i64,
    rules: &'a LeaseRules,
}

impl ChangeApplier<'_> {
    fn apply_change(
        &mut self,
        change: &TaskChange,
        stored: Option<StoredAttempt>,
    ) -> Result<ChangeAnswer, ChangeAnswer> {
        match change {
            TaskChange::AcquireForHub { holder, token } => {
                let (worker, token) = (holder.clone(), token.clone());
                self.decide_and_record(LeaseInput::Grant {
                    worker,
                    token: token.clone(),
                })?;
                let epoch = self.row.lease.epoch;
                self.decide_and_record(LeaseInput::Accept(LeaseCredential { epoch, token }))
            }
            TaskChange::Accept(fence) => self.decide_and_record(LeaseInput::Accept(fence.clone())),
            TaskChange::Decline(fence) => {
                self.decide_and_record(LeaseInput::Release(fence.clone(), LossReason::Declined))
            }
            TaskChange::Renew(fence) => self.decide_and_record(LeaseInput::Renew(fence.clone())),
            TaskChange::Forget { epoch } => {
                let epoch = *epoch;
                let token = self.row.lease.token.clone().unwrap_or_default();
                let fence = LeaseCredential { epoch, token };
                self.decide_and_record(LeaseInput::Release(fence, LossReason::Forgotten))
            }
            TaskChange::Cancel { .. } if mutants::reopens_ended(self.row, &mut self.written) => {
                Ok(ChangeAnswer::Applied)
            }
            TaskChange::Cancel { by, reason } => {
                let (by, reason) = (by.clone(), reason.clone());
                self.decide_and_record(LeaseInput::Cancel { by, reason })
            }
            TaskChange::Review {
                review,
                record,
                epoch,
                after,
                events,
            } => {
                let is_awaiting = self.row.lease.state == TaskState::NeedsReview;
                if is_awaiting && *after != self.row.event_seq {
                    let detail = "the task's journal changed while it was being reviewed";
                    return Err(refuse(RefusalCode::Gap, detail));
                }
                let answer = self.decide_and_record(LeaseInput::Review {
                    review: *review,
                    epoch: *epoch,
                    record: record.clone(),
                })?;
                // After a retry the task continues, so its state has no reason yet.
                self.row.reason = (*review != ReviewAction::Retry).then(|| record.summary());
                self.append(events)?;
                Ok(answer)
            }
            TaskChange::Tick => self.decide_and_record(LeaseInput::Tick),
            TaskChange::Entry(entry) => self.entry(entry, stored),
        }
    }

    /// Applies an input to the lease and records the resulting events.
    fn decide_and_record(&mut self, input: LeaseInput) -> Result<ChangeAnswer, ChangeAnswer> {
        let decision = decide(&self.row.lease, input, self.now, self.rules)
            .map_err(|refusal| refusal_answer(refusal, self.row.lease.state))?;
        self.written.row |= decision.lease != self.row.lease;
        let mut cut_off = None;
        for event in decision.events {
            self.row.log_seq += 1;
            match &event {
                LeaseEvent::Granted { .. } => self.row.entry_seq = 0,
                LeaseEvent::RunBegun { run_number } => {
                    let epoch = self.row.lease.epoch;
                    self.written.begun.push((*run_number, epoch));
                }
                LeaseEvent::RunClosed {
                    run_number,
                    closing,
                } => {
                    self.written.closed.push((*run_number, *closing));
                    cut_off = Some(*run_number);
                }
                LeaseEvent::LeaseLost { .. } | LeaseEvent::Completed { .. } => {
                    self.written.interrupted.extend(cut_off);
                }
                _ => {}
            }
            self.row.updated_at = self.now;
            if !mutants::skips_log(&event) {
                self.written.log.push((self.row.log_seq, event));
            }
        }
        self.row.lease = decision.lease;
        match decision.disposition {
            InputDisposition::Applied | InputDisposition::Duplicate => Ok(ChangeAnswer::Applied),
            InputDisposition::TaskOver => {
                Err(refuse(RefusalCode::Terminal, "the task is cancelled"))
            }
        }
    }

    fn entry(
        &mut self,
        entry: &StreamEntry,
        stored: Option<StoredAttempt>,
    ) -> Result<ChangeAnswer, ChangeAnswer> {
        let header = &entry.header;
        let mut fence = LeaseCredential {
            epoch: header.lease.lease_epoch,
            token: header.lease.lease_token.clone(),
        };
        if self.row.lease.is_latest(&fence) && header.seq <= self.row.entry_seq {
            return self.check_repeated(&entry.step, stored);
        }
        let held = self.row.lease.is_held_by(&fence);
        let mistaken =
            !held && mutants::accepts_stale_completion(self.row, &mut fence, &entry.step);
        if !held && !mistaken {
            return Err(self.record_late_entry(entry, &fence));
        }
        let next = self.row.entry_seq + 1;
        if header.seq != next && !mistaken {
            return Err(refuse(RefusalCode::Gap, &format!("expected entry {next}")));
        }
        self.check_sequence(&header.events)?;
        let same = is_same_closing(&entry.step, stored);
        match &entry.step {
            EntryKind::Progress => {}
            EntryKind::Begin(run_number) => {
                let cancel = mutants::take_cancel(self.row);
                self.decide_and_record(LeaseInput::BeginAttempt(fence, *run_number))?;
                self.row.lease.cancel = cancel.or(self.row.lease.cancel.take());
            }
            EntryKind::Close {
                run_number,
                end: closing,
                report,
            } => {
                let epoch = fence.epoch;
                self.decide_and_record(LeaseInput::CloseAttempt {
                    fence,
                    run_number: *run_number,
                    end: *closing,
                    stored: same,
                })?;
                if let (Some(body), None) = (report, same) {
                    let kept = mutants::alter_report(body.clone());
                    let report = (*run_number, epoch, digest(body), kept);
                    self.written.reports.push(report);
                }
            }
            EntryKind::Complete {
                completion_id,
                outcome,
                reason,
                result,
            } => {
                self.decide_and_record(LeaseInput::Complete {
                    fence,
                    completion_id: completion_id.clone(),
                    outcome: *outcome,
                })?;
                self.row.reason = Some(reason.clone()).filter(|reason| !reason.is_empty());
                self.written.result = Some((completion_id.clone(), result.clone()));
            }
            EntryKind::Release { charged } => {
                let reason = if *charged {
                    LossReason::Infrastructure
                } else {
                    LossReason::Drained
                };
                self.decide_and_record(LeaseInput::Release(fence, reason))?;
            }
        }
        self.append(&header.events)?;
        self.written.costs = mutants::duplicate_costs(header.costs.clone());
        self.written.files.clone_from(&header.files);
        self.row.entry_seq = next;
        self.written.row = true;
        Ok(ChangeAnswer::Applied)
    }

    /// Checks an entry that was applied before: only different content is an error.
    fn check_repeated(
        &self,
        step: &EntryKind,
        stored: Option<StoredAttempt>,
    ) -> Result<ChangeAnswer, ChangeAnswer> {
        let other = match step {
            EntryKind::Close { .. } => is_same_closing(step, stored) == Some(false),
            EntryKind::Complete { completion_id, .. } => {
                let known = self.row.lease.completion.as_ref();
                known.is_some_and(|known| known != completion_id)
            }
            _ => false,
        };
        if other {
            return Err(refuse(
                RefusalCode::Conflict,
                "this was reported before with different content",
            ));
        }
        Ok(ChangeAnswer::Applied)
    }

    /// Records an entry of an expired lease: its costs still count, and its report is kept as evidence.
    fn record_late_entry(&mut self, entry: &StreamEntry, fence: &LeaseCredential) -> ChangeAnswer {
        if (1..=self.row.lease.epoch).contains(&fence.epoch) {
            // Lost costs are dropped: for an interrupted attempt the hub has already recorded one itself, and
            // an attempt that the hub does not know of had no agent.
            let costs = entry.header.costs.iter().filter(|cost| !cost.is_lost());
            self.written.costs.extend(costs.cloned());
            if let EntryKind::Close {
                run_number,
                report: Some(body),
                ..
            } = &entry.step
            {
                let report = (*run_number, fence.epoch, digest(body), body.clone());
                self.written.late_reports.push(report);
            }
        }
        let lease = &self.row.lease;
        if lease.is_latest(fence) && lease.state.is_terminal() {
            return refuse(RefusalCode::Terminal, "the task has ended");
        }
        refusal_answer(LeaseError::Stale { epoch: lease.epoch }, lease.state)
    }

    fn check_sequence(&self, events: &[Value]) -> Result<(), ChangeAnswer> {
        let mut next = self.row.event_seq;
        for event in events {
            next += 1;
            let seq = event.get("seq").and_then(Value::as_u64);
            if seq != Some(next) {
                return Err(refuse(
                    RefusalCode::Invalid,
                    &format!("the journal's next event is {next}, not {seq:?}"),
                ));
            }
        }
        Ok(())
    }

    fn append(&mut self, events: &[Value]) -> Result<(), ChangeAnswer> {
        self.check_sequence(events)?;
        for event in events {
            self.row.event_seq += 1;
            self.row.updated_at = self.now;
            self.written.row = true;
            self.written.journal.push(JournalLine {
                seq: self.row.event_seq,
                event: event.to_string(),
            });
        }
        Ok(())
    }
}

/// Whether an attempt was closed before with the same content; `None` if it was not closed.
fn is_same_closing(step: &EntryKind, stored: Option<StoredAttempt>) -> Option<bool> {
    let EntryKind::Close {
        end: closing,
        report,
        ..
    } = step
    else {
        return None;
    };
    let stored = stored?;
    let digest = report.as_deref().map(digest);
    if stored.end == AttemptEnd::Interrupted && *closing == AttemptEnd::Report {
        return None;
    }
    Some(stored.end == *closing && stored.digest == digest)
}

fn refuse(code: RefusalCode, detail: &str) -> ChangeAnswer {
    ChangeAnswer::Refused {
        code,
        detail: detail.to_owned(),
    }
}

fn refusal_answer(refusal: LeaseError, state: TaskState) -> ChangeAnswer {
    let code = match refusal {
        LeaseError::Stale { .. } => RefusalCode::Stale,
        LeaseError::OutOfOrder { .. } => RefusalCode::Gap,
        LeaseError::WrongState(_) | LeaseError::NotAwaitingReview(_) if state.is_terminal() => {
            RefusalCode::Terminal
        }
        LeaseError::Conflict { .. }
        | LeaseError::WrongState(_)
        | LeaseError::NotAwaitingReview(_)
        | LeaseError::OtherAttempt { .. } => RefusalCode::Conflict,
    };
    refuse(code, &refusal.to_string())
}
