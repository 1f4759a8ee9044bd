//! The transition table of a lease: every input, what it leads to, and why it may be refused.
//!
//! Invariants kept here: an epoch only goes up; a write of an earlier epoch changes nothing; a
//! terminal state stays; run numbers have no gaps and at most one run is open; a task that is to be
//! cancelled begins no run.

use super::event::{LeaseEvent, LossReason, evolve};
use super::input::{Accepted, Decision, Input, Refusal, Review};
use super::state::{Fence, Lease, Rules};
use crate::fleet::TaskState;
use crate::model::{Closing, Outcome, ReviewRecord};

/// Says what follows. `now` is in milliseconds since 1970, by the one clock that the store trusts.
pub fn decide(lease: &Lease, input: Input, now: i64, rules: &Rules) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(lease, now, rules);
    match input {
        Input::Grant { worker, token } => draft.grant(worker, token)?,
        Input::Accept(fence) => draft.accept(&fence)?,
        Input::Renew(fence) => draft.renew(&fence)?,
        Input::BeginRun(fence, run_number) => draft.begin(&fence, run_number)?,
        Input::CloseRun {
            fence,
            run_number,
            closing,
            stored,
        } => draft.close(&fence, run_number, closing, stored)?,
        Input::Complete {
            fence,
            completion_id,
            outcome,
        } => draft.complete(&fence, completion_id, outcome)?,
        Input::GiveUp(fence, reason) => {
            draft.held(&fence)?;
            draft.lose(reason);
        }
        Input::Tick => draft.tick(),
        Input::Cancel { by, reason } => draft.cancel(by, reason)?,
        Input::Review {
            review,
            epoch,
            record,
        } => draft.review(review, epoch, record)?,
    }
    Ok(draft.done())
}

struct Draft<'a> {
    lease: Lease,
    events: Vec<LeaseEvent>,
    accepted: Accepted,
    now: i64,
    rules: &'a Rules,
}

impl<'a> Draft<'a> {
    fn new(lease: &Lease, now: i64, rules: &'a Rules) -> Self {
        Self {
            lease: lease.clone(),
            events: Vec::new(),
            accepted: Accepted::Now,
            now,
            rules,
        }
    }

    fn done(self) -> Decision {
        Decision {
            events: self.events,
            lease: self.lease,
            accepted: self.accepted,
        }
    }

    fn add(&mut self, event: LeaseEvent) {
        self.lease = evolve(std::mem::take(&mut self.lease), &event);
        self.events.push(event);
    }

    fn held(&self, fence: &Fence) -> Result<(), Refusal> {
        if self.lease.is_held_by(fence) {
            return Ok(());
        }
        Err(Refusal::Stale {
            epoch: self.lease.epoch,
        })
    }

    fn extend(&mut self) {
        self.lease.due_at = Some(self.now + self.rules.ttl_ms + self.rules.grace_ms);
    }

    fn grant(&mut self, worker: String, token: String) -> Result<(), Refusal> {
        if self.lease.state != TaskState::Queued {
            return Err(Refusal::NotNow(self.lease.state));
        }
        let epoch = self.lease.epoch + 1;
        self.add(LeaseEvent::Granted { epoch, worker });
        self.lease.token = Some(token);
        self.lease.due_at = Some(self.now + self.rules.offer_ms);
        Ok(())
    }

    fn accept(&mut self, fence: &Fence) -> Result<(), Refusal> {
        self.held(fence)?;
        if self.lease.state == TaskState::Offered {
            self.add(LeaseEvent::Accepted);
        } else {
            self.accepted = Accepted::Already;
        }
        self.extend();
        Ok(())
    }

    fn renew(&mut self, fence: &Fence) -> Result<(), Refusal> {
        self.held(fence)?;
        // An offer is taken by `accept` or by a first run: a renewal alone starts nothing.
        if self.lease.state != TaskState::Offered {
            self.extend();
        }
        Ok(())
    }

    fn begin(&mut self, fence: &Fence, run_number: u32) -> Result<(), Refusal> {
        self.held(fence)?;
        let next = self.lease.last_run + 1;
        match self.lease.open_run {
            Some(open) if open == run_number => {
                self.accepted = Accepted::Already;
                return Ok(());
            }
            Some(expected) => return Err(Refusal::OutOfOrder { expected }),
            None if run_number != next => return Err(Refusal::OutOfOrder { expected: next }),
            None => {}
        }
        if self.lease.cancel.is_some() {
            // Whoever asks has nothing at work for this task: it can be over at once.
            self.end(TaskState::Cancelled, Outcome::Cancelled);
            self.accepted = Accepted::Over;
            return Ok(());
        }
        self.accept(fence)?;
        self.accepted = Accepted::Now;
        self.add(LeaseEvent::RunBegun { run_number });
        Ok(())
    }

    fn close(
        &mut self,
        fence: &Fence,
        run_number: u32,
        closing: Closing,
        stored: Option<bool>,
    ) -> Result<(), Refusal> {
        // What was stored under another epoch of the same holder's past is still what was stored.
        if stored == Some(true)
            && self.lease.open_run != Some(run_number)
            && self.held(fence).is_ok()
        {
            self.accepted = Accepted::Already;
            return Ok(());
        }
        self.held(fence)?;
        match self.lease.open_run {
            Some(open) if open == run_number => {
                self.add(LeaseEvent::RunClosed {
                    run_number,
                    closing,
                });
                self.extend();
                Ok(())
            }
            // It was closed as interrupted between its checks and its judges, and whoever goes on has
            // come to its report all the same.
            None if run_number == self.lease.last_run
                && closing == Closing::Report
                && stored.is_none() =>
            {
                self.add(LeaseEvent::RunClosed {
                    run_number,
                    closing,
                });
                self.extend();
                Ok(())
            }
            _ if run_number <= self.lease.last_run => Err(Refusal::Conflict { run_number }),
            _ => Err(Refusal::OutOfOrder {
                expected: self.lease.last_run + 1,
            }),
        }
    }

    fn complete(&mut self, fence: &Fence, id: String, outcome: Outcome) -> Result<(), Refusal> {
        if self.lease.completion.as_ref() == Some(&id) {
            self.accepted = Accepted::Already;
            return Ok(());
        }
        self.held(fence)?;
        let Some(state) = TaskState::after(outcome) else {
            self.lose(LossReason::Infrastructure);
            return Ok(());
        };
        if let Some(run_number) = self.lease.open_run {
            let closing = match outcome {
                Outcome::Cancelled => Closing::Cancelled,
                _ => Closing::SessionFailed,
            };
            self.add(LeaseEvent::RunClosed {
                run_number,
                closing,
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

    /// The holder is gone. What it had begun is closed, and the task goes on without it.
    fn lose(&mut self, reason: LossReason) {
        let charged = matches!(reason, LossReason::Expired | LossReason::Infrastructure);
        if let Some(run_number) = self.lease.open_run {
            let closing = if self.lease.cancel.is_some() {
                Closing::Cancelled
            } else {
                Closing::Interrupted
            };
            self.add(LeaseEvent::RunClosed {
                run_number,
                closing,
            });
        }
        self.add(LeaseEvent::LeaseLost { reason, charged });
        if self.lease.cancel.is_some() {
            self.end(TaskState::Cancelled, Outcome::Cancelled);
        } else if matches!(reason, LossReason::Drained | LossReason::Forgotten) {
            self.add(LeaseEvent::Requeued);
        } else if self.lease.losses > self.rules.max_losses {
            self.end(TaskState::Dead, Outcome::InfraFailed);
        } else {
            let doublings = self.lease.losses.saturating_sub(1).min(6);
            let pause_ms = self.rules.backoff_ms << doublings;
            self.add(LeaseEvent::BackedOff { pause_ms });
            self.lease.due_at = Some(self.now + pause_ms);
        }
    }

    fn tick(&mut self) {
        let due = self.lease.due_at.is_some_and(|due| due <= self.now);
        match self.lease.state {
            TaskState::Offered if due => self.add(LeaseEvent::OfferExpired),
            TaskState::Running | TaskState::Cancelling if due => self.lose(LossReason::Expired),
            TaskState::Backoff if due => self.add(LeaseEvent::Requeued),
            _ => self.accepted = Accepted::Already,
        }
    }

    fn cancel(&mut self, by: String, reason: String) -> Result<(), Refusal> {
        if self.lease.cancel.is_some() || self.lease.state == TaskState::Cancelled {
            self.accepted = Accepted::Already;
            return Ok(());
        }
        if self.lease.state.is_terminal() {
            return Err(Refusal::NotNow(self.lease.state));
        }
        self.add(LeaseEvent::CancelRequested { by, reason });
        // Only who has begun something has something to end.
        if self.lease.state != TaskState::Cancelling {
            self.end(TaskState::Cancelled, Outcome::Cancelled);
        }
        Ok(())
    }

    fn review(&mut self, review: Review, epoch: u64, record: ReviewRecord) -> Result<(), Refusal> {
        if self.lease.state != TaskState::NeedsReview {
            return Err(Refusal::NotAwaitingReview(self.lease.state));
        }
        // Invariant: a decision counts for the very work that the reviewer decided on.
        let current = self.lease.last_run;
        if epoch != self.lease.epoch || record.target.attempt != Some(current) {
            return Err(Refusal::OtherWork { current });
        }
        self.add(LeaseEvent::Reviewed {
            by: record.by,
            stated_by: record.stated_by,
            target: record.target,
            accepted: review == Review::Accept,
            retry: review == Review::Retry,
            reason: record.reason,
        });
        match review {
            Review::Accept => self.end(TaskState::Succeeded, Outcome::Verified),
            Review::Reject => self.end(TaskState::Failed, Outcome::MaxRetriesExhausted),
            Review::Retry => {}
        }
        Ok(())
    }
}
