//! Properties of the loop in random worlds: for any behaviour of agents and checks, and any stop or crash.

pub(crate) mod simulation;

use proptest::prelude::*;

use self::simulation::{
    AttemptScript, EffectInterruption, SimulatedWorld, Simulation, report, spec,
};
use super::{Input, JournalState, decide, evolve};
use crate::model::{
    AttemptEnd, Cost, CostSource, EffectKind, Envelope, Event, GateReport, Judgement, MicroUsd,
    Outcome, ReportStatus, RunSpec, SessionStatus, SnapshotReason,
};
use crate::run::{Phase, Run};

fn worlds() -> impl Strategy<Value = SimulatedWorld> {
    use SessionStatus::{CannotSatisfy, Failed, Success, Timeout};
    let session = prop_oneof![
        9 => Just(Success), 1 => Just(Failed), 1 => Just(Timeout), 1 => Just(CannotSatisfy)
    ];
    let report = prop_oneof![
        6 => Just(ReportStatus::Fail), 2 => Just(ReportStatus::Pass),
        1 => Just(ReportStatus::Timeout), 1 => Just(ReportStatus::Error)
    ];
    let cost = prop::option::of(0..1000_u64);
    let limit = prop::option::weighted(0.5, 0..40_000_i64);
    let script =
        (session, cost, report, limit, 0..3_u8).prop_map(|(session, cost, report, limit, tree)| {
            AttemptScript {
                session,
                cost,
                report,
                usage_limit_wait: limit.filter(|_| session == Failed),
                tree,
            }
        });
    let gate = (0..4_u8).prop_map(|answer| GateReport {
        passed: [Some(true), Some(false), None, None][usize::from(answer)],
        error: (answer == 3).then(|| "down".to_owned()),
        judgements: vec![Judgement {
            cost: Cost::reported(MicroUsd(7)),
            ..Judgement::default()
        }],
        ..GateReport::default()
    });
    let tiers = prop_oneof![
        3 => Just(vec![]), 1 => Just(vec![2]), 1 => Just(vec![2, 3]), 1 => Just(vec![3])
    ];
    let interruption = prop_oneof![
        8 => Just(EffectInterruption::None), 2 => Just(EffectInterruption::Crash),
        1 => Just(EffectInterruption::Suspend), 1 => Just(EffectInterruption::Cancel)
    ];
    (
        0..=RunSpec::MAX_RETRIES,
        prop::bool::weighted(0.1),
        any::<bool>(),
        any::<bool>(),
        prop::option::weighted(0.2, 0..3000_u64),
        (tiers, prop::collection::vec(gate, 0..6)),
        prop::collection::vec(script, 1..8),
        prop::collection::vec(interruption, 0..16),
    )
        .prop_map(
            |(
                retries,
                shell,
                snapshots,
                baseline,
                cap,
                (tiers, gates),
                mut scripts,
                interruptions,
            )| {
                // The last one applies to all further attempts, of which there would be no end.
                scripts.last_mut().unwrap().usage_limit_wait = None;
                SimulatedWorld {
                    retries,
                    shell,
                    snapshots,
                    baseline,
                    cap,
                    tiers,
                    gates,
                    scripts,
                    interruptions,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn machine_invariants_hold_for_random_runs(world in worlds()) {
        let simulation = Simulation::play(&world);
        let run = simulation.run();

        // Attempts never exceed the limit; crashes neither consume nor refund any.
        prop_assert!(run.used_attempts() <= world.retries + 1);
        let crashes = run.crashes;
        prop_assert!(crashes <= super::transitions::MAX_CRASHES + 1);

        // Numbers are 1, 2, 3 …, each begun once and closed once.
        let numbers: Vec<u32> = run.attempts.iter().map(|it| it.attempt_number).collect();
        prop_assert_eq!(&numbers, &(1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
        let closed = simulation.count(|it| matches!(it, Event::AttemptClosed { .. }));
        prop_assert_eq!(closed, run.attempts.len());
        prop_assert!(run.attempts.iter().all(|it| it.end.is_some()));

        // Spending is the sum over the journalled sessions and judgements, each counted once.
        let reported = simulation.journal.iter().filter_map(|it| match &it.event {
            Event::SessionEnded { outcome, .. } => Some(outcome.cost.at_least()),
            Event::GateJudged { gate, .. } => Some(gate.cost().at_least()),
            _ => None,
        });
        prop_assert_eq!(run.cost().at_least(), reported.sum());
        let has_lost_session = run.attempts.iter().any(|it| it.session.is_none());
        prop_assert!(!has_lost_session || run.cost().source == CostSource::Unknown);

        // A verification never follows an execution that failed.
        for attempt in &run.attempts {
            let succeeded =
                attempt.session.as_ref().is_some_and(|it| it.status == SessionStatus::Success);
            prop_assert!(attempt.report.is_none() || succeeded);
        }

        // The same command is never retried; verified means that the last report passed.
        prop_assert!(!world.shell || run.used_attempts() <= 1);
        if run.outcome() == Outcome::Verified {
            let (_, last) = run.verified_attempts().next_back().unwrap();
            prop_assert_eq!(last.status, ReportStatus::Pass);
            // Every tier was asked, in order, and agreed.
            let tiers: Vec<u8> = last.gates.iter().map(|gate| gate.tier).collect();
            prop_assert_eq!(&tiers, &world.tiers);
            prop_assert!(last.gates.iter().all(|gate| gate.passed == Some(true)));
        }
        prop_assert_eq!(run.phase(), Phase::Finished);
    }

    #[test]
    fn machine_replay_of_prefix_gives_same_state(world in worlds()) {
        let mut simulation = Simulation::play(&world);
        let journal = std::mem::take(&mut simulation.journal);
        let replayed = journal.iter().fold(JournalState::default(), evolve);
        prop_assert_eq!(&replayed, &simulation.state);

        // The same through the wire format, as a store keeps it.
        let read = journal.iter().map(|it| {
            serde_json::from_str::<Envelope>(&serde_json::to_string(it).unwrap()).unwrap()
        });
        let reread = read.fold(JournalState::default(), |state, it| evolve(state, &it));
        prop_assert_eq!(reread, replayed);
    }

    /// A hub's copy of a journal can end between a report and the decision that follows it.
    #[test]
    fn machine_resume_derives_verdict_from_last_report(world in worlds()) {
        let simulation = Simulation::play(&world);
        let mut state = JournalState::default();
        for (line, next) in simulation.journal.iter().zip(simulation.journal.iter().skip(1)) {
            state = evolve(state, line);
            let closed = matches!(line.event, Event::AttemptClosed { closing: AttemptEnd::Report, .. });
            let Event::OutcomeDecided { outcome, .. } = &next.event else { continue };
            if closed {
                let events = decide(&state, Input::Resume).unwrap();
                let same = |it: &Event| {
                    matches!(it, Event::OutcomeDecided { outcome: other, .. } if other == outcome)
                };
                prop_assert!(events.iter().any(same), "{outcome:?}: {events:?}");
            }
        }
    }

    #[test]
    fn machine_rejects_illegal_input(world in worlds()) {
        let simulation = Simulation::play(&world);
        let again = decide(&simulation.state, Input::Resume);
        prop_assert!(again.is_err(), "a finished run takes no input: {again:?}");
        let none = decide(&JournalState::default(), Input::Settled);
        prop_assert!(none.is_err());
    }
}

fn world(retries: u32, scripts: Vec<AttemptScript>) -> SimulatedWorld {
    SimulatedWorld {
        retries,
        shell: false,
        snapshots: true,
        baseline: false,
        cap: None,
        tiers: Vec::new(),
        gates: Vec::new(),
        scripts,
        interruptions: Vec::new(),
    }
}

fn script(report: ReportStatus, tree: u8) -> AttemptScript {
    AttemptScript {
        session: SessionStatus::Success,
        cost: Some(100),
        report,
        usage_limit_wait: None,
        tree,
    }
}

#[test]
fn machine_waits_for_usage_limit_without_using_a_retry() {
    let limited = AttemptScript {
        session: SessionStatus::Failed,
        usage_limit_wait: Some(3_600),
        ..script(ReportStatus::Fail, 1)
    };
    let mut limited_world = world(0, vec![limited.clone(), script(ReportStatus::Pass, 2)]);
    let simulation = Simulation::play(&limited_world);
    let run = simulation.run();
    assert_eq!((run.outcome(), run.used_attempts()), (Outcome::Verified, 1));
    assert_eq!(run.attempts[0].end, Some(AttemptEnd::UsageLimit));
    assert_eq!((run.attempts[1].retry, run.crashes), (0, 0));
    assert_eq!(run.cost().at_least(), MicroUsd(200), "both sessions cost");
    let left_by_session = &run.attempts[1].from_tree;
    assert!(left_by_session.is_some() && *left_by_session != run.start_tree);
    assert_eq!(simulation.count(|it| matches!(it, Event::Waited { .. })), 1);
    let suspended = |it: &Event| matches!(it, Event::SuspendRequested { .. });
    assert_eq!(simulation.count(suspended), 0);

    // A run that was suspended while it waited does not wait after it is resumed.
    limited_world.interruptions = vec![EffectInterruption::None, EffectInterruption::Suspend];
    let simulation = Simulation::play(&limited_world);
    assert_eq!(simulation.run().outcome(), Outcome::Verified);
    assert_eq!(simulation.count(|it| matches!(it, Event::Waited { .. })), 0);
    // A cancelled run does not wait, either.
    limited_world.interruptions = vec![EffectInterruption::None, EffectInterruption::Cancel];
    let simulation = Simulation::play(&limited_world);
    assert_eq!(simulation.run().outcome(), Outcome::Cancelled);

    // A wait that is too long suspends the run.
    let long = AttemptScript {
        usage_limit_wait: Some(7 * 3_600),
        ..limited.clone()
    };
    let simulation = Simulation::play(&world(0, vec![long, script(ReportStatus::Pass, 2)]));
    assert_eq!(simulation.count(suspended), 1);
    assert_eq!(simulation.run().outcome(), Outcome::Verified);

    // An agent that reports a limit again and again does not keep the run going forever.
    let mut scripts = vec![limited; Run::MAX_USAGE_LIMITS + 1];
    scripts.push(script(ReportStatus::Pass, 2));
    let simulation = Simulation::play(&world(0, scripts));
    assert_eq!(simulation.count(suspended), 1);
}

#[test]
fn machine_stops_stuck_run() {
    let fail = script(ReportStatus::Fail, 1);
    let simulation = Simulation::play(&world(5, vec![fail.clone(), fail]));
    assert_eq!(simulation.run().outcome(), Outcome::Stuck);
    assert_eq!(simulation.run().used_attempts(), 2);
}

#[test]
fn machine_unchanged_gets_one_more_attempt() {
    let nothing = script(ReportStatus::Pass, 0);
    let simulation = Simulation::play(&world(5, vec![nothing.clone(), nothing.clone()]));
    let run = simulation.run();
    assert_eq!(
        (run.outcome(), run.used_attempts()),
        (Outcome::Unchanged, 2)
    );
    let prompt = run.attempts[1].prompt.full_text();
    assert!(
        prompt.contains("Independent checks pass, but the agent changed no files"),
        "{prompt}"
    );
    let done = script(ReportStatus::Pass, 1);
    let simulation = Simulation::play(&world(5, vec![nothing.clone(), done]));
    assert_eq!(simulation.run().outcome(), Outcome::Verified);
    let simulation = Simulation::play(&world(0, vec![nothing]));
    assert_eq!(simulation.run().outcome(), Outcome::Unchanged);
}

#[test]
fn machine_budget_stops_before_exceeding_attempt() {
    let mut world = world(
        5,
        vec![script(ReportStatus::Fail, 1), script(ReportStatus::Fail, 2)],
    );
    world.cap = Some(250);
    let simulation = Simulation::play(&world);
    assert_eq!(simulation.run().outcome(), Outcome::Budget);
    assert_eq!(simulation.run().cost().at_least(), MicroUsd(200));
}

#[test]
fn machine_restores_best_tree_at_the_end() {
    let (better, worse) = (script(ReportStatus::Fail, 1), script(ReportStatus::Fail, 2));
    let simulation = Simulation::play(&world(1, vec![better, worse]));
    let run = simulation.run();
    let decided = run.conclusion.as_ref().unwrap();
    assert_eq!(
        (decided.outcome, decided.final_attempt),
        (Outcome::MaxRetriesExhausted, Some(1))
    );
    assert_eq!(run.current_tree, run.attempts[0].tree);
    assert_eq!(
        simulation.count(|it| matches!(it, Event::TreeRestored { .. })),
        1
    );
}

#[test]
fn machine_attempt_after_crash_starts_from_same_tree() {
    let mut world = world(
        2,
        vec![script(ReportStatus::Fail, 1), script(ReportStatus::Pass, 2)],
    );
    world.interruptions = vec![EffectInterruption::Crash];
    let simulation = Simulation::play(&world);
    let run = simulation.run();
    assert_eq!(run.attempts[0].end, Some(AttemptEnd::Interrupted));
    assert_eq!(run.attempts[1].from_tree, run.attempts[0].from_tree);
    assert_eq!(run.attempts[1].retry, 0, "a crash costs no retry");
    let kept = EffectKind::Snapshot {
        moment: SnapshotReason::Backup,
    };
    let requested = |it: &Event| matches!(it, Event::EffectRequested { effect } if *effect == kept);
    assert_eq!(
        simulation.count(requested),
        1,
        "what stood there was kept first"
    );
    assert_eq!((run.outcome(), run.used_attempts()), (Outcome::Verified, 1));
    assert_eq!(run.cost().source, CostSource::Unknown);
}

#[test]
fn machine_undecided_gate_needs_review() {
    let mut simulation = Simulation {
        state: JournalState::default(),
        journal: Vec::new(),
    };
    simulation.say(Input::Create {
        spec: Box::new(spec(&world(1, Vec::new()))),
    });
    let unsure = world(1, vec![script(ReportStatus::Fail, 1)]);
    let mut none = std::iter::empty();
    while simulation.run().phase() != Phase::Verifying(1) {
        simulation.carry_out(&unsure, &mut none);
    }
    let mut vote = report(1, ReportStatus::Pass, None);
    vote.gates = vec![GateReport {
        tier: 3,
        ..GateReport::default()
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
        named: simulation.run().review_target().unwrap(),
        accepted: false,
        retry: true,
        by: "ada".into(),
        stated_by: None,
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
