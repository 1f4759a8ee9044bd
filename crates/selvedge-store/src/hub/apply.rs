//! What a change of a task writes: decided here, without any database, from the row that a database
//! has loaded and keeps locked.
//!
//! Invariants kept here: an entry counts once, as the next of its stream; a journal has no gaps; a
//! write of an earlier grant leaves evidence and costs, and changes nothing else.

use selvedge_core::fleet::{RefusalCode, TaskState};
use selvedge_core::lease::{
    Accepted, Fence, Input, LeaseEvent, LossReason, Refusal, Review, Rules, decide,
};
use selvedge_core::model::Closing;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::change::{Answer, Change, Entry, JournalLine, Step, StoredRun, Written};
use super::planted;
use super::rows::TaskRow;

/// SHA-256.
pub(crate) fn digest(body: &str) -> [u8; 32] {
    Sha256::digest(body.as_bytes()).into()
}

/// Applies a change to a row: the answer, and what to write. `stored` is what is there of the run
/// that a [`Step::Close`] names.
pub fn apply(
    row: &mut TaskRow,
    change: &Change,
    stored: Option<StoredRun>,
    now: i64,
    rules: &Rules,
) -> (Answer, Written) {
    let mut draft = Draft {
        row,
        written: Written::default(),
        now,
        rules,
    };
    let answer = draft.take(change, stored);
    let written = draft.written;
    (answer.unwrap_or_else(|refused| refused), written)
}

struct Draft<'a> {
    row: &'a mut TaskRow,
    written: Written,
    now: i64,
    rules: &'a Rules,
}

impl Draft<'_> {
    fn take(&mut self, change: &Change, stored: Option<StoredRun>) -> Result<Answer, Answer> {
        match change {
            Change::Take { holder, token } => {
                let (worker, token) = (holder.clone(), token.clone());
                self.step(Input::Grant {
                    worker,
                    token: token.clone(),
                })?;
                let epoch = self.row.lease.epoch;
                self.step(Input::Accept(Fence { epoch, token }))
            }
            Change::Accept(fence) => self.step(Input::Accept(fence.clone())),
            Change::Decline(fence) => self.step(Input::GiveUp(fence.clone(), LossReason::Declined)),
            Change::Renew(fence) => self.step(Input::Renew(fence.clone())),
            Change::Forget { epoch } => {
                let epoch = *epoch;
                let token = self.row.lease.token.clone().unwrap_or_default();
                let fence = Fence { epoch, token };
                self.step(Input::GiveUp(fence, LossReason::Forgotten))
            }
            Change::Cancel { .. } if planted::reopened(self.row, &mut self.written) => {
                Ok(Answer::Done)
            }
            Change::Cancel { by, reason } => {
                let (by, reason) = (by.clone(), reason.clone());
                self.step(Input::Cancel { by, reason })
            }
            Change::Review {
                review,
                record,
                epoch,
                after,
                events,
            } => {
                let is_awaiting = self.row.lease.state == TaskState::NeedsReview;
                if is_awaiting && *after != self.row.event_seq {
                    let detail = "the task's journal went on while it was being reviewed";
                    return Err(refused(RefusalCode::Gap, detail));
                }
                let answer = self.step(Input::Review {
                    review: *review,
                    epoch: *epoch,
                    record: record.clone(),
                })?;
                // A task that goes on has no reason yet for how it stands.
                self.row.reason = (*review != Review::Retry).then(|| record.summary());
                self.append(events)?;
                Ok(answer)
            }
            Change::Tick => self.step(Input::Tick),
            Change::Entry(entry) => self.entry(entry, stored),
        }
    }

    /// Decides, and writes down what was decided.
    fn step(&mut self, input: Input) -> Result<Answer, Answer> {
        let decision = decide(&self.row.lease, input, self.now, self.rules)
            .map_err(|refusal| told(refusal, self.row.lease.state))?;
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
                    self.written.cut_off.extend(cut_off);
                }
                _ => {}
            }
            self.row.updated_at = self.now;
            if !planted::unlogged(&event) {
                self.written.log.push((self.row.log_seq, event));
            }
        }
        self.row.lease = decision.lease;
        match decision.accepted {
            Accepted::Now | Accepted::Already => Ok(Answer::Done),
            Accepted::Over => Err(refused(RefusalCode::Terminal, "the task is cancelled")),
        }
    }

    fn entry(&mut self, entry: &Entry, stored: Option<StoredRun>) -> Result<Answer, Answer> {
        let header = &entry.header;
        let mut fence = Fence {
            epoch: header.lease.lease_epoch,
            token: header.lease.lease_token.clone(),
        };
        if self.row.lease.is_latest(&fence) && header.seq <= self.row.entry_seq {
            return self.again(&entry.step, stored);
        }
        let held = self.row.lease.is_held_by(&fence);
        let mistaken = !held && planted::taken_for_holder(self.row, &mut fence, &entry.step);
        if !held && !mistaken {
            return Err(self.too_late(entry, &fence));
        }
        let next = self.row.entry_seq + 1;
        if header.seq != next && !mistaken {
            return Err(refused(
                RefusalCode::Gap,
                &format!("entry {next} comes first"),
            ));
        }
        self.follows(&header.events)?;
        let same = same(&entry.step, stored);
        match &entry.step {
            Step::Progress => {}
            Step::Begin(run_number) => {
                let cancel = planted::forgotten_cancel(self.row);
                self.step(Input::BeginRun(fence, *run_number))?;
                self.row.lease.cancel = cancel.or(self.row.lease.cancel.take());
            }
            Step::Close {
                run_number,
                closing,
                report,
            } => {
                let epoch = fence.epoch;
                self.step(Input::CloseRun {
                    fence,
                    run_number: *run_number,
                    closing: *closing,
                    stored: same,
                })?;
                if let (Some(body), None) = (report, same) {
                    let kept = planted::altered(body.clone());
                    let report = (*run_number, epoch, digest(body), kept);
                    self.written.reports.push(report);
                }
            }
            Step::Complete {
                completion_id,
                outcome,
                reason,
                result,
            } => {
                self.step(Input::Complete {
                    fence,
                    completion_id: completion_id.clone(),
                    outcome: *outcome,
                })?;
                self.row.reason = Some(reason.clone()).filter(|reason| !reason.is_empty());
                self.written.result = Some((completion_id.clone(), result.clone()));
            }
            Step::Release { charged } => {
                let reason = if *charged {
                    LossReason::Infrastructure
                } else {
                    LossReason::Drained
                };
                self.step(Input::GiveUp(fence, reason))?;
            }
        }
        self.append(&header.events)?;
        self.written.costs = planted::counted(header.costs.clone());
        self.written.files.clone_from(&header.files);
        self.row.entry_seq = next;
        self.written.row = true;
        Ok(Answer::Done)
    }

    /// It was applied before. Only other content than then is an error.
    fn again(&self, step: &Step, stored: Option<StoredRun>) -> Result<Answer, Answer> {
        let other = match step {
            Step::Close { .. } => same(step, stored) == Some(false),
            Step::Complete { completion_id, .. } => {
                let known = self.row.lease.completion.as_ref();
                known.is_some_and(|known| known != completion_id)
            }
            _ => false,
        };
        if other {
            return Err(refused(
                RefusalCode::Conflict,
                "this was told before, with other content",
            ));
        }
        Ok(Answer::Done)
    }

    /// Of a grant that is over: what it cost still counts, and its report is kept as evidence.
    fn too_late(&mut self, entry: &Entry, fence: &Fence) -> Answer {
        if (1..=self.row.lease.epoch).contains(&fence.epoch) {
            // Of what was cut off the hub has said so itself; a run that it never heard of had no agent.
            let costs = entry.header.costs.iter().filter(|cost| !cost.is_lost());
            self.written.costs.extend(costs.cloned());
            if let Step::Close {
                run_number,
                report: Some(body),
                ..
            } = &entry.step
            {
                let report = (*run_number, fence.epoch, digest(body), body.clone());
                self.written.late.push(report);
            }
        }
        let lease = &self.row.lease;
        if lease.is_latest(fence) && lease.state.is_terminal() {
            return refused(RefusalCode::Terminal, "the task is over");
        }
        told(Refusal::Stale { epoch: lease.epoch }, lease.state)
    }

    fn follows(&self, events: &[Value]) -> Result<(), Answer> {
        let mut next = self.row.event_seq;
        for event in events {
            next += 1;
            let seq = event.get("seq").and_then(Value::as_u64);
            if seq != Some(next) {
                return Err(refused(
                    RefusalCode::Invalid,
                    &format!("the journal's next event is {next}, not {seq:?}"),
                ));
            }
        }
        Ok(())
    }

    fn append(&mut self, events: &[Value]) -> Result<(), Answer> {
        self.follows(events)?;
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

/// Whether a run was closed before in exactly this way, if it was.
fn same(step: &Step, stored: Option<StoredRun>) -> Option<bool> {
    let Step::Close {
        closing, report, ..
    } = step
    else {
        return None;
    };
    let stored = stored?;
    let digest = report.as_deref().map(digest);
    if stored.closing == Closing::Interrupted && *closing == Closing::Report {
        return None;
    }
    Some(stored.closing == *closing && stored.digest == digest)
}

fn refused(code: RefusalCode, detail: &str) -> Answer {
    Answer::Refused {
        code,
        detail: detail.to_owned(),
    }
}

fn told(refusal: Refusal, state: TaskState) -> Answer {
    let code = match refusal {
        Refusal::Stale { .. } => RefusalCode::Stale,
        Refusal::OutOfOrder { .. } => RefusalCode::Gap,
        Refusal::NotNow(_) | Refusal::NotAwaitingReview(_) if state.is_terminal() => {
            RefusalCode::Terminal
        }
        Refusal::Conflict { .. }
        | Refusal::NotNow(_)
        | Refusal::NotAwaitingReview(_)
        | Refusal::OtherWork { .. } => RefusalCode::Conflict,
    };
    refused(code, &refusal.to_string())
}
