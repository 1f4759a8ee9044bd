//! The transition table of a lease: every input, its effects, and the reasons to reject it.
//!
//! Invariants: an epoch only increases; a write of an earlier epoch changes nothing; a terminal state is final; run
//! numbers have no gaps and at most one run is open; a task with a pending cancellation begins no run.

use super::event::{LeaseEvent, LossReason, evolve};
use super::input::{InputDisposition, LeaseDecision, LeaseError, LeaseInput};
use super::state::{LeaseRules, LeaseState};
use crate::{LeaseToken, ReviewDecision, TaskState};
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord};

/// Decides the effects of an input. `now` is in milliseconds since 1970, from the only clock that the store trusts.
pub fn decide(
    lease: &LeaseState,
    input: LeaseInput,
    now: i64,
    rules: &LeaseRules,
) -> Result<LeaseDecision, LeaseError> {
    let mut draft = LeaseTransition::new(lease, now, rules);
    match input {
        LeaseInput::Grant { worker, token } => draft.grant(worker, token)?,
        LeaseInput::Accept(token) => draft.accept(&token)?,
        LeaseInput::Renew(token) => draft.renew(&token)?,
        LeaseInput::BeginAttempt(token, attempt_number) => draft.begin(&token, attempt_number)?,
        LeaseInput::CloseAttempt {
            token,
            attempt_number,
            end: closing,
            passed,
            stored,
        } => draft.close(&token, attempt_number, closing, passed, stored)?,
        LeaseInput::Complete {
            token,
            completion_id,
            outcome,
        } => draft.complete(&token, completion_id, outcome)?,
        LeaseInput::Release(token, reason) => {
            draft.check_holder(&token)?;
            draft.lose_lease(reason);
        }
        LeaseInput::Tick => draft.tick(),
        LeaseInput::Cancel { by, reason } => draft.cancel(by, reason)?,
        LeaseInput::Review {
            decision,
            epoch,
            record,
        } => draft.review(decision, epoch, record)?,
    }
    Ok(draft.into_decision())
}

struct LeaseTransition<'a> {
    lease: LeaseState,
    events: Vec<LeaseEvent>,
    accepted: InputDisposition,
    now: i64,
    rules: &'a LeaseRules,
}

impl<'a> LeaseTransition<'a> {
    fn new(lease: &LeaseState, now: i64, rules: &'a LeaseRules) -> Self {
        Self {
            lease: lease.clone(),
            events: Vec::new(),
            accepted: InputDisposition::Applied,
            now,
            rules,
        }
    }

    fn into_decision(self) -> LeaseDecision {
        LeaseDecision {
            events: self.events,
            lease: self.lease,
            disposition: self.accepted,
        }
    }

    fn add(&mut self, event: LeaseEvent) {
        self.lease = evolve(std::mem::take(&mut self.lease), &event);
        self.events.push(event);
    }

    fn check_holder(&self, token: &LeaseToken) -> Result<(), LeaseError> {
        if self.lease.is_held_by(token) {
            return Ok(());
        }
        Err(LeaseError::Stale {
            epoch: self.lease.epoch,
        })
    }

    fn extend(&mut self) {
        self.lease.due_at = Some(self.now + self.rules.ttl_ms + self.rules.grace_ms);
    }

    fn grant(&mut self, worker: String, token: String) -> Result<(), LeaseError> {
        if self.lease.state != TaskState::Queued {
            return Err(LeaseError::WrongState(self.lease.state));
        }
        let epoch = self.lease.epoch + 1;
        self.add(LeaseEvent::Granted { epoch, worker });
        self.lease.token = Some(token);
        self.lease.due_at = Some(self.now + self.rules.offer_ms);
        Ok(())
    }

    fn accept(&mut self, token: &LeaseToken) -> Result<(), LeaseError> {
        self.check_holder(token)?;
        if self.lease.state == TaskState::Offered {
            self.add(LeaseEvent::Accepted);
        } else {
            self.accepted = InputDisposition::Duplicate;
        }
        self.extend();
        Ok(())
    }

    fn renew(&mut self, token: &LeaseToken) -> Result<(), LeaseError> {
        self.check_holder(token)?;
        // An offer is accepted by `accept` or by a first run: a renewal alone starts nothing.
        if self.lease.state != TaskState::Offered {
            self.extend();
        }
        Ok(())
    }

    fn begin(&mut self, token: &LeaseToken, attempt_number: u32) -> Result<(), LeaseError> {
        self.check_holder(token)?;
        let next = self.lease.last_attempt + 1;
        match self.lease.open_attempt {
            Some(open) if open == attempt_number => {
                self.accepted = InputDisposition::Duplicate;
                return Ok(());
            }
            Some(expected) => return Err(LeaseError::OutOfOrder { expected }),
            None if attempt_number != next => {
                return Err(LeaseError::OutOfOrder { expected: next });
            }
            None => {}
        }
        if self.lease.cancel.is_some() {
            // The sender has nothing running for this task: it can end immediately.
            self.end(TaskState::Cancelled, Outcome::Cancelled);
            self.accepted = InputDisposition::TaskOver;
            return Ok(());
        }
        self.accept(token)?;
        self.accepted = InputDisposition::Applied;
        self.add(LeaseEvent::RunBegun { attempt_number });
        Ok(())
    }

    fn close(
        &mut self,
        token: &LeaseToken,
        attempt_number: u32,
        closing: AttemptEnd,
        passed: bool,
        stored: Option<bool>,
    ) -> Result<(), LeaseError> {
        // A report that the same holder stored under an earlier epoch is still stored.
        if stored == Some(true)
            && self.lease.open_attempt != Some(attempt_number)
            && self.check_holder(token).is_ok()
        {
            self.accepted = InputDisposition::Duplicate;
            return Ok(());
        }
        self.check_holder(token)?;
        match self.lease.open_attempt {
            Some(open) if open == attempt_number => {
                self.add(LeaseEvent::RunClosed {
                    attempt_number,
                    closing,
                    passed,
                });
                self.extend();
                Ok(())
            }
            // It was closed as interrupted between its checks and its judges, and the next holder has its report
            // nevertheless.
            None if attempt_number == self.lease.last_attempt
                && closing == AttemptEnd::Report
                && stored.is_none() =>
            {
                self.add(LeaseEvent::RunClosed {
                    attempt_number,
                    closing,
                    passed,
                });
                self.extend();
                Ok(())
            }
            _ if attempt_number <= self.lease.last_attempt => {
                Err(LeaseError::Conflict { attempt_number })
            }
            _ => Err(LeaseError::OutOfOrder {
                expected: self.lease.last_attempt + 1,
            }),
        }
    }

    fn complete(
        &mut self,
        token: &LeaseToken,
        id: String,
        outcome: Outcome,
    ) -> Result<(), LeaseError> {
        if self.lease.completion.as_ref() == Some(&id) {
            self.accepted = InputDisposition::Duplicate;
            return Ok(());
        }
        self.check_holder(token)?;
        let Some(state) = TaskState::from_outcome(outcome) else {
            self.lose_lease(LossReason::Infrastructure);
            return Ok(());
        };
        if let Some(attempt_number) = self.lease.open_attempt {
            let closing = match outcome {
                Outcome::Cancelled => AttemptEnd::Cancelled,
                _ => AttemptEnd::SessionFailed,
            };
            self.add(LeaseEvent::RunClosed {
                attempt_number,
                closing,
                passed: false,
            });
        }
        self.add(LeaseEvent::Completed {
            completion_id: id,
            outcome,
        });
        if self.lease.cancel.is_some() {
            self.end(TaskState::Cancelled, Outcome::Cancelled);
        } else if state.is_terminal() {
            self.end(state, outcome);
        }
        Ok(())
    }

    fn end(&mut self, state: TaskState, outcome: Outcome) {
        self.add(LeaseEvent::Ended { state, outcome });
    }

    /// The lease is lost. An open attempt is closed, and the task continues without the holder.
    fn lose_lease(&mut self, reason: LossReason) {
        let charged = matches!(reason, LossReason::Expired | LossReason::Infrastructure);
        if let Some(attempt_number) = self.lease.open_attempt {
            let closing = if self.lease.cancel.is_some() {
                AttemptEnd::Cancelled
            } else {
                AttemptEnd::Interrupted
            };
            self.add(LeaseEvent::RunClosed {
                attempt_number,
                closing,
                passed: false,
            });
        }
        self.add(LeaseEvent::LeaseLost { reason, charged });
        if self.lease.cancel.is_some() {
            self.end(TaskState::Cancelled, Outcome::Cancelled);
        } else if !charged {
            self.add(LeaseEvent::Requeued);
        } else if self.lease.losses > self.rules.max_losses {
            self.end(TaskState::Dead, Outcome::InfraFailed);
        } else {
            let seed = self.lease.token.as_deref().unwrap_or_default();
            let pause_ms = self.rules.backoff_after(reason, self.lease.losses, seed);
            self.add(LeaseEvent::BackedOff { pause_ms });
            self.lease.due_at = Some(self.now + pause_ms);
        }
    }

    fn tick(&mut self) {
        let due = self.lease.due_at.is_some_and(|due| due <= self.now);
        match self.lease.state {
            TaskState::Offered if due => self.add(LeaseEvent::OfferExpired),
            TaskState::Running | TaskState::Cancelling if due => {
                self.lose_lease(LossReason::Expired);
            }
            TaskState::Backoff if due => self.add(LeaseEvent::Requeued),
            _ => self.accepted = InputDisposition::Duplicate,
        }
    }

    fn cancel(&mut self, by: String, reason: String) -> Result<(), LeaseError> {
        if self.lease.cancel.is_some() || self.lease.state == TaskState::Cancelled {
            self.accepted = InputDisposition::Duplicate;
            return Ok(());
        }
        if self.lease.state.is_terminal() {
            return Err(LeaseError::WrongState(self.lease.state));
        }
        self.add(LeaseEvent::CancelRequested { by, reason });
        // Only a holder that has begun something has something to end.
        if self.lease.state != TaskState::Cancelling {
            self.end(TaskState::Cancelled, Outcome::Cancelled);
        }
        Ok(())
    }

    fn review(
        &mut self,
        decision: ReviewDecision,
        epoch: u64,
        record: ReviewRecord,
    ) -> Result<(), LeaseError> {
        if self.lease.state != TaskState::NeedsReview {
            return Err(LeaseError::NotAwaitingReview(self.lease.state));
        }
        // Invariant: a decision applies only to the exact work that the reviewer decided on.
        let current = self.lease.last_attempt;
        if epoch != self.lease.epoch || record.target.attempt != Some(current) {
            return Err(LeaseError::OtherAttempt { current });
        }
        self.add(LeaseEvent::Reviewed {
            record,
            retry: decision == ReviewDecision::Retry,
        });
        match decision {
            ReviewDecision::Accept => self.end(TaskState::Succeeded, Outcome::Verified),
            ReviewDecision::Reject => self.end(TaskState::Failed, Outcome::MaxRetriesExhausted),
            ReviewDecision::Retry => {}
        }
        Ok(())
    }
}
