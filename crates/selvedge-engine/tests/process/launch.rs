//! Tests of the program's initial state, and of failures to start it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use selvedge_engine::process::{EndReason, SpawnErrorKind, StdinSource};
use tempfile::TempDir;

use super::{PROBE, command, run, shell};

fn script(dir: &TempDir, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

async fn spawn_failure(program: &str, cwd: &Path) -> SpawnErrorKind {
    let mut command = command(&[program]);
    command.env = vec![("PATH".into(), "bin:/usr/bin:/bin".into())];
    command.cwd = cwd.into();
    match run(&command).await.reason {
        EndReason::SpawnFailed(failure) => {
            let named = [program.trim_start_matches("./"), cwd.to_str().unwrap()];
            assert!(
                named.iter().any(|name| failure.message.contains(name)),
                "{failure}"
            );
            failure.kind
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_reason_not_to_start_is_told_apart() {
    let dir = TempDir::new().unwrap();
    script(&dir, "text", "echo no first line\n", 0o755);
    script(&dir, "lost", "#!/nowhere/interpreter\n", 0o755);
    script(&dir, "plain", "#!/bin/sh\n", 0o644);
    fs::create_dir(dir.path().join("bin")).unwrap();
    script(&dir, "bin/forbidden", "#!/bin/sh\n", 0o644);

    let cwd = dir.path();
    assert_eq!(
        spawn_failure("no-such", cwd).await,
        SpawnErrorKind::NotFound
    );
    assert_eq!(
        spawn_failure("./no-such", cwd).await,
        SpawnErrorKind::NotFound
    );
    assert_eq!(
        spawn_failure("./plain/no-such", cwd).await,
        SpawnErrorKind::NotFound
    );
    assert_eq!(
        spawn_failure("./text", cwd).await,
        SpawnErrorKind::ExecFormat
    );
    assert_eq!(
        spawn_failure("./lost", cwd).await,
        SpawnErrorKind::InterpreterNotFound
    );
    assert_eq!(
        spawn_failure("./plain", cwd).await,
        SpawnErrorKind::PermissionDenied
    );
    assert_eq!(
        spawn_failure("forbidden", cwd).await,
        SpawnErrorKind::PermissionDenied
    );
    assert_eq!(spawn_failure("bin", cwd).await, SpawnErrorKind::NotFound);
    let nowhere = cwd.join("nowhere");
    assert_eq!(
        spawn_failure("true", &nowhere).await,
        SpawnErrorKind::WorkingDirectory
    );
    let file = cwd.join("text");
    assert_eq!(
        spawn_failure("true", &file).await,
        SpawnErrorKind::WorkingDirectory
    );
}

#[tokio::test]
async fn too_many_arguments_and_a_missing_input_are_told_apart_too() {
    let long = "x".repeat(3 << 20);
    match run(&command(&["true", &long])).await.reason {
        EndReason::SpawnFailed(failure) => assert_eq!(failure.kind, SpawnErrorKind::TooLong),
        other => panic!("{other:?}"),
    }
    let mut unread = command(&["true"]);
    unread.stdin = StdinSource::File("/nowhere/prompt".into());
    match run(&unread).await.reason {
        EndReason::SpawnFailed(failure) => assert_eq!(failure.kind, SpawnErrorKind::Stdin),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_the_tag() {
    let mut command = command(&["/usr/bin/env"]);
    command.env = vec![
        ("A".into(), "1 2".into()),
        ("SELVEDGE_SESSION".into(), "outer".into()),
    ];
    let ended = run(&command).await;
    let mut lines: Vec<&str> = str::from_utf8(&ended.stdout.head)
        .unwrap()
        .lines()
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["A=1 2", &format!("SELVEDGE_SESSION={}", command.tag)]
    );
}

#[tokio::test]
async fn arguments_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let mut command = command(&["printf", "%s"]);
    command
        .argv
        .push(std::ffi::OsString::from_vec(vec![b'a', 0xff, b'\n']));
    assert_eq!(run(&command).await.stdout.head, [b'a', 0xff, b'\n']);
}

#[tokio::test]
async fn input_is_a_file_or_nothing() {
    let dir = TempDir::new().unwrap();
    let mut command = command(&["cat"]);
    assert_eq!(run(&command).await.stdout.bytes, 0);
    command.stdin = StdinSource::File(script(&dir, "prompt", "do it\n", 0o600));
    assert_eq!(run(&command).await.stdout.head, b"do it\n");
}

/// No mount of a sandbox applies to a file that is opened by the name of a descriptor.
#[tokio::test]
async fn input_file_cannot_be_changed_through_its_descriptor() {
    let dir = TempDir::new().unwrap();
    let write = "echo changed >> /proc/self/fd/0; chmod 777 /proc/self/fd/0; cat";
    let mut command = command(&["sh", "-c", write]);
    let prompt = script(&dir, "prompt", "do it\n", 0o600);
    command.stdin = StdinSource::File(prompt.clone());
    assert_eq!(run(&command).await.stdout.head, b"do it\n");
    assert_eq!(fs::read(&prompt).unwrap(), b"do it\n");
    let permissions = fs::metadata(&prompt).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_relative_program_is_found_from_the_working_directory() {
    let dir = TempDir::new().unwrap();
    script(&dir, "here", "#!/bin/sh\npwd -P; echo \"$0\"\n", 0o755);
    let mut command = command(&["./here"]);
    command.cwd = dir.path().into();
    let ended = run(&command).await;
    let expect = format!("{}\n", dir.path().canonicalize().unwrap().display());
    assert!(
        ended.stdout.head.starts_with(expect.as_bytes()),
        "{ended:?}"
    );
}

#[tokio::test]
async fn every_signal_is_as_on_a_fresh_system() {
    let ended = run(&command(&["grep", "^Sig[BI]", "/proc/self/status"])).await;
    let text = String::from_utf8(ended.stdout.head).unwrap();
    let masks = text.lines().map(|line| line.split_once('\t').unwrap().1);
    // One bit for each blocked or ignored signal; the C library uses 32 and 33.
    let masks = masks.map(|mask| u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff);
    assert_eq!(masks.collect::<Vec<_>>(), [0, 0]);
}

#[tokio::test]
async fn there_is_no_terminal_to_take_over() {
    let ended = run(&shell("tty; (: </dev/tty) || echo none")).await;
    assert_eq!(ended.stdout.head, b"not a tty\nnone\n");
}

/// The test process may have inherited descriptors; this test always passes one on.
#[tokio::test]
async fn no_descriptor_is_handed_down_but_the_three() {
    let script = format!("exec '{PROBE}' fds-side 9</dev/null");
    let ended = run(&shell(&script)).await;
    let text = String::from_utf8(ended.stdout.head).unwrap();
    // The fourth belongs to the directory that is being listed.
    assert_eq!(text, "0\n1\n2\n3\n");
}

/// Ctrl-C is sent to the whole foreground group: it must not end a supervisor that has no handlers yet.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_supervisor_is_born_deaf_to_the_terminal() {
    use rustix::process::Signal;
    use selvedge_engine::process::{Session, Supervisor};

    let directory = TempDir::new().unwrap();
    let status = directory.path().join("mask");
    let supervisor = Supervisor::new(
        "/usr/bin/awk",
        [
            "BEGIN { while ((getline < \"/proc/self/status\") > 0) print > ARGV[1] }".into(),
            status.clone().into(),
        ],
    );
    let prepared = Session::prepare(&supervisor, &command(&["true"])).await;
    assert!(prepared.is_err(), "it is no supervisor");
    let status = fs::read_to_string(status).unwrap();
    let mask = status.split("SigBlk:").nth(1).unwrap();
    let mask = mask.split_whitespace().next().unwrap();
    let mask = u64::from_str_radix(mask, 16).unwrap();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        let bit = 1 << (signal.as_raw() - 1);
        assert_ne!(mask & bit, 0, "{signal:?} {mask:x}");
    }
}
