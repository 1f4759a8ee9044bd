//! Killed processes: the task always ends, no attempt number is used twice, and interrupted attempts are not
//! charged.

use std::path::{Path, PathBuf};

use super::fixture::HubFixture;
use selvedge_testkit::wait_until;

use crate::fixtures::wait_for;

/// Records its attempt in a ledger, then waits for the file `go`.
pub(super) const WAITS: &str = r#"echo "$SELVEDGE_RUN_NUMBER" >> "$root/ledger"
touch "$root/began-$SELVEDGE_RUN_NUMBER"
while ! test -e "$root/go"; do sleep 0.05; done
echo good >> out"#;

pub(super) fn ledger(fleet: &HubFixture) -> Vec<String> {
    let text = std::fs::read_to_string(fleet.env.root().join("ledger")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn worker_resumes_its_task_after_a_kill() {
    let fleet = HubFixture::new(WAITS);
    let worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    worker.kill();
    worker.wait();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    let _again = fleet.worker("one");
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(
        out.json()["verification_attempts"],
        1,
        "a crash is not charged"
    );
    assert_eq!(fleet.closings(&task), ["interrupted", "report"]);
    assert_eq!(ledger(&fleet), ["1", "2"]);
}

#[test]
fn worker_and_watch_wait_for_a_killed_hub() {
    let mut fleet = HubFixture::new(WAITS);
    let _worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    let watching = fleet
        .command(&["watch", &task, "--format", "jsonl"])
        .spawn();
    watching.wait_for_stdout("effect_started");
    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    fleet.start_hub();
    let out = watching.wait();
    out.assert_code(0);
    for text in ["the task continues; waiting for the hub", "the hub is back"] {
        assert!(out.stderr.contains(text), "{text}: {}", out.stderr);
    }
    let events = out.jsonl();
    let numbers: Vec<u64> = events.iter().filter_map(|it| it["seq"].as_u64()).collect();
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "each event once"
    );
    assert_eq!(fleet.closings(&task), ["report"]);
    assert_eq!(ledger(&fleet), ["1"]);
}

/// The results count nevertheless; the hub does not wait for a file that no longer exists.
#[test]
fn worker_does_not_wait_for_a_lost_file() {
    let mut fleet = HubFixture::new(WAITS);
    let worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    let workdir = fleet.env.root().join("one");
    // The last file that a task writes while everything else waits for the hub.
    wait_until("the end", || find_file(&workdir, "result.patch").is_some());
    worker.wait_for_stderr("not connected: cannot");
    worker.kill();
    worker.wait();
    std::fs::remove_file(find_file(&workdir, "attempt-1.patch").unwrap()).unwrap();
    fleet.start_hub();
    let again = fleet.worker("one");
    again.wait_for_stderr("cannot upload attempt-1.patch");
    fleet.watch(&task).assert_code(0);
}

fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.file_name().is_some_and(|it| it == name) {
            Some(path)
        } else if path.is_dir() && !path.is_symlink() {
            find_file(&path, name)
        } else {
            None
        }
    })
}

#[test]
fn worker_takes_over_from_the_tree_before_the_attempt() {
    let fleet = HubFixture::new(
        r#"echo "$SELVEDGE_RUN_NUMBER" >> "$root/ledger"
if test "$SELVEDGE_RUN_NUMBER" = 1; then echo first > kept; exit 0; fi
touch "$root/began-$SELVEDGE_RUN_NUMBER"
while ! test -e "$root/go"; do sleep 0.05; done
echo good > out"#,
    );
    let one = fleet.worker("one");
    let task = fleet.submit(
        "grep -q good out && grep -q first kept",
        &["--retries", "1"],
    );
    wait_for(&fleet.env.root().join("began-2"));
    let _two = fleet.worker("two");
    one.kill();
    one.wait();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 2);
    assert_eq!(fleet.closings(&task), ["report", "interrupted", "report"]);
    let row = fleet.row(&task);
    assert_eq!(row["infra_losses"], 1, "{row:#}");
    assert_eq!(row["lease_epoch"], 2);
    assert_eq!(row["worker"], "two");
}
