//! Tests of output of any size and content: all of it is counted, its beginning and end are kept, and memory is
//! bounded.

use std::fs::{self, File};
use std::sync::{Arc, Mutex};

use selvedge_engine::process::capture::{
    CaptureError, CapturePlan, EXCERPT_BYTES, LineSplitter, OutputConsumer, OutputLine, StreamPlan,
};
use selvedge_engine::process::{EndReason, ProcessExit, SessionExit, SessionTimeouts, StderrMode};
use tempfile::TempDir;

use super::{PROBE, command, run, run_with, shell};

async fn run_planned(script: &str, stdout: StreamPlan) -> SessionExit {
    let plan = CapturePlan {
        stdout,
        ..CapturePlan::default()
    };
    run_with(&shell(script), SessionTimeouts::default(), plan).await
}

#[tokio::test]
async fn streams_are_told_apart_or_keep_their_order() {
    let mut command = shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
    let ended = run(&command).await;
    assert_eq!(ended.stdout.head, b"1\n3\n");
    assert_eq!(ended.stderr.head, b"2\n4\n");

    command.streams = StderrMode::Merged;
    let ended = run(&command).await;
    assert_eq!(ended.stdout.head, b"1\n2\n3\n4\n");
    assert_eq!(ended.stderr.bytes, 0);
}

/// Runs in a separate process, so that only its memory is measured.
#[tokio::test]
async fn a_flood_fits_in_bounded_memory_and_a_capped_file() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("stdout");
    let (bytes, cap) = (200_000_000, 1_000_000);
    let args = [bytes.to_string(), cap.to_string()];
    let flood = command(&[
        PROBE,
        "flooded-side",
        &args[0],
        &args[1],
        file.to_str().unwrap(),
    ]);
    let ended = run(&flood).await;
    assert_eq!(ended.exit, Some(ProcessExit::Code(0)), "{ended:?}");

    let counts = String::from_utf8(ended.stdout.head).unwrap();
    let counts: Vec<u64> = counts
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let [seen, consumed, omitted, resident_kib] = counts[..] else {
        panic!("{counts:?}")
    };
    assert_eq!((seen, consumed, omitted), (bytes, bytes, bytes - cap));
    assert!(resident_kib < 30_000, "{resident_kib} KiB");

    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("first\n"));
    assert!(text.ends_with("last\n"));
    assert!(text.contains("\n[selvedge: 199000000 bytes omitted here, beyond 1000000]\n"));
}

#[tokio::test]
async fn the_report_holds_the_beginning_and_the_end_without_overlap() {
    let ended = run(&shell(
        "printf first; head -c 100000 /dev/zero; printf last",
    ))
    .await;
    let out = &ended.stdout;
    assert_eq!(
        (out.bytes, out.head.len(), out.tail.len()),
        (100_009, EXCERPT_BYTES, EXCERPT_BYTES)
    );
    assert!(out.head.starts_with(b"first\0"));
    assert!(out.tail.ends_with(b"\0last"));
    assert_eq!(out.omitted(), 100_009 - 2 * EXCERPT_BYTES as u64);

    let ended = run(&shell("head -c 20000 /dev/zero; printf last")).await;
    assert_eq!(ended.stdout.tail.len(), 20_004 - EXCERPT_BYTES);
    assert_eq!(ended.stdout.omitted(), 0);
}

#[tokio::test]
async fn bytes_that_are_no_text_come_through() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("stdout");
    let ended = run_planned(r"printf '\377\376\000\n'", StreamPlan::to_file(&file)).await;
    assert_eq!(ended.stdout.head, b"\xff\xfe\0\n");
    assert_eq!(fs::read(file).unwrap(), b"\xff\xfe\0\n");
}

#[tokio::test]
async fn a_line_of_100_mb_is_cut_and_the_next_is_whole() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&lines);
    let on_line = move |line: OutputLine<'_>| {
        let text = String::from_utf8_lossy(line.bytes).into_owned();
        collected
            .lock()
            .unwrap()
            .push((text, line.omitted, line.terminated));
    };
    let plan = StreamPlan::default().with_consumer(LineSplitter::new(10, on_line));
    let script = "echo one; head -c 100000000 /dev/zero | tr '\\0' x; echo; printf two";
    let ended = run_planned(script, plan).await;
    assert_eq!(ended.stdout.bytes, 100_000_008);
    let expect = [
        ("one", 0, true),
        ("xxxxxxxxxx", 99_999_990, true),
        ("two", 0, false),
    ];
    let expect = expect.map(|(text, omitted, terminated)| (text.to_owned(), omitted, terminated));
    assert_eq!(*lines.lock().unwrap(), expect);
}

#[tokio::test]
async fn a_full_disk_ends_the_session_as_what_it_is() {
    let ended = run_planned(
        "while :; do echo more; done",
        StreamPlan::to_file("/dev/full"),
    )
    .await;
    assert!(
        matches!(
            ended.reason,
            EndReason::CaptureFailed(CaptureError::DiskFull(_))
        ),
        "{ended:?}"
    );
    assert_eq!(ended.exit, Some(ProcessExit::Signal(15)));
    assert_eq!(ended.stdout.file, None);

    // Also if the disk turns out to be full only at the program's last output.
    let ended = run_planned("echo last words", StreamPlan::to_file("/dev/full")).await;
    assert!(
        matches!(
            ended.reason,
            EndReason::CaptureFailed(CaptureError::DiskFull(_))
        ),
        "{ended:?}"
    );
    assert_eq!(ended.stdout.head, b"last words\n");
}

#[tokio::test]
async fn a_file_that_cannot_be_made_starts_nothing() {
    let ended = run_planned("exit 0", StreamPlan::to_file("/nowhere/stdout")).await;
    assert!(
        matches!(
            ended.reason,
            EndReason::CaptureFailed(CaptureError::Io { .. })
        ),
        "{ended:?}"
    );
    assert_eq!(ended.exit, None);
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_is_ended_and_nothing_hangs() {
    let ended = run(&shell(
        "setsid sh -c 'echo $$; exec sleep 1000' & read line; exit 0",
    ))
    .await;
    assert!(matches!(ended.reason, EndReason::Exited(0)), "{ended:?}");
    assert!(ended.stdout.complete && ended.stderr.complete);
    assert_eq!(ended.tree.survivors, []);
}

/// A process outside of the tree, here the test itself, has opened the output's pipe.
#[tokio::test]
async fn a_stranger_who_holds_the_output_is_not_waited_for() {
    let held = Arc::new(Mutex::new(None));
    let hold = Arc::clone(&held);
    let on_line = move |line: OutputLine<'_>| {
        let pid = str::from_utf8(line.bytes).unwrap();
        let pipe = File::options()
            .write(true)
            .open(format!("/proc/{pid}/fd/1"));
        *hold.lock().unwrap() = Some(pipe.unwrap());
        let killed = std::process::Command::new("kill")
            .args(["-9", pid])
            .status();
        assert!(killed.unwrap().success());
    };
    let plan = StreamPlan::default().with_consumer(LineSplitter::new(99, on_line));
    let ended = run_planned("echo $$; exec sleep 1000", plan).await;
    assert!(matches!(ended.reason, EndReason::Signalled(9)), "{ended:?}");
    assert!(!ended.stdout.complete && ended.stderr.complete);
    assert!(held.lock().unwrap().is_some());
}

/// The panic is reported, because half a digest must not pass as a complete one.
#[tokio::test]
async fn a_consumer_that_panics_fails_the_capture() {
    struct Panics;
    impl OutputConsumer for Panics {
        fn take(&mut self, _: &[u8]) {
            panic!("on purpose");
        }
    }
    let ended = run_planned("echo x", StreamPlan::default().with_consumer(Panics)).await;
    assert!(
        matches!(ended.reason, EndReason::CaptureFailed(CaptureError::Reader)),
        "{ended:?}"
    );
}
