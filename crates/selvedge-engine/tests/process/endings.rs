//! Tests of all ways in which a session ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use selvedge_core::model::CleanupMethod;
use selvedge_engine::process::capture::{CapturePlan, LineSplitter, OutputLine, StreamPlan};
use selvedge_engine::process::{
    self, EndReason, Liveness, PrepareError, ProcessExit, Session, SessionTimeouts, wait_until_dead,
};
use tokio_util::sync::CancellationToken;

use super::{command, run, run_with, shell, supervisor, tagged};

/// Long enough to be observed, short enough to wait for.
const MOMENT: Duration = Duration::from_millis(30);

#[tokio::test]
async fn an_exit_code_and_a_signal_are_what_they_are() {
    let ended = run(&shell("exit 7")).await;
    assert!(
        matches!(ended.reason, EndReason::Exited(7)),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.exit, Some(ProcessExit::Code(7)));
    assert_eq!(
        (ended.tree.method, ended.tree.ended),
        (CleanupMethod::Subreaper, 0)
    );

    let ended = run(&shell("kill -9 $$")).await;
    assert!(
        matches!(ended.reason, EndReason::Signalled(9)),
        "{:?}",
        ended.reason
    );
}

/// The supervisor has no processes, files or locks of the previous session.
#[tokio::test]
async fn a_supervisor_serves_one_session_after_another() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = supervisor();
    let mut supervisor_pids = BTreeSet::new();
    for (session, ended_processes) in [("sleep 60 & echo $PPID", 1), ("echo $PPID; exit 4", 0)] {
        let mut command = shell(session);
        command.lock = Some(dir.path().join("lock"));
        let prepared = Session::prepare(&supervisor, &command).await.unwrap();
        let never = CancellationToken::new();
        let ended = process::run(
            prepared,
            SessionTimeouts::default(),
            CapturePlan::default(),
            &never,
        )
        .await;
        assert_eq!(ended.tree.ended, ended_processes);
        let free = wait_until_dead(&dir.path().join("lock"), Duration::ZERO).await;
        assert_eq!(free.unwrap(), Liveness::Dead);
        supervisor_pids.insert(ended.stdout.head);
    }
    assert_eq!(supervisor_pids.len(), 1, "one supervisor served both");
    supervisor.shutdown().await;
    let pid = String::from_utf8(supervisor_pids.pop_first().unwrap()).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[tokio::test]
async fn the_wall_clock_stops_even_one_that_talks() {
    let mut command = shell("while :; do echo tick; done");
    command.grace = MOMENT;
    let limits = SessionTimeouts {
        wall: Some(MOMENT),
        idle: None,
    };
    let ended = run_with(&command, limits, CapturePlan::default()).await;
    assert!(
        matches!(ended.reason, EndReason::TimedOut),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.exit, Some(ProcessExit::Signal(15)));
    assert!(ended.stdout.complete);
}

#[tokio::test]
async fn the_idle_timeout_stops_one_that_hangs_and_keeps_what_it_said() {
    let command = shell("echo before; exec sleep 1000");
    let limits = SessionTimeouts {
        wall: None,
        idle: Some(MOMENT),
    };
    let ended = run_with(&command, limits, CapturePlan::default()).await;
    assert!(
        matches!(ended.reason, EndReason::IdleTimeout),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.stdout.head, b"before\n");
}

#[tokio::test]
async fn one_that_is_deaf_to_a_cancel_is_killed_after_the_grace() {
    let mut command = shell("trap '' TERM; echo deaf; while :; do sleep 1000; done");
    command.grace = MOMENT;
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    let plan = CapturePlan {
        stdout: StreamPlan::default().with_consumer(LineSplitter::new(
            99,
            move |_: OutputLine<'_>| {
                cancelled.cancel();
            },
        )),
        ..CapturePlan::default()
    };
    let prepared = Session::prepare(&supervisor(), &command).await.unwrap();
    let ended = process::run(prepared, SessionTimeouts::default(), plan, &cancel).await;
    assert!(
        matches!(ended.reason, EndReason::Cancelled),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.exit, Some(ProcessExit::Signal(9)));
    assert_eq!(tagged(&command.tag), [].into());
}

#[tokio::test]
async fn the_last_words_after_an_interrupt_are_heard() {
    let mut command = shell("trap 'echo total; exit 5' INT; echo go; while :; do sleep 0.01; done");
    command.stop = process::StopSignal::Interrupt;
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    let plan = CapturePlan {
        stdout: StreamPlan::default().with_consumer(LineSplitter::new(
            99,
            move |_: OutputLine<'_>| {
                cancelled.cancel();
            },
        )),
        ..CapturePlan::default()
    };
    let prepared = Session::prepare(&supervisor(), &command).await.unwrap();
    let ended = process::run(prepared, SessionTimeouts::default(), plan, &cancel).await;
    assert!(
        matches!(ended.reason, EndReason::Cancelled),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.exit, Some(ProcessExit::Code(5)));
    assert_eq!(ended.stdout.head, b"go\ntotal\n");
}

#[tokio::test]
async fn a_cancel_before_the_start_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let command = command(&["touch", trace.to_str().unwrap()]);
    let prepared = Session::prepare(&supervisor(), &command).await.unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = process::run(
        prepared,
        SessionTimeouts::default(),
        CapturePlan::default(),
        &cancel,
    )
    .await;
    assert!(
        matches!(ended.reason, EndReason::Cancelled),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.exit, None);
    assert!(!trace.exists());
}

#[tokio::test]
async fn what_is_prepared_and_dropped_never_starts_and_frees_its_lock() {
    let dir = tempfile::tempdir().unwrap();
    let (trace, lock) = (dir.path().join("trace"), dir.path().join("lock"));
    let mut command = command(&["touch", trace.to_str().unwrap()]);
    command.lock = Some(lock.clone());
    let prepared = Session::prepare(&supervisor(), &command).await.unwrap();
    assert_eq!(
        wait_until_dead(&lock, Duration::ZERO).await.unwrap(),
        Liveness::Alive
    );
    drop(prepared);
    let dead = wait_until_dead(&lock, Duration::from_mins(1))
        .await
        .unwrap();
    assert_eq!(dead, Liveness::Dead);
    assert!(!trace.exists());
}

#[tokio::test]
async fn dropping_a_run_kills_its_tree() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    let mut command = shell("setsid sleep 1000 & echo go; sleep 1000");
    command.lock = Some(lock.clone());
    let (sender, received) = tokio::sync::oneshot::channel();
    let mut sender = Some(sender);
    let on_line = move |_: OutputLine<'_>| sender.take().unwrap().send(()).unwrap();
    let plan = CapturePlan {
        stdout: StreamPlan::default().with_consumer(LineSplitter::new(99, on_line)),
        ..CapturePlan::default()
    };
    let prepared = Session::prepare(&supervisor(), &command).await.unwrap();
    let cancel = CancellationToken::new();
    tokio::select! {
        ended = process::run(prepared, SessionTimeouts::default(), plan, &cancel) => panic!("{ended:?}"),
        received = received => received.unwrap(),
    }
    let dead = wait_until_dead(&lock, Duration::from_mins(1))
        .await
        .unwrap();
    assert_eq!(dead, Liveness::Dead);
    assert_eq!(tagged(&command.tag), [].into());
}

#[tokio::test]
async fn a_supervisor_that_cannot_work_says_why() {
    let mut command = command(&["true"]);
    command.lock = Some("/nowhere/lock".into());
    let error = Session::prepare(&supervisor(), &command).await.unwrap_err();
    assert!(matches!(&error, PrepareError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("/nowhere/lock"), "{error}");

    let mut missing = supervisor();
    missing.program = "/nowhere/selvedge".into();
    let error = Session::prepare(&missing, &command).await.unwrap_err();
    assert!(matches!(error, PrepareError::Spawn { .. }), "{error:?}");

    let mut other = supervisor();
    other.program = "/bin/true".into();
    let error = Session::prepare(&other, &command).await.unwrap_err();
    assert!(matches!(error, PrepareError::SupervisorLost), "{error:?}");
}
