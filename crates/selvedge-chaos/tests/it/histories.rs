//! A task with two attempts: the first was interrupted when its worker died, the second was verified.

use selvedge_chaos::history::{
    ClientCancellation, ClientSubmission, FetchedLine, FetchedReport, ListedTask, ObservedAttempt,
    ObservedCost, ObservedReport, ObservedTask, PauseInterval, ProviderCall, TraceEvent,
    WorkerTrace,
};
use selvedge_chaos::{History, Mutant, check};
use selvedge_core::model::{AttemptEnd, Outcome};
use selvedge_protocol::TaskState;
use selvedge_protocol::lease::{LeaseEvent, LossReason};
use serde_json::json;
use sha2::{Digest, Sha256};

const BODY: &str = r#"{"status":"pass"}"#;

fn log() -> Vec<(u64, LeaseEvent)> {
    let granted = |epoch, worker: &str| LeaseEvent::Granted {
        epoch,
        worker: worker.to_owned(),
    };
    let closed = |attempt_number, closing| LeaseEvent::RunClosed {
        attempt_number,
        closing,
        passed: closing == AttemptEnd::Report,
    };
    let events = vec![
        LeaseEvent::Submitted,
        granted(1, "a"),
        LeaseEvent::Accepted,
        LeaseEvent::RunBegun { attempt_number: 1 },
        closed(1, AttemptEnd::Interrupted),
        LeaseEvent::LeaseLost {
            reason: LossReason::Expired,
            charged: true,
        },
        LeaseEvent::BackedOff { pause_ms: 1_000 },
        LeaseEvent::Requeued,
        granted(2, "b"),
        LeaseEvent::Accepted,
        LeaseEvent::RunBegun { attempt_number: 2 },
        closed(2, AttemptEnd::Report),
        LeaseEvent::Completed {
            completion_id: "t.2".to_owned(),
            outcome: Outcome::Verified,
        },
        LeaseEvent::Ended {
            state: TaskState::Succeeded,
            outcome: Outcome::Verified,
        },
    ];
    (1..).zip(events).collect()
}

fn task() -> ObservedTask {
    let run = |number, epoch, closing: &str| ObservedAttempt {
        number,
        epoch,
        closing: Some(closing.to_owned()),
    };
    let cost = |run, call: &str, micro_usd| ObservedCost {
        run,
        call: call.to_owned(),
        micro_usd,
    };
    ObservedTask {
        description: "do it key=k".to_owned(),
        state: "succeeded".to_owned(),
        epoch: 2,
        worker: Some("b".to_owned()),
        last_run: 2,
        reports_counted: 1,
        losses: 1,
        completion: Some("t.2".to_owned()),
        outcome: Some("verified".to_owned()),
        priority: 1,
        rank: 400_000,
        created_at: 1_000_000,
        max_attempts: 1,
        log_seq: 14,
        log: log(),
        runs: vec![run(1, 1, "interrupted"), run(2, 2, "report")],
        reports: vec![ObservedReport {
            run: 2,
            epoch: 2,
            digest: Sha256::digest(BODY.as_bytes()).to_vec(),
            body: BODY.to_owned(),
        }],
        costs: vec![cost(1, "lost", None), cost(2, "session", Some(20))],
        results: vec![("t.2".to_owned(), json!({"verification_attempts": 1}))],
        ..ObservedTask::default()
    }
}

fn call(run: u32, worker: &str, from_us: u64, to_us: u64, micro_usd: u64) -> ProviderCall {
    ProviderCall {
        task: "t".to_owned(),
        run,
        worker: worker.to_owned(),
        from_us,
        to_us,
        micro_usd,
    }
}

fn trace(worker: &str, epoch: u64, at_us: u64, what: TraceEvent) -> WorkerTrace {
    WorkerTrace {
        worker: worker.to_owned(),
        pid: i32::from(worker.as_bytes()[0]),
        at_us,
        task: "t".to_owned(),
        epoch,
        event: what,
    }
}

fn sound_history() -> History {
    let report = TraceEvent::Report {
        seq: 3,
        run: 2,
        body: BODY.to_owned(),
    };
    History {
        submissions: vec![ClientSubmission {
            key: "k".to_owned(),
            priority: 1,
            max_attempts: 1,
            subtask_count: 0,
            task_id: Some("t".to_owned()),
        }],
        observations: vec![ListedTask {
            sent_us: 89,
            received_us: 90,
            task: "t".to_owned(),
            state: "succeeded".to_owned(),
            epoch: 2,
        }],
        lines: vec![FetchedLine {
            task: "t".to_owned(),
            of_journal: false,
            seq: 1,
            event: json!({"type": "submitted"}),
        }],
        reports_read: vec![FetchedReport {
            task: "t".to_owned(),
            run: 2,
            body: BODY.to_owned(),
        }],
        calls: vec![call(1, "a", 10, 20, 70), call(2, "b", 30, 40, 20)],
        traces: vec![
            trace("a", 1, 5, TraceEvent::DriveBegan),
            trace("a", 1, 25, TraceEvent::DriveEnded),
            trace("b", 2, 28, TraceEvent::DriveBegan),
            trace("b", 2, 41, report),
            trace("b", 2, 42, TraceEvent::Acked(3)),
            trace("b", 2, 50, TraceEvent::DriveEnded),
        ],
        slots: 1,
        margin_us: 5,
        tasks: [("t".to_owned(), task())].into(),
        ..History::default()
    }
}

/// Asserts which invariants a change to the sound history violates.
#[track_caller]
fn assert_violations(change: impl FnOnce(&mut History, &mut ObservedTask), expect: &[u8]) {
    let mut history = sound_history();
    let mut task = history.tasks.remove("t").unwrap();
    change(&mut history, &mut task);
    history.tasks.insert("t".to_owned(), task);
    let violations = check(&history);
    let mut broken: Vec<u8> = violations.iter().map(|it| it.invariant).collect();
    broken.dedup();
    assert_eq!(broken, expect, "{violations:#?}");
}

#[test]
fn checker_accepts_sound_history() {
    assert_violations(|_, _| {}, &[]);
}

#[test]
fn every_invariant_has_a_mutant() {
    let mut invariants = Mutant::ALL.map(Mutant::invariant);
    invariants.sort_unstable();
    assert_eq!(invariants, [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn checker_finds_lost_or_duplicate_submits() {
    assert_violations(
        |history, _| history.submissions[0].task_id = Some("u".to_owned()),
        &[1],
    );
    assert_violations(
        |history, task| {
            let costs = Vec::new();
            let other = ObservedTask {
                costs,
                ..task.clone()
            };
            history.tasks.insert("u".to_owned(), other);
        },
        &[1],
    );
}

#[test]
fn checker_finds_unfinished_tasks() {
    assert_violations(
        |history, task| {
            history.observations.clear();
            task.log.truncate(8);
            (task.state, task.log_seq) = ("queued".to_owned(), 8);
            (task.epoch, task.worker) = (1, Some("a".to_owned()));
            (task.last_run, task.reports_counted) = (1, 0);
            (task.completion, task.outcome) = (None, None);
            task.runs.truncate(1);
            task.costs.truncate(1);
            task.reports.clear();
            history.calls.truncate(1);
            history.traces.truncate(2);
            history.reports_read.clear();
        },
        &[2],
    );
}

/// Asserts whether a plan of two subtasks may end in the given state. `None` is a subtask that has not
/// begun.
#[track_caller]
fn assert_plan_end(plan: &str, parts: [Option<&str>; 2], fits: bool) {
    let task = |key: &str, state: &str| ObservedTask {
        description: format!("chaos key={key}"),
        state: state.to_owned(),
        ..ObservedTask::default()
    };
    let started = parts.iter().enumerate().filter_map(|(number, state)| {
        let key = format!("p.{number}");
        state.map(|state| (key.clone(), task(&key, state)))
    });
    let history = History {
        submissions: vec![ClientSubmission {
            key: "p".to_owned(),
            subtask_count: 2,
            ..ClientSubmission::default()
        }],
        tasks: started.chain([("p".to_owned(), task("p", plan))]).collect(),
        ..History::default()
    };
    let violations = check(&history);
    let broken = violations.iter().any(|it| it.invariant == 2);
    assert_eq!(broken, !fits, "{plan}, {parts:?}: {violations:#?}");
}

#[test]
fn checker_compares_plans_with_their_subtasks() {
    let (done, failed, open) = (Some("succeeded"), Some("failed"), Some("running"));
    assert_plan_end("succeeded", [done, done], true);
    assert_plan_end("cancelled", [done, done], true);
    assert_plan_end("failed", [done, failed], true);
    assert_plan_end("dead", [failed, None], true);
    assert_plan_end("succeeded", [done, None], false);
    assert_plan_end("failed", [done, done], false);
    assert_plan_end("failed", [failed, done], false);
    assert_plan_end("cancelled", [open, None], false);
}

#[test]
fn checker_finds_reused_or_concurrent_epochs() {
    assert_violations(
        |_, task| {
            task.log[8].1 = LeaseEvent::Granted {
                epoch: 1,
                worker: "b".to_owned(),
            };
            task.epoch = 1;
            (task.runs[1].epoch, task.reports[0].epoch) = (1, 1);
            task.log[12].1 = LeaseEvent::Completed {
                completion_id: "t.1".to_owned(),
                outcome: Outcome::Verified,
            };
            task.completion = Some("t.1".to_owned());
        },
        &[3],
    );
    assert_violations(
        |history, _| {
            history
                .traces
                .push(trace("c", 2, 60, TraceEvent::DriveBegan));
        },
        &[3],
    );
}

#[test]
fn checker_allows_overlap_only_with_paused_workers() {
    assert_violations(|history, _| history.calls[0].to_us = 33, &[4]);
    assert_violations(|history, _| history.traces[1].at_us = 33, &[4]);
    let paused = |to_us| {
        move |history: &mut History, _: &mut ObservedTask| {
            history.calls[0].to_us = 33;
            history.pauses.push(PauseInterval {
                worker: Some("a".to_owned()),
                from_us: 12,
                to_us,
            });
        }
    };
    assert_violations(paused(30), &[]);
    assert_violations(paused(20), &[4]);
}

#[test]
fn checker_finds_changes_by_stale_leases() {
    assert_violations(|_, task| task.reports[0].epoch = 1, &[5]);
    assert_violations(|_, task| task.runs[1].epoch = 1, &[5]);
}

#[test]
fn checker_finds_changed_final_states() {
    let observed = |sent_us, received_us, state: &str| {
        let state = state.to_owned();
        move |history: &mut History, _: &mut ObservedTask| {
            let mut seen = history.observations[0].clone();
            (seen.sent_us, seen.received_us, seen.state) = (sent_us, received_us, state);
            history.observations.push(seen);
        }
    };
    assert_violations(observed(70, 80, "failed"), &[6]);
    assert_violations(observed(95, 96, "running"), &[6]);
    // The response was delayed: the state may have been read before the end.
    assert_violations(observed(85, 96, "running"), &[]);
}

#[test]
fn checker_finds_reused_or_unrecorded_attempts() {
    assert_violations(
        |history, _| history.calls.push(call(1, "c", 22, 23, 0)),
        &[7],
    );
    assert_violations(
        |history, _| history.calls.push(call(3, "b", 60, 61, 0)),
        &[7],
    );
}

#[test]
fn checker_finds_lost_or_altered_reports() {
    assert_violations(|_, task| task.reports[0].digest[0] ^= 1, &[8]);
    assert_violations(|history, _| history.reports_read[0].body.push(' '), &[8]);
    assert_violations(
        |history, _| {
            history.traces[3].event = TraceEvent::Report {
                seq: 3,
                run: 2,
                body: String::new(),
            };
        },
        &[8],
    );
    assert_violations(
        |history, task| {
            history.reports_read.clear();
            task.reports.clear();
        },
        &[8],
    );
}

#[test]
fn checker_finds_charged_crashes() {
    assert_violations(
        |_, task| task.results[0].1 = json!({"verification_attempts": 2}),
        &[9],
    );
    assert_violations(|history, _| history.submissions[0].max_attempts = 3, &[9]);
}

#[test]
fn checker_compares_cost_with_provider() {
    assert_violations(|_, task| task.costs[1].micro_usd = Some(40), &[10]);
    assert_violations(|_, task| drop(task.costs.remove(0)), &[10]);
    assert_violations(|_, task| task.costs[0].micro_usd = Some(70), &[]);
}

#[test]
fn checker_compares_log_with_state() {
    assert_violations(|_, task| drop(task.log.remove(2)), &[11]);
    assert_violations(|_, task| task.losses = 0, &[11]);
    assert_violations(|history, _| history.lines[0].event = json!({}), &[11]);
    assert_violations(|_, task| task.event_seq = 1, &[11]);
}

#[test]
fn checker_finds_ignored_cancels_and_leaks() {
    let cancel = ClientCancellation {
        task: "t".to_owned(),
    };
    assert_violations(|history, _| history.cancellations.push(cancel), &[12]);
    assert_violations(
        |history, _| {
            let held = vec!["t".to_owned()];
            history.final_holdings.push(("a".to_owned(), held));
        },
        &[12],
    );
    assert_violations(|_, task| task.rank += 1, &[12]);
    assert_violations(|history, _| history.slots = 0, &[12]);
}
