//! A model test: any inputs in any order, from workers of the present and of the past, keep what
//! the protocol promises.

use proptest::prelude::*;

use super::*;
use crate::fleet::TaskState;
use crate::model::{Closing, Outcome, ReviewRecord, ReviewTarget};

const RULES: Rules = Rules {
    ttl_ms: 300,
    grace_ms: 100,
    offer_ms: 100,
    backoff_ms: 10,
    max_losses: 2,
};

#[derive(Debug, Clone)]
enum Step {
    Grant,
    /// A worker's word, by the grant it believes in: 0 is the latest, 1 the one before.
    Worker(usize, Word),
    Wait(i64),
    Cancel,
    Review(u8),
}

#[derive(Debug, Clone, Copy)]
enum Word {
    Accept,
    Renew,
    Begin(i32),
    Close(i32, bool),
    Complete(Outcome, bool),
    GiveUp(bool),
}

fn word() -> impl Strategy<Value = Word> {
    let outcome = prop_oneof![
        Just(Outcome::Verified),
        Just(Outcome::Stuck),
        Just(Outcome::NeedsReview),
        Just(Outcome::InfraFailed),
        Just(Outcome::Cancelled),
        Just(Outcome::Interrupted),
    ];
    prop_oneof![
        1 => Just(Word::Accept),
        1 => Just(Word::Renew),
        4 => (-1..2i32).prop_map(Word::Begin),
        4 => (-1..1i32, any::<bool>()).prop_map(|(offset, same)| Word::Close(offset, same)),
        2 => (outcome, any::<bool>()).prop_map(|(outcome, same)| Word::Complete(outcome, same)),
        1 => any::<bool>().prop_map(Word::GiveUp),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Grant),
        12 => (prop_oneof![4 => Just(0usize), 1 => 1..3usize], word()).prop_map(|(age, word)| Step::Worker(age, word)),
        3 => (0..500i64).prop_map(Step::Wait),
        1 => Just(Step::Cancel),
        1 => (0..3u8).prop_map(Step::Review),
    ]
}

/// What the world around a lease remembers: the fences given out, and what was told.
#[derive(Default)]
struct World {
    lease: Lease,
    now: i64,
    fences: Vec<Fence>,
    log: Vec<LeaseEvent>,
    completions: Vec<String>,
}

impl World {
    fn input(&self, step: &Step) -> Option<(Input, Option<Fence>)> {
        let fresh = |kind: &str| format!("{kind}{}", self.log.len());
        Some(match step {
            Step::Grant => (
                Input::Grant {
                    worker: "w".to_owned(),
                    token: fresh("token"),
                },
                None,
            ),
            Step::Wait(_) => (Input::Tick, None),
            Step::Cancel => (
                Input::Cancel {
                    by: "me".to_owned(),
                    reason: String::new(),
                },
                None,
            ),
            Step::Review(which) => (
                Input::Review {
                    epoch: self.lease.epoch,
                    record: ReviewRecord {
                        accepted: *which == 0,
                        by: "me".to_owned(),
                        stated_by: None,
                        reason: "again".to_owned(),
                        target: ReviewTarget {
                            attempt: Some(self.lease.last_run),
                            tree: None,
                        },
                    },
                    review: [Review::Accept, Review::Reject, Review::Retry][usize::from(*which)],
                },
                None,
            ),
            Step::Worker(age, word) => {
                let fence = self.fences.iter().rev().nth(*age)?.clone();
                (
                    self.word(fence.clone(), *word, fresh("completion")),
                    Some(fence),
                )
            }
        })
    }

    fn word(&self, fence: Fence, word: Word, fresh: String) -> Input {
        let run = |offset: i32| self.lease.last_run.saturating_add_signed(offset + 1).max(1);
        match word {
            Word::Accept => Input::Accept(fence),
            Word::Renew => Input::Renew(fence),
            Word::Begin(offset) => Input::BeginRun(fence, run(offset)),
            Word::Close(offset, same) => {
                let run_number = run(offset);
                let told = self.log.iter().any(|event| {
                    matches!(event, LeaseEvent::RunClosed { run_number: n, closing: Closing::Report } if *n == run_number)
                });
                Input::CloseRun {
                    fence,
                    run_number,
                    closing: Closing::Report,
                    stored: told.then_some(same),
                }
            }
            Word::Complete(outcome, same) => Input::Complete {
                fence,
                completion_id: self
                    .completions
                    .last()
                    .filter(|_| same)
                    .map_or(fresh, Clone::clone),
                outcome,
            },
            Word::GiveUp(drained) => Input::GiveUp(
                fence,
                if drained {
                    LossReason::Drained
                } else {
                    LossReason::Infrastructure
                },
            ),
        }
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        if let Step::Wait(period) = step {
            self.now += period;
        }
        let Some((input, fence)) = self.input(step) else {
            return Ok(());
        };
        let before = self.lease.clone();
        let decided = decide(&before, input.clone(), self.now, &RULES);
        if let Some(fence) = fence.filter(|fence| !before.is_held_by(fence)) {
            let harmless = decided.as_ref().map_or(true, |decision| {
                decision.events.is_empty() && decision.lease == before
            });
            // What was told before may be told again by anyone: nothing changes.
            prop_assert!(harmless, "{fence:?} is fenced off, and {input:?} counted");
        }
        let Ok(decision) = decided else {
            return Ok(());
        };
        prop_assert!(!before.state.is_terminal() || decision.lease == before);
        prop_assert!(decision.accepted != Accepted::Already || decision.events.is_empty());
        for event in &decision.events {
            match event {
                LeaseEvent::Granted { epoch, .. } => prop_assert_eq!(*epoch, before.epoch + 1),
                LeaseEvent::RunBegun { run_number } => {
                    prop_assert_eq!(*run_number, before.last_run + 1);
                    prop_assert!(before.open_run.is_none() && before.cancel.is_none());
                }
                LeaseEvent::Completed { completion_id, .. } => {
                    self.completions.push(completion_id.clone());
                }
                _ => {}
            }
        }
        if let (Step::Grant, Some(token)) = (step, decision.lease.token.clone()) {
            self.fences.push(Fence {
                epoch: decision.lease.epoch,
                token,
            });
        }
        self.log.extend(decision.events);
        self.lease = decision.lease;
        self.holds()
    }

    fn holds(&self) -> Result<(), TestCaseError> {
        let lease = &self.lease;
        prop_assert!(lease.open_run.is_none() || lease.is_held());
        prop_assert!(lease.open_run.is_none_or(|open| open == lease.last_run));
        prop_assert_eq!(
            lease.state.is_terminal() || lease.state == TaskState::NeedsReview,
            lease.outcome.is_some()
        );
        let waits = lease.is_held() || lease.state == TaskState::Backoff;
        prop_assert_eq!(waits, lease.due_at.is_some(), "{:?}", lease);
        let reports = self.log.iter().filter(|event| {
            matches!(event, LeaseEvent::RunClosed { closing, .. } if *closing == Closing::Report)
        });
        prop_assert_eq!(lease.reports as usize, reports.count());
        prop_assert!(lease.losses <= RULES.max_losses + 1);
        Ok(())
    }

    /// The table of tasks is the log, folded; tokens and deadlines are no history.
    fn replays(&self) -> Result<(), TestCaseError> {
        let mut folded = self.log.iter().fold(Lease::default(), evolve);
        folded.token = self.lease.token.clone();
        folded.due_at = self.lease.due_at;
        prop_assert_eq!(&folded, &self.lease);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_words_in_any_order_keep_the_protocol(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::default();
        for step in &steps {
            world.take(step)?;
        }
        world.replays()?;
    }

    #[test]
    fn every_task_ends_once_faults_stop(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = World::default();
        for step in &steps {
            world.take(step)?;
        }
        for _ in 0..20 {
            world.take(&Step::Wait(1_000))?;
            world.take(&Step::Grant)?;
            world.take(&Step::Worker(0, Word::Begin(0)))?;
            world.take(&Step::Worker(0, Word::Close(-1, true)))?;
            world.take(&Step::Worker(0, Word::Complete(Outcome::Verified, false)))?;
            world.take(&Step::Review(0))?;
        }
        prop_assert!(world.lease.state.is_terminal(), "{:?}", world.lease);
    }
}

#[test]
fn losses_are_charged_apart_from_reports_until_the_task_is_dead() {
    let mut lease = Lease::default();
    let mut pauses = Vec::new();
    for round in 1..=3 {
        let token = format!("token{round}");
        let worker = "w".to_owned();
        lease = decide(
            &lease,
            Input::Grant {
                worker,
                token: token.clone(),
            },
            0,
            &RULES,
        )
        .unwrap()
        .lease;
        let fence = Fence {
            epoch: lease.epoch,
            token,
        };
        let next = lease.last_run + 1;
        lease = decide(&lease, Input::BeginRun(fence, next), 0, &RULES)
            .unwrap()
            .lease;
        assert_eq!(lease.due_at, Some(RULES.ttl_ms + RULES.grace_ms));
        let lost = decide(&lease, Input::Tick, 400, &RULES).unwrap();
        assert!(lost.events.contains(&LeaseEvent::RunClosed {
            run_number: next,
            closing: Closing::Interrupted
        }));
        pauses.extend(lost.lease.due_at.map(|due| due - 400));
        lease = decide(&lost.lease, Input::Tick, 10_000, &RULES)
            .unwrap()
            .lease;
    }
    assert_eq!(pauses, [10, 20]);
    assert_eq!((lease.state, lease.reports), (TaskState::Dead, 0));
    assert_eq!(lease.outcome, Some(Outcome::InfraFailed));
    assert_eq!((lease.last_run, lease.epoch), (3, 3));
}

#[test]
fn of_success_and_cancellation_the_first_commit_wins() {
    let token = "token".to_owned();
    let fence = Fence {
        epoch: 1,
        token: token.clone(),
    };
    let worker = "w".to_owned();
    let offered = decide(&Lease::default(), Input::Grant { worker, token }, 0, &RULES).unwrap();
    let running = decide(&offered.lease, Input::BeginRun(fence.clone(), 1), 0, &RULES).unwrap();
    let success = Input::Complete {
        fence,
        completion_id: "once".to_owned(),
        outcome: Outcome::Verified,
    };
    let cancel = Input::Cancel {
        by: "me".to_owned(),
        reason: String::new(),
    };
    let done = decide(&running.lease, success.clone(), 0, &RULES).unwrap();
    assert_eq!(done.lease.state, TaskState::Succeeded);
    assert_eq!(
        decide(&done.lease, cancel.clone(), 0, &RULES),
        Err(Refusal::NotNow(TaskState::Succeeded))
    );
    let cancelling = decide(&running.lease, cancel, 0, &RULES).unwrap();
    assert_eq!(cancelling.lease.state, TaskState::Cancelling);
    let done = decide(&cancelling.lease, success, 0, &RULES).unwrap();
    assert_eq!(done.lease.state, TaskState::Cancelled);
}
