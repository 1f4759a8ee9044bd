//! Tests that no process is left when a session ends: a child, a background child, one in its own session, and one that
//! was forked twice. All of them ignore SIGTERM.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use selvedge_core::model::CleanupMethod;
use selvedge_engine::process::capture::{CapturePlan, LineSplitter, OutputLine, StreamPlan};
use selvedge_engine::process::{
    EndReason, Liveness, ProcessExit, Session, SessionCommand, SessionExit, SessionTimeouts,
    StopSignal, kill_run_processes, kill_session_processes, run, wait_until_dead,
};
use tokio_util::sync::CancellationToken;

use super::{PROBE, command, supervisor, tag, tagged};

fn planting(then: &str) -> SessionCommand {
    let mut command = command(&[PROBE, "plant", then]);
    command.grace = Duration::from_millis(50);
    command.leftover_grace = Duration::from_millis(50);
    command
}

/// Returns the ids that a planting program printed.
fn planted(line: &[u8]) -> BTreeSet<String> {
    let line = String::from_utf8(line.to_vec()).unwrap();
    let pids = line.trim().strip_prefix("planted ").unwrap();
    let pids: BTreeSet<String> = pids.split(' ').map(str::to_owned).collect();
    assert_eq!(pids.len(), 4);
    pids
}

fn assert_none_left(ended: &SessionExit, tag: &str) {
    assert_eq!(ended.tree.method, CleanupMethod::Subreaper);
    assert_eq!(ended.tree.survivors, []);
    assert_eq!(tagged(tag), [].into());
    planted(&ended.stdout.head);
}

/// Runs the command and cancels it once all processes have been started.
async fn run_until_planted(command: &SessionCommand) -> SessionExit {
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    let on_line = move |_: OutputLine<'_>| cancelled.cancel();
    let plan = CapturePlan {
        stdout: StreamPlan::default().with_consumer(LineSplitter::new(4096, on_line)),
        ..CapturePlan::default()
    };
    let prepared = Session::prepare(&supervisor(), command).await.unwrap();
    run(prepared, SessionTimeouts::default(), plan, &cancel).await
}

#[tokio::test]
async fn none_after_a_normal_end() {
    let command = planting("exit");
    let ended = super::run(&command).await;
    assert!(
        matches!(ended.reason, EndReason::Exited(0)),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.tree.ended, 3);
    assert_none_left(&ended, &command.tag);
}

#[tokio::test]
async fn none_after_a_cancel() {
    for stop in [StopSignal::Terminate, StopSignal::Interrupt] {
        let mut command = planting("stay");
        command.stop = stop;
        let ended = run_until_planted(&command).await;
        assert!(
            matches!(ended.reason, EndReason::Cancelled),
            "{:?}",
            ended.reason
        );
        let signal = if stop == StopSignal::Terminate { 15 } else { 2 };
        assert_eq!(ended.exit, Some(ProcessExit::Signal(signal)));
        assert_none_left(&ended, &command.tag);
    }
}

#[tokio::test]
async fn none_after_the_main_program_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (lock, tag) = (dir.path().join("lock"), tag());
    let mut main_side = std::process::Command::new(PROBE)
        .args(["main-side", &tag])
        .arg(&lock)
        .args([PROBE, "plant", "stay"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(main_side.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pids = planted(line.as_bytes());
    assert!(tagged(&tag).is_superset(&pids));
    assert_eq!(
        wait_until_dead(&lock, Duration::ZERO).await.unwrap(),
        Liveness::Alive
    );

    main_side.kill().unwrap();
    main_side.wait().unwrap();

    let dead = wait_until_dead(&lock, Duration::from_mins(1))
        .await
        .unwrap();
    assert_eq!(dead, Liveness::Dead);
    assert_eq!(tagged(&tag), [].into());
    assert_eq!(kill_session_processes(&tag).ended, 0);
}

#[tokio::test]
async fn none_after_the_supervisor_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = planting("stay");
    command.lock = Some(dir.path().join("lock"));
    let prepared = Session::prepare(&supervisor(), &command).await.unwrap();
    let supervisor = prepared.supervisor_pid().unwrap().to_string();
    let on_line = move |_: OutputLine<'_>| {
        let killed = std::process::Command::new("kill")
            .args(["-9", &supervisor])
            .status();
        assert!(killed.unwrap().success());
    };
    let plan = CapturePlan {
        stdout: StreamPlan::default().with_consumer(LineSplitter::new(4096, on_line)),
        ..CapturePlan::default()
    };
    let ended = run(
        prepared,
        SessionTimeouts::default(),
        plan,
        &CancellationToken::new(),
    )
    .await;
    assert!(
        matches!(ended.reason, EndReason::SupervisorLost),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.tree.method, CleanupMethod::EnvironmentSweep);
    assert_eq!(ended.tree.ended, 4);
    assert_eq!(ended.tree.survivors, []);
    assert_eq!(tagged(&command.tag), [].into());
}

/// At any moment each chain is a single process, which is soon replaced by another one: killing must win the race.
#[tokio::test]
async fn none_of_the_chains_that_fork_and_exit_for_ever() {
    let command = super::shell("hop() { hop & }; for chain in 1 2 3 4 5; do hop; done");
    let ended = super::run(&command).await;
    assert!(
        matches!(ended.reason, EndReason::Exited(0)),
        "{:?}",
        ended.reason
    );
    assert_eq!(ended.tree.survivors, []);
    assert_eq!(tagged(&command.tag), [].into());
}

#[tokio::test]
async fn the_supervisor_is_deaf_to_signals_of_its_tree() {
    let command = super::shell("for s in TERM INT HUP QUIT USR1; do kill -$s $PPID; done; exit 3");
    let ended = super::run(&command).await;
    assert!(
        matches!(ended.reason, EndReason::Exited(3)),
        "{:?}",
        ended.reason
    );
}

/// Cleanup by the environment, which is used if no supervisor is left.
#[test]
fn none_of_a_run_that_is_swept_and_nothing_of_another() {
    let linger = |tag: &str| {
        let mut linger = std::process::Command::new(PROBE);
        linger
            .arg("linger")
            .env("SELVEDGE_SESSION", tag)
            .stdout(Stdio::piped());
        let mut child = linger.spawn().unwrap();
        let mut ready = BufReader::new(child.stdout.take().unwrap());
        ready.read_line(&mut String::new()).unwrap();
        child
    };
    let (run, other) = (tag().replace('.', "-"), tag());
    let mut swept = [linger(&format!("{run}.1")), linger(&format!("{run}.2"))];
    let mut spared = linger(&other);

    let report = kill_run_processes(&run);
    assert_eq!((report.ended, report.survivors), (2, vec![]));
    assert!(
        swept
            .iter_mut()
            .all(|child| !child.wait().unwrap().success())
    );
    assert!(spared.try_wait().unwrap().is_none());
    assert_eq!(kill_session_processes(&other).ended, 1);
    assert!(!spared.wait().unwrap().success());
}
