//! Tests of sessions with real processes. No test waits for a fixed time: each waits for the event that it tests, and
//! only programs that never end reach the given limits.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod endings;
mod launch;
mod output;
mod survivors;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};

use selvedge_engine::process::capture::CapturePlan;
use selvedge_engine::process::{
    self, Session, SessionCommand, SessionExit, SessionTimeouts, Supervisor,
};
use tokio_util::sync::CancellationToken;

const PROBE: &str = env!("CARGO_BIN_EXE_selvedge-engine-probe");

fn supervisor() -> Supervisor {
    Supervisor::new(PROBE, ["__supervise".into()])
}

/// Returns a tag that no other session has, in this or another run of the tests.
fn tag() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "test-{}.{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

fn command(argv: &[&str]) -> SessionCommand {
    let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
    let mut command = SessionCommand::new(argv, "/", tag());
    command.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    command
}

fn shell(script: &str) -> SessionCommand {
    command(&["sh", "-c", script])
}

async fn run_with(
    command: &SessionCommand,
    limits: SessionTimeouts,
    plan: CapturePlan,
) -> SessionExit {
    let prepared = Session::prepare(&supervisor(), command).await.unwrap();
    process::run(prepared, limits, plan, &CancellationToken::new()).await
}

async fn run(command: &SessionCommand) -> SessionExit {
    run_with(command, SessionTimeouts::default(), CapturePlan::default()).await
}

/// Returns the ids of all living processes whose environment contains the tag, without using Selvedge's code.
fn tagged(tag: &str) -> BTreeSet<String> {
    let mark = format!("SELVEDGE_SESSION={tag}");
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|entry| {
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environ
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes())
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
