//! A model test: any inputs in any order, from current and former workers, preserve the protocol's guarantees.

use proptest::prelude::*;

use super::*;
use crate::{LeaseToken, ReviewDecision, TaskState};
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord, ReviewTarget};

const RULES: LeaseRules = LeaseRules {
    ttl_ms: 300,
    grace_ms: 100,
    offer_ms: 100,
    expiry_backoff_ms: 10,
    backoff_ms: 100,
    max_losses: 2,
};

#[derive(Debug, Clone)]
enum LeaseStep {
    Grant,
    /// A worker's message, by the assignment that it assumes: 0 is the latest, 1 the one before.
    Worker(usize, WorkerAction),
    Wait(i64),
    Cancel,
    Review(u8),
}

#[derive(Debug, Clone, Copy)]
enum WorkerAction {
    Accept,
    Renew,
    Begin(i32),
    Close(i32, bool),
    Complete(Outcome, bool),
    GiveUp(bool),
}

fn word() -> impl Strategy<Value = WorkerAction> {
    let outcome = prop_oneof![
        Just(Outcome::Verified),
        Just(Outcome::Stuck),
        Just(Outcome::NeedsReview),
        Just(Outcome::InfraFailed),
        Just(Outcome::Cancelled),
        Just(Outcome::Interrupted),
    ];
    prop_oneof![
        1 => Just(WorkerAction::Accept),
        1 => Just(WorkerAction::Renew),
        4 => (-1..2i32).prop_map(WorkerAction::Begin),
        4 => (-1..1i32, any::<bool>()).prop_map(|(offset, same)| WorkerAction::Close(offset, same)),
        2 => (outcome, any::<bool>()).prop_map(|(outcome, same)| WorkerAction::Complete(outcome, same)),
        1 => any::<bool>().prop_map(WorkerAction::GiveUp),
    ]
}

fn step() -> impl Strategy<Value = LeaseStep> {
    prop_oneof![
        3 => Just(LeaseStep::Grant),
        12 => (prop_oneof![4 => Just(0usize), 1 => 1..3usize], word()).prop_map(|(age, word)| LeaseStep::Worker(age, word)),
        3 => (0..500i64).prop_map(LeaseStep::Wait),
        1 => Just(LeaseStep::Cancel),
        1 => (0..3u8).prop_map(LeaseStep::Review),
    ]
}

fn lease_token(lease_epoch: u64, lease_token: String) -> LeaseToken {
    LeaseToken {
        task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
        lease_epoch,
        lease_token,
    }
}

/// The environment of a lease: the issued credentials, and what was reported.
#[derive(Default)]
struct LeaseWorld {
    lease: LeaseState,
    now: i64,
    tokens: Vec<LeaseToken>,
    log: Vec<LeaseEvent>,
    completions: Vec<String>,
}

impl LeaseWorld {
    fn input(&self, step: &LeaseStep) -> Option<(LeaseInput, Option<LeaseToken>)> {
        let fresh = |kind: &str| format!("{kind}{}", self.log.len());
        Some(match step {
            LeaseStep::Grant => (
                LeaseInput::Grant {
                    worker: "w".to_owned(),
                    token: fresh("token"),
                },
                None,
            ),
            LeaseStep::Wait(_) => (LeaseInput::Tick, None),
            LeaseStep::Cancel => (
                LeaseInput::Cancel {
                    by: "me".to_owned(),
                    reason: String::new(),
                },
                None,
            ),
            LeaseStep::Review(which) => (
                LeaseInput::Review {
                    epoch: self.lease.epoch,
                    record: ReviewRecord {
                        accepted: *which == 0,
                        by: "me".to_owned(),
                        stated_by: None,
                        reason: "again".to_owned(),
                        target: ReviewTarget {
                            attempt: Some(self.lease.last_attempt),
                            tree: None,
                        },
                    },
                    decision: [
                        ReviewDecision::Accept,
                        ReviewDecision::Reject,
                        ReviewDecision::Retry,
                    ][usize::from(*which)],
                },
                None,
            ),
            LeaseStep::Worker(age, word) => {
                let token = self.tokens.iter().rev().nth(*age)?.clone();
                (
                    self.word(token.clone(), *word, fresh("completion")),
                    Some(token),
                )
            }
        })
    }

    fn word(&self, token: LeaseToken, word: WorkerAction, fresh: String) -> LeaseInput {
        let run = |offset: i32| {
            self.lease
                .last_attempt
                .saturating_add_signed(offset + 1)
                .max(1)
        };
        match word {
            WorkerAction::Accept => LeaseInput::Accept(token),
            WorkerAction::Renew => LeaseInput::Renew(token),
            WorkerAction::Begin(offset) => LeaseInput::BeginAttempt(token, run(offset)),
            WorkerAction::Close(offset, same) => {
                let attempt_number = run(offset);
                let was_reported = self.log.iter().any(|event| {
                    matches!(event, LeaseEvent::RunClosed { attempt_number: n, closing: AttemptEnd::Report, .. } if *n == attempt_number)
                });
                LeaseInput::CloseAttempt {
                    token,
                    attempt_number,
                    end: AttemptEnd::Report,
                    passed: same,
                    stored: was_reported.then_some(same),
                }
            }
            WorkerAction::Complete(outcome, same) => LeaseInput::Complete {
                token,
                completion_id: self
                    .completions
                    .last()
                    .filter(|_| same)
                    .map_or(fresh, Clone::clone),
                outcome,
            },
            WorkerAction::GiveUp(drained) => LeaseInput::Release(
                token,
                if drained {
                    LossReason::Drained
                } else {
                    LossReason::Infrastructure
                },
            ),
        }
    }

    fn take(&mut self, step: &LeaseStep) -> Result<(), TestCaseError> {
        if let LeaseStep::Wait(period) = step {
            self.now += period;
        }
        let Some((input, sender)) = self.input(step) else {
            return Ok(());
        };
        let before = self.lease.clone();
        let decided = decide(&before, input.clone(), self.now, &RULES);
        if let Some(sender) = sender.filter(|sender| !before.is_held_by(sender)) {
            let harmless = decided.as_ref().map_or(true, |decision| {
                decision.events.is_empty() && decision.lease == before
            });
            // A repeated report is accepted from any credential: nothing changes.
            prop_assert!(
                harmless,
                "{sender:?} is not the holder, and {input:?} counted"
            );
        }
        let Ok(decision) = decided else {
            return Ok(());
        };
        prop_assert!(!before.state.is_terminal() || decision.lease == before);
        prop_assert!(
            decision.disposition != InputDisposition::Duplicate || decision.events.is_empty()
        );
        for event in &decision.events {
            match event {
                LeaseEvent::Granted { epoch, .. } => prop_assert_eq!(*epoch, before.epoch + 1),
                LeaseEvent::RunBegun { attempt_number } => {
                    prop_assert_eq!(*attempt_number, before.last_attempt + 1);
                    prop_assert!(before.open_attempt.is_none() && before.cancel.is_none());
                }
                LeaseEvent::Completed { completion_id, .. } => {
                    self.completions.push(completion_id.clone());
                }
                _ => {}
            }
        }
        if let (LeaseStep::Grant, Some(token)) = (step, decision.lease.token.clone()) {
            self.tokens.push(lease_token(decision.lease.epoch, token));
        }
        self.log.extend(decision.events);
        self.lease = decision.lease;
        self.holds()
    }

    fn holds(&self) -> Result<(), TestCaseError> {
        let lease = &self.lease;
        prop_assert!(lease.open_attempt.is_none() || lease.is_held());
        prop_assert!(
            lease
                .open_attempt
                .is_none_or(|open| open == lease.last_attempt)
        );
        prop_assert_eq!(
            lease.state.is_terminal() || lease.state == TaskState::NeedsReview,
            lease.outcome.is_some()
        );
        let waits = lease.is_held() || lease.state == TaskState::Backoff;
        prop_assert_eq!(waits, lease.due_at.is_some(), "{:?}", lease);
        let reports = self.log.iter().filter(|event| {
            matches!(event, LeaseEvent::RunClosed { closing, .. } if *closing == AttemptEnd::Report)
        });
        prop_assert_eq!(lease.reports as usize, reports.count());
        prop_assert!(lease.losses <= RULES.max_losses + 1);
        Ok(())
    }

    /// The table of tasks equals the folded log; tokens and deadlines are not in the log.
    fn replays(&self) -> Result<(), TestCaseError> {
        let mut folded = self.log.iter().fold(LeaseState::default(), evolve);
        folded.token = self.lease.token.clone();
        folded.due_at = self.lease.due_at;
        prop_assert_eq!(&folded, &self.lease);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn lease_invariants_hold_for_random_inputs(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = LeaseWorld::default();
        for step in &steps {
            world.take(step)?;
        }
        world.replays()?;
    }

    #[test]
    fn lease_task_ends_once_faults_stop(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = LeaseWorld::default();
        for step in &steps {
            world.take(step)?;
        }
        for _ in 0..20 {
            world.take(&LeaseStep::Wait(1_000))?;
            world.take(&LeaseStep::Grant)?;
            world.take(&LeaseStep::Worker(0, WorkerAction::Begin(0)))?;
            world.take(&LeaseStep::Worker(0, WorkerAction::Close(-1, true)))?;
            world.take(&LeaseStep::Worker(0, WorkerAction::Complete(Outcome::Verified, false)))?;
            world.take(&LeaseStep::Review(0))?;
        }
        prop_assert!(world.lease.state.is_terminal(), "{:?}", world.lease);
    }
}

#[test]
fn lease_losses_are_counted_until_task_is_dead() {
    let mut lease = LeaseState::default();
    let mut pauses = Vec::new();
    for round in 1..=3 {
        let token = format!("token{round}");
        let worker = "w".to_owned();
        lease = decide(
            &lease,
            LeaseInput::Grant {
                worker,
                token: token.clone(),
            },
            0,
            &RULES,
        )
        .unwrap()
        .lease;
        let token = lease_token(lease.epoch, token);
        let next = lease.last_attempt + 1;
        lease = decide(&lease, LeaseInput::BeginAttempt(token, next), 0, &RULES)
            .unwrap()
            .lease;
        assert_eq!(lease.due_at, Some(RULES.ttl_ms + RULES.grace_ms));
        let lost = decide(&lease, LeaseInput::Tick, 400, &RULES).unwrap();
        assert!(lost.events.contains(&LeaseEvent::RunClosed {
            attempt_number: next,
            closing: AttemptEnd::Interrupted,
            passed: false
        }));
        pauses.extend(lost.lease.due_at.map(|due| due - 400));
        lease = decide(&lost.lease, LeaseInput::Tick, 10_000, &RULES)
            .unwrap()
            .lease;
    }
    assert_eq!(pauses, [10, 20]);
    assert_eq!((lease.state, lease.reports), (TaskState::Dead, 0));
    assert_eq!(lease.outcome, Some(Outcome::InfraFailed));
    assert_eq!((lease.last_attempt, lease.epoch), (3, 3));
}

#[test]
fn lease_first_of_success_and_cancellation_wins() {
    let token = lease_token(1, "token".to_owned());
    let grant = LeaseInput::Grant {
        worker: "w".to_owned(),
        token: token.lease_token.clone(),
    };
    let offered = decide(&LeaseState::default(), grant, 0, &RULES).unwrap();
    let running = decide(
        &offered.lease,
        LeaseInput::BeginAttempt(token.clone(), 1),
        0,
        &RULES,
    )
    .unwrap();
    let success = LeaseInput::Complete {
        token,
        completion_id: "once".to_owned(),
        outcome: Outcome::Verified,
    };
    let cancel = LeaseInput::Cancel {
        by: "me".to_owned(),
        reason: String::new(),
    };
    let done = decide(&running.lease, success.clone(), 0, &RULES).unwrap();
    assert_eq!(done.lease.state, TaskState::Succeeded);
    assert_eq!(
        decide(&done.lease, cancel.clone(), 0, &RULES),
        Err(LeaseError::WrongState(TaskState::Succeeded))
    );
    let cancelling = decide(&running.lease, cancel, 0, &RULES).unwrap();
    assert_eq!(cancelling.lease.state, TaskState::Cancelling);
    let done = decide(&cancelling.lease, success, 0, &RULES).unwrap();
    assert_eq!(done.lease.state, TaskState::Cancelled);
}
