//! Decides what a change of a task writes. It needs no database: the caller has loaded the row and keeps it
//! locked.
//!
//! Invariants: an entry counts once, as the next one of its stream; a journal has no gaps; a write under an earlier
//! lease adds evidence and costs, and changes nothing else. A worker's `verified` counts only with a passing report of
//! the last attempt, and no attempt exceeds the task's limit.

use selvedge_core::format::{counted, reason_line};
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord, RunId};
use selvedge_protocol::lease::{
    InputDisposition, LeaseError, LeaseEvent, LeaseInput, LeaseRules, LossReason, decide,
};
use selvedge_protocol::{
    AttemptReport, EntryKind, LeaseToken, RefusalCode, ReviewDecision, StreamEntry, TaskCompletion,
    TaskResult, TaskState,
};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::access::{AuditAction, AuditActor, TaskAudit};
use super::change::{ChangeAnswer, JournalLine, StoredAttempt, TaskChange, WriteSet};
use super::reported;
use super::rows::TaskRecord;

/// SHA-256 of a body.
pub(crate) fn digest(body: &str) -> [u8; 32] {
    Sha256::digest(body.as_bytes()).into()
}

/// Applies a change to a row; returns the answer and the data to write. `stored` is the stored state of the
/// attempt that the change would close.
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
        is_by_hub: matches!(change, TaskChange::EntryOfHub(_)),
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
    /// Whether the hub itself makes the change, which needs no evidence.
    is_by_hub: bool,
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
                self.decide_and_record(LeaseInput::Grant { worker, token })?;
                self.decide_and_record(LeaseInput::Accept(self.row.lease_token()))
            }
            TaskChange::Lease(input) => self.decide_and_record(input.clone()),
            TaskChange::Cancel { actor, reason } => {
                let answer = self.decide_and_record(LeaseInput::Cancel {
                    by: actor.name.clone(),
                    reason: reason.clone(),
                })?;
                // A repeated request changes nothing.
                if !self.written.log.is_empty() {
                    self.record_audit(actor, AuditAction::CancelTask, reason.clone());
                }
                Ok(answer)
            }
            TaskChange::Forget { epoch } => {
                let token = LeaseToken {
                    lease_epoch: *epoch,
                    ..self.row.lease_token()
                };
                self.decide_and_record(LeaseInput::Release(token, LossReason::Forgotten))
            }
            TaskChange::Review {
                decision,
                actor,
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
                if *decision == ReviewDecision::Retry && is_awaiting {
                    self.check_attempt_left()?;
                }
                let answer = self.decide_and_record(LeaseInput::Review {
                    decision: *decision,
                    epoch: *epoch,
                    record: record.clone(),
                })?;
                // After a retry the task continues, so its state has no reason yet.
                self.row.reason = (*decision != ReviewDecision::Retry).then(|| record.summary());
                self.append(events)?;
                let action = match decision {
                    ReviewDecision::Accept => AuditAction::AcceptWork,
                    ReviewDecision::Reject => AuditAction::RejectWork,
                    ReviewDecision::Retry => AuditAction::RequestAttempt,
                };
                self.record_audit(actor, action, audit_detail(record));
                Ok(answer)
            }
            TaskChange::Entry(entry) | TaskChange::EntryOfHub(entry) => self.entry(entry, stored),
            TaskChange::Decline { token, reason } => self.release(
                token.clone(),
                LossReason::Declined,
                &format!("declined the task: {reason}"),
            ),
        }
    }

    fn record_audit(&mut self, actor: &AuditActor, action: AuditAction, detail: String) {
        self.written.audit = Some(TaskAudit {
            actor: actor.clone(),
            action,
            detail,
        });
    }

    /// Applies an input to the lease and records the resulting events.
    fn decide_and_record(&mut self, input: LeaseInput) -> Result<ChangeAnswer, ChangeAnswer> {
        let decision = decide(&self.row.lease, input, self.now, self.rules)
            .map_err(|refusal| refusal_answer(refusal, self.row.lease.state))?;
        self.written.row |= decision.lease != self.row.lease;
        self.written.has_ended |=
            decision.lease.state.is_terminal() && !self.row.lease.state.is_terminal();
        let (mut cut_off, mut has_expired) = (None, false);
        for event in decision.events {
            self.row.log_seq += 1;
            match &event {
                LeaseEvent::Granted { .. } => self.row.entry_seq = 0,
                LeaseEvent::RunBegun { attempt_number } => {
                    let epoch = self.row.lease.epoch;
                    self.written.begun.push((*attempt_number, epoch));
                    self.row.reason = None;
                }
                LeaseEvent::RunClosed {
                    attempt_number,
                    closing,
                    ..
                } => {
                    self.written.closed.push((*attempt_number, *closing));
                    cut_off = Some(*attempt_number);
                }
                LeaseEvent::LeaseLost { reason, .. } => {
                    self.written.interrupted.extend(cut_off);
                    has_expired = *reason == LossReason::Expired;
                }
                LeaseEvent::Completed { .. } => self.written.interrupted.extend(cut_off),
                _ => {}
            }
            self.row.updated_at = self.now;
            self.written.log.push((self.row.log_seq, event));
        }
        self.row.lease = decision.lease;
        if has_expired {
            self.record_loss("did not renew its lease in time");
        }
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
        let StreamEntry { header, kind } = entry;
        let token = header.lease.clone();
        if self.row.lease.is_latest(&token) && header.seq <= self.row.entry_seq {
            return self.check_repeated(kind, stored);
        }
        if !self.row.lease.is_held_by(&token) {
            return Err(self.record_late_entry(entry));
        }
        let next = self.row.entry_seq + 1;
        if header.seq != next {
            return Err(refuse(RefusalCode::Gap, &format!("expected entry {next}")));
        }
        self.check_events(&header.events)?;
        self.apply_kind(kind, token, stored)?;
        self.append(&header.events)?;
        self.written.costs.clone_from(&header.costs);
        self.written.files.clone_from(&header.files);
        self.row.entry_seq = next;
        self.written.row = true;
        Ok(ChangeAnswer::Applied)
    }

    /// Applies what an entry does besides its header.
    fn apply_kind(
        &mut self,
        kind: &EntryKind,
        token: LeaseToken,
        stored: Option<StoredAttempt>,
    ) -> Result<(), ChangeAnswer> {
        let same = is_same_closing(kind, stored);
        match kind {
            EntryKind::Progress => {}
            EntryKind::BeginAttempt(start) => {
                self.begin_attempt(token, start.attempt_number)?;
            }
            EntryKind::SubmitReport(AttemptReport {
                attempt_number,
                report,
            }) => {
                let epoch = token.lease_epoch;
                self.decide_and_record(LeaseInput::CloseAttempt {
                    token,
                    attempt_number: *attempt_number,
                    end: AttemptEnd::Report,
                    passed: reported::is_passing(report, *attempt_number),
                    stored: same,
                })?;
                if same.is_none() {
                    let body = report.to_string();
                    let report = (*attempt_number, epoch, digest(&body), body);
                    self.written.reports.push(report);
                }
            }
            EntryKind::CloseAttempt(attempt) => {
                self.decide_and_record(LeaseInput::CloseAttempt {
                    token,
                    attempt_number: attempt.attempt_number,
                    end: attempt.closing,
                    passed: false,
                    stored: same,
                })?;
            }
            EntryKind::Complete(TaskCompletion {
                completion_id,
                result,
            }) => {
                self.store_result_reports(result, &token)?;
                let (outcome, doubt) = self.credible_outcome(result);
                self.decide_and_record(LeaseInput::Complete {
                    token,
                    completion_id: completion_id.clone(),
                    outcome,
                })?;
                let reason = doubt.unwrap_or_else(|| reason_line(&result.reason));
                self.row.reason = Some(reason).filter(|reason| !reason.is_empty());
                // Contains only maps with string keys and numbers: a result always has a JSON form.
                let body = serde_json::to_string(result).unwrap_or_default();
                self.written.result = Some((completion_id.clone(), body));
            }
            EntryKind::Release(release) => {
                let (reason, what) = if release.declined {
                    (LossReason::Declined, "declined the task")
                } else if release.charged {
                    (LossReason::Infrastructure, "infrastructure failure")
                } else {
                    (LossReason::Drained, "released the task")
                };
                self.release(token, reason, &format!("{what}: {}", release.reason))?;
            }
        }
        Ok(())
    }

    /// Releases the task and records why, for everyone who waits for it.
    fn release(
        &mut self,
        token: LeaseToken,
        reason: LossReason,
        detail: &str,
    ) -> Result<ChangeAnswer, ChangeAnswer> {
        let answer = self.decide_and_record(LeaseInput::Release(token, reason))?;
        self.record_loss(detail);
        Ok(answer)
    }

    /// Records why the worker of the last assignment no longer holds the task.
    fn record_loss(&mut self, detail: &str) {
        let lease = &self.row.lease;
        let worker = lease.worker.as_deref().unwrap_or("unknown");
        let detail = reason_line(detail);
        let reason = match lease.state {
            TaskState::Cancelled => return,
            TaskState::Dead => {
                let failures = counted(lease.losses.into(), "infrastructure failure");
                format!("given up after {failures}; the last one: worker `{worker}`: {detail}")
            }
            _ => format!("worker `{worker}`: {detail}"),
        };
        self.row.reason = Some(reason);
    }

    /// Begins an attempt, unless the task has none left.
    fn begin_attempt(
        &mut self,
        token: LeaseToken,
        attempt_number: u32,
    ) -> Result<ChangeAnswer, ChangeAnswer> {
        if self.row.lease.open_attempt != Some(attempt_number) {
            self.check_attempt_left()?;
        }
        self.decide_and_record(LeaseInput::BeginAttempt(token, attempt_number))
    }

    fn check_attempt_left(&self) -> Result<(), ChangeAnswer> {
        let (used, most) = (self.row.lease.reports, self.row.max_attempts);
        if used < most {
            return Ok(());
        }
        let detail = format!("no attempt is left: {used} of {most} are used");
        Err(refuse(RefusalCode::Invalid, &detail))
    }

    /// The outcome that counts, and why it differs from the worker's if a person has to decide.
    fn credible_outcome(&self, result: &TaskResult) -> (Outcome, Option<String>) {
        if result.outcome != Outcome::Verified || self.is_by_hub {
            return (result.outcome, None);
        }
        let claimed = reported::numbered_reports(result).len();
        let claimed = u32::try_from(claimed).unwrap_or(u32::MAX);
        let claimed = claimed.max(result.verification_attempts);
        let doubt = self
            .row
            .lease
            .doubt_verified(claimed, self.row.max_attempts);
        match doubt {
            None => (Outcome::Verified, None),
            Some(_) if reported::is_unchecked(result) => (Outcome::Unchecked, None),
            Some(doubt) => (Outcome::NeedsReview, Some(doubt.to_string())),
        }
    }

    /// Stores the reports of a result that were not reported as attempts before, as older workers send them. A report
    /// that cannot be the next attempt's is kept as late evidence.
    fn store_result_reports(
        &mut self,
        result: &TaskResult,
        token: &LeaseToken,
    ) -> Result<(), ChangeAnswer> {
        let reports = reported::numbered_reports(result);
        let known = usize::try_from(self.row.lease.reports).unwrap_or(usize::MAX);
        if self.is_by_hub || reports.len() <= known {
            return Ok(());
        }
        for (attempt_number, report) in reports {
            let body = report.to_string();
            let stored = (attempt_number, token.lease_epoch, digest(&body), body);
            if !self.begin_unreported_attempt(attempt_number, token)? {
                self.written.late_reports.push(stored);
                continue;
            }
            self.decide_and_record(LeaseInput::CloseAttempt {
                token: token.clone(),
                attempt_number,
                end: AttemptEnd::Report,
                passed: reported::is_passing(report, attempt_number),
                stored: None,
            })?;
            self.written.reports.push(stored);
        }
        Ok(())
    }

    /// Whether an attempt is open; begins it if it can be the next one. Unreported attempts before it end as
    /// interrupted.
    fn begin_unreported_attempt(
        &mut self,
        attempt_number: u32,
        token: &LeaseToken,
    ) -> Result<bool, ChangeAnswer> {
        while self.row.lease.open_attempt != Some(attempt_number) {
            let lease = &self.row.lease;
            let next = lease.last_attempt + 1;
            let is_possible = lease.cancel.is_none()
                && next <= attempt_number
                && attempt_number - next < self.row.max_attempts
                && lease.reports < self.row.max_attempts;
            if !is_possible {
                return Ok(false);
            }
            if let Some(open) = lease.open_attempt {
                self.decide_and_record(LeaseInput::CloseAttempt {
                    token: token.clone(),
                    attempt_number: open,
                    end: AttemptEnd::Interrupted,
                    passed: false,
                    stored: None,
                })?;
            }
            self.decide_and_record(LeaseInput::BeginAttempt(token.clone(), next))?;
        }
        Ok(true)
    }

    /// Checks an entry that was applied before: only different content is an error.
    fn check_repeated(
        &self,
        kind: &EntryKind,
        stored: Option<StoredAttempt>,
    ) -> Result<ChangeAnswer, ChangeAnswer> {
        let other = match kind {
            EntryKind::Complete(completion) => {
                let applied = self.row.lease.completion.as_ref();
                applied.is_some_and(|applied| *applied != completion.completion_id)
            }
            _ => is_same_closing(kind, stored) == Some(false),
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
    fn record_late_entry(&mut self, entry: &StreamEntry) -> ChangeAnswer {
        let StreamEntry { header, kind } = entry;
        let epoch = header.lease.lease_epoch;
        if (1..=self.row.lease.epoch).contains(&epoch) {
            // Lost costs are dropped: for an interrupted attempt the hub has already recorded one itself, and
            // an attempt that the hub does not know of had no agent.
            let costs = header.costs.iter().filter(|cost| !cost.is_lost());
            self.written.costs.extend(costs.cloned());
            if let EntryKind::SubmitReport(attempt) = kind {
                let body = attempt.report.to_string();
                let report = (attempt.attempt_number, epoch, digest(&body), body);
                self.written.late_reports.push(report);
            }
        }
        let lease = &self.row.lease;
        if lease.is_latest(&header.lease) && lease.state.is_terminal() {
            return refuse(RefusalCode::Terminal, "the task has ended");
        }
        refusal_answer(LeaseError::Stale { epoch: lease.epoch }, lease.state)
    }

    /// Checks that events continue the journal, and that they are of this task's run: a reader of the journal takes
    /// the run's files from there. Clients without journals send no run id.
    fn check_events(&self, events: &[Value]) -> Result<(), ChangeAnswer> {
        let own = RunId::from(self.row.task_id);
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
            let run = event.get("run_id");
            if run.is_some_and(|run| RunId::deserialize(run).ok() != Some(own)) {
                let detail = format!("event {next} is not of the task's run");
                return Err(refuse(RefusalCode::Invalid, &detail));
            }
        }
        Ok(())
    }

    fn append(&mut self, events: &[Value]) -> Result<(), ChangeAnswer> {
        self.check_events(events)?;
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
fn is_same_closing(kind: &EntryKind, stored: Option<StoredAttempt>) -> Option<bool> {
    let stored = stored?;
    let (end, digest) = match kind {
        EntryKind::SubmitReport(attempt) => {
            let digest = digest(&attempt.report.to_string());
            (AttemptEnd::Report, Some(digest))
        }
        EntryKind::CloseAttempt(attempt) => (attempt.closing, None),
        _ => return None,
    };
    if stored.end == AttemptEnd::Interrupted && end == AttemptEnd::Report {
        return None;
    }
    Some(stored.end == end && stored.digest == digest)
}

/// The reviewed work and the reason, in one line.
fn audit_detail(record: &ReviewRecord) -> String {
    let attempt = record.target.attempt.unwrap_or_default();
    let mut detail = format!("attempt {attempt}");
    if let Some(tree) = &record.target.tree {
        detail += &format!(", tree {tree}");
    }
    if !record.reason.trim().is_empty() {
        detail += &format!(": {}", record.reason.trim());
    }
    detail
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
