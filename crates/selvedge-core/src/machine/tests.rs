//! Properties of the loop over random worlds: whatever agents and checks do, whenever somebody
//! stops it or it crashes.

use proptest::prelude::*;

use super::{Control, Input, Phase, State, decide, evolve};
use crate::model::{
    AgentKind, AgentSpec, Budget, CheckMarks, CheckReport, CheckStatus, Closing, Cost, CostSource,
    ENVELOPE_VERSION, EffectId, EffectKind, Envelope, Event, GateReport, MicroUsd, Outcome, Report,
    ReportStatus, ReportSummary, RunId, RunSpec, SessionLimits, SessionOutcome, SessionStatus,
    Step, StepKind, TaskId, Timestamp, TreeId, Usage, VerificationPlan,
};

/// What one attempt meets.
#[derive(Debug, Clone)]
struct Fate {
    session: SessionStatus,
    cost: Option<u64>,
    report: ReportStatus,
    /// Which tree the attempt leaves behind: few, so that trees repeat.
    tree: u8,
}

/// What befalls an effect while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mishap {
    None,
    Crash,
    Suspend,
    Cancel,
}

#[derive(Debug, Clone)]
struct World {
    retries: u32,
    shell: bool,
    snapshots: bool,
    cap: Option<u64>,
    /// By attempt; the last one stands for all after it.
    fates: Vec<Fate>,
    /// One for each session or verification run; none once they are used up.
    mishaps: Vec<Mishap>,
}

fn spec(world: &World) -> RunSpec {
    RunSpec {
        task_id: TaskId::new(uuid::Uuid::from_u128(7)),
        description: "mend it".into(),
        acceptance_criteria: None,
        workspace: "/w".into(),
        agent: AgentSpec {
            name: "a".into(),
            kind: if world.shell {
                AgentKind::Shell
            } else {
                AgentKind::Command
            },
            program: vec!["a".into()],
            model: None,
            base_url: None,
            env: std::collections::BTreeMap::new(),
            env_from: std::collections::BTreeMap::new(),
            api_retries: 0,
            deterministic: false,
            prompt_as_argument: false,
        },
        verification: VerificationPlan::Steps {
            steps: vec![Step::new(StepKind::Command, "c")],
        },
        max_verification_retries: world.retries,
        verification_timeout_ms: 1000,
        limits: SessionLimits {
            wall_ms: 1,
            silence_ms: 1,
            max_turns: None,
        },
        budget: Budget {
            cost_micro_usd: world.cap.map(MicroUsd),
            ..Budget::default()
        },
        between_attempts: crate::model::BetweenAttempts::Keep,
        on_exhausted: crate::model::OnExhausted::Best,
        snapshots: world.snapshots,
        selvedge_version: "test".into(),
    }
}

fn report(run_number: u32, status: ReportStatus, tree: Option<TreeId>) -> Report {
    let check = CheckReport {
        kind: StepKind::Command,
        target: "c".into(),
        name: None,
        status: match status {
            ReportStatus::Pass => CheckStatus::Pass,
            ReportStatus::Error => CheckStatus::Error,
            _ => CheckStatus::Fail,
        },
        reason: None,
        exit_code: None,
        duration_ms: 1,
        output: String::new(),
        output_ref: None,
        failures: Vec::new(),
        digest: None,
        tests: None,
        marks: CheckMarks::default(),
    };
    // A second check holds on some trees only, so that some attempts are worth more than others.
    let odd = tree
        .as_ref()
        .is_some_and(|tree| tree.as_str().ends_with('1'));
    let second = if odd { CheckStatus::Pass } else { check.status };
    let checks = vec![
        check.clone(),
        CheckReport {
            target: "d".into(),
            status: second,
            ..check
        },
    ];
    Report {
        task_id: TaskId::new(uuid::Uuid::from_u128(7)),
        run_number,
        status,
        summary: ReportSummary::of(&checks),
        checks,
        gates: Vec::new(),
        tree,
        started_at: Timestamp::UNIX_EPOCH,
        duration_ms: 1,
    }
}

/// A driver without a world: the journal in memory, effects answered by fate.
struct Simulation {
    state: State,
    journal: Vec<Envelope>,
}

impl Simulation {
    fn say(&mut self, input: Input) {
        let name = input.name();
        let events = decide(&self.state, input).unwrap_or_else(|e| panic!("{name}: {e}"));
        for event in events {
            let envelope = Envelope {
                v: ENVELOPE_VERSION,
                run_id: RunId::new(uuid::Uuid::from_u128(1)),
                seq: self.state.seq + 1,
                at: Timestamp::UNIX_EPOCH,
                event,
            };
            self.state = evolve(std::mem::take(&mut self.state), &envelope);
            self.journal.push(envelope);
        }
    }

    fn run(&self) -> &super::Run {
        self.state.run.as_ref().unwrap()
    }

    /// Plays a world to its end.
    fn play(world: &World) -> Self {
        let mut simulation = Self {
            state: State::default(),
            journal: Vec::new(),
        };
        let mut mishaps = world.mishaps.iter().copied();
        simulation.say(Input::Create {
            spec: Box::new(spec(world)),
        });
        for _ in 0..500 {
            let run = simulation.run();
            match run.control {
                _ if run.finished => return simulation,
                Control::Suspended => simulation.say(Input::Resume),
                Control::Suspending | Control::Cancelling => simulation.say(Input::Settled),
                Control::Running => simulation.carry_out(world, &mut mishaps),
            }
        }
        panic!("the run does not end: {:#?}", simulation.journal)
    }

    fn carry_out(&mut self, world: &World, mishaps: &mut impl Iterator<Item = Mishap>) {
        let pending = self
            .run()
            .pending
            .first()
            .cloned()
            .expect("something is to be done");
        let effect = pending.id;
        let number = self.run().attempts.len().saturating_sub(1);
        let fate = world
            .fates
            .get(number)
            .or(world.fates.last())
            .unwrap()
            .clone();
        let reason = "test".to_owned();
        match pending.kind {
            EffectKind::Snapshot { .. } => {
                let tree = TreeId::new(format!("t{}", fate.tree));
                self.say(Input::Snapshotted {
                    effect,
                    tree,
                    left_out: 0,
                });
            }
            EffectKind::Restore { .. } => self.say(Input::Restored {
                effect,
                replaced: None,
            }),
            EffectKind::Execute { .. } => {
                self.say(Input::Start { effect });
                let cancelled = Fate {
                    session: SessionStatus::Cancelled,
                    ..fate.clone()
                };
                match mishaps.next().unwrap_or(Mishap::None) {
                    Mishap::None => self.end_session(effect, &fate),
                    Mishap::Crash => self.say(Input::Resume),
                    Mishap::Suspend => {
                        self.say(Input::Suspend { reason });
                        self.end_session(effect, &cancelled);
                    }
                    Mishap::Cancel => {
                        self.say(Input::Cancel { reason });
                        self.end_session(effect, &cancelled);
                    }
                }
            }
            EffectKind::Verify { run_number } => match mishaps.next().unwrap_or(Mishap::None) {
                Mishap::None => {
                    let tree = self.run().attempts.last().unwrap().tree.clone();
                    let report = Box::new(report(run_number, fate.report, tree));
                    self.say(Input::Verified { effect, report });
                }
                Mishap::Crash => self.say(Input::Resume),
                Mishap::Suspend => self.say(Input::Suspend { reason }),
                Mishap::Cancel => self.say(Input::Cancel { reason }),
            },
        }
    }

    fn end_session(&mut self, effect: EffectId, fate: &Fate) {
        let cost = fate
            .cost
            .map_or(Cost::UNKNOWN, |it| Cost::reported(MicroUsd(it)));
        let usage = Usage {
            output: 3,
            ..Usage::default()
        };
        let outcome = SessionOutcome {
            usage,
            cost,
            ..SessionOutcome::new(fate.session)
        };
        self.say(Input::SessionEnded {
            effect,
            outcome: Box::new(outcome),
        });
    }

    fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.journal
            .iter()
            .filter(|envelope| wanted(&envelope.event))
            .count()
    }
}

fn worlds() -> impl Strategy<Value = World> {
    use SessionStatus::{CannotSatisfy, Failed, Success, Timeout};
    let session = prop_oneof![
        9 => Just(Success), 1 => Just(Failed), 1 => Just(Timeout), 1 => Just(CannotSatisfy)
    ];
    let report = prop_oneof![
        6 => Just(ReportStatus::Fail), 2 => Just(ReportStatus::Pass),
        1 => Just(ReportStatus::Timeout), 1 => Just(ReportStatus::Error)
    ];
    let cost = prop::option::of(0..1000_u64);
    let fate = (session, cost, report, 0..3_u8).prop_map(|(session, cost, report, tree)| Fate {
        session,
        cost,
        report,
        tree,
    });
    let mishap = prop_oneof![
        8 => Just(Mishap::None), 2 => Just(Mishap::Crash),
        1 => Just(Mishap::Suspend), 1 => Just(Mishap::Cancel)
    ];
    (
        0..=RunSpec::MAX_RETRIES,
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop::option::weighted(0.2, 0..3000_u64),
        prop::collection::vec(fate, 1..8),
        prop::collection::vec(mishap, 0..16),
    )
        .prop_map(|(retries, shell, snapshots, cap, fates, mishaps)| World {
            retries,
            shell,
            snapshots,
            cap,
            fates,
            mishaps,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_keeps_its_promises(world in worlds()) {
        let simulation = Simulation::play(&world);
        let run = simulation.run();

        // Attempts never exceed what was allowed; crashes neither consume nor refund any.
        prop_assert!(run.charged() <= world.retries + 1);
        let crashes = run.crashes;
        prop_assert!(crashes <= super::next::MAX_CRASHES + 1);

        // Numbers are 1, 2, 3 …, each begun once and closed once.
        let numbers: Vec<u32> = run.attempts.iter().map(|it| it.run_number).collect();
        prop_assert_eq!(&numbers, &(1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
        let closed = simulation.count(|it| matches!(it, Event::AttemptClosed { .. }));
        prop_assert_eq!(closed, run.attempts.len());
        prop_assert!(run.attempts.iter().all(|it| it.closing.is_some()));

        // What is spent is the sum over the sessions that were journalled, counted once each.
        let told = simulation.journal.iter().filter_map(|it| match &it.event {
            Event::SessionEnded { outcome, .. } => Some(outcome.cost.at_least()),
            _ => None,
        });
        prop_assert_eq!(run.cost().at_least(), told.sum());
        let unheard = run.attempts.iter().any(|it| it.session.is_none());
        prop_assert!(!unheard || run.cost().source == CostSource::Unknown);

        // A verification never follows an execution that failed.
        for attempt in &run.attempts {
            let succeeded =
                attempt.session.as_ref().is_some_and(|it| it.status == SessionStatus::Success);
            prop_assert!(attempt.report.is_none() || succeeded);
        }

        // The same command is never tried again; verified means that the last report passed.
        prop_assert!(!world.shell || run.charged() <= 1);
        if run.outcome() == Outcome::Verified {
            let (_, last) = run.reported().next_back().unwrap();
            prop_assert_eq!(last.status, ReportStatus::Pass);
        }
        prop_assert_eq!(run.phase(), Phase::Finished);
    }

    #[test]
    fn replaying_any_prefix_gives_the_state_that_it_had(world in worlds()) {
        let mut simulation = Simulation::play(&world);
        let journal = std::mem::take(&mut simulation.journal);
        let replayed = journal.iter().fold(State::default(), evolve);
        prop_assert_eq!(&replayed, &simulation.state);

        // And through the wire form, as a store keeps it.
        let read = journal.iter().map(|it| {
            serde_json::from_str::<Envelope>(&serde_json::to_string(it).unwrap()).unwrap()
        });
        let reread = read.fold(State::default(), |state, it| evolve(state, &it));
        prop_assert_eq!(reread, replayed);
    }

    #[test]
    fn an_input_out_of_place_is_refused_and_changes_nothing(world in worlds()) {
        let simulation = Simulation::play(&world);
        let again = decide(&simulation.state, Input::Resume);
        prop_assert!(again.is_err(), "a finished run takes no input: {again:?}");
        let none = decide(&State::default(), Input::Settled);
        prop_assert!(none.is_err());
    }
}

fn world(retries: u32, fates: Vec<Fate>) -> World {
    World {
        retries,
        shell: false,
        snapshots: true,
        cap: None,
        fates,
        mishaps: Vec::new(),
    }
}

fn fate(report: ReportStatus, tree: u8) -> Fate {
    Fate {
        session: SessionStatus::Success,
        cost: Some(100),
        report,
        tree,
    }
}

#[test]
fn the_same_failure_on_the_same_tree_twice_is_stuck() {
    let fail = fate(ReportStatus::Fail, 1);
    let simulation = Simulation::play(&world(5, vec![fail.clone(), fail]));
    assert_eq!(simulation.run().outcome(), Outcome::Stuck);
    assert_eq!(simulation.run().charged(), 2);
}

#[test]
fn a_cap_stops_before_an_attempt_that_may_break_it() {
    let mut world = world(
        5,
        vec![fate(ReportStatus::Fail, 1), fate(ReportStatus::Fail, 2)],
    );
    world.cap = Some(250);
    let simulation = Simulation::play(&world);
    assert_eq!(simulation.run().outcome(), Outcome::Budget);
    assert_eq!(simulation.run().cost().at_least(), MicroUsd(200));
}

#[test]
fn the_best_tree_is_put_back_when_the_attempts_are_used_up() {
    let (better, worse) = (fate(ReportStatus::Fail, 1), fate(ReportStatus::Fail, 2));
    let simulation = Simulation::play(&world(1, vec![better, worse]));
    let run = simulation.run();
    let decided = run.decided.as_ref().unwrap();
    assert_eq!(
        (decided.outcome, decided.delivered),
        (Outcome::MaxRetriesExhausted, Some(1))
    );
    assert_eq!(run.current_tree, run.attempts[0].tree);
    assert_eq!(
        simulation.count(|it| matches!(it, Event::TreeRestored { .. })),
        1
    );
}

#[test]
fn after_a_crash_the_next_number_begins_from_the_tree_of_the_one_that_was_cut_off() {
    let mut world = world(
        2,
        vec![fate(ReportStatus::Fail, 1), fate(ReportStatus::Pass, 2)],
    );
    world.mishaps = vec![Mishap::Crash];
    let simulation = Simulation::play(&world);
    let run = simulation.run();
    assert_eq!(run.attempts[0].closing, Some(Closing::Interrupted));
    assert_eq!(run.attempts[1].from_tree, run.attempts[0].from_tree);
    assert_eq!(run.attempts[1].retry, 0, "a crash costs no retry");
    assert_eq!(run.rescued.len(), 1, "what stood there was kept first");
    assert_eq!((run.outcome(), run.charged()), (Outcome::Verified, 1));
    assert_eq!(run.cost().source, CostSource::Unknown);
}

#[test]
fn a_person_decides_where_a_gate_cannot() {
    let mut simulation = Simulation {
        state: State::default(),
        journal: Vec::new(),
    };
    simulation.say(Input::Create {
        spec: Box::new(spec(&world(1, Vec::new()))),
    });
    let unsure = world(1, vec![fate(ReportStatus::Fail, 1)]);
    let mut none = std::iter::empty();
    while simulation.run().phase() != Phase::Verifying(1) {
        simulation.carry_out(&unsure, &mut none);
    }
    let mut vote = report(1, ReportStatus::Pass, None);
    vote.gates = vec![GateReport {
        tier: 3,
        passed: None,
        confidence: None,
        feedback: None,
    }];
    let effect = simulation.run().pending[0].id;
    simulation.say(Input::Verified {
        effect,
        report: Box::new(vote),
    });
    assert_eq!(simulation.run().phase(), Phase::AwaitingReview);
    assert_eq!(simulation.run().outcome(), Outcome::NeedsReview);
    assert!(
        decide(&simulation.state, Input::Resume).is_err(),
        "nothing is to be resumed"
    );

    let reject = Input::Review {
        accepted: false,
        retry: true,
        by: "ada".into(),
        reason: "it greets nobody".into(),
    };
    simulation.say(reject.clone());
    let correction = simulation.run().attempts[1]
        .prompt
        .correction
        .clone()
        .unwrap();
    assert!(correction.contains("it greets nobody"), "{correction}");
}
