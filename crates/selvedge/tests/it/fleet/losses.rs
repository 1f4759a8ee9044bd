//! Whoever is killed: the task comes to its end, no number is given out twice, and no attempt that was cut
//! off is charged.

use std::path::{Path, PathBuf};

use super::fixture::HubFixture;
use crate::fixtures::{wait_for, wait_until};

/// Waits in its first attempt until somebody lets it go on; says on a ledger that it was there.
pub(super) const WAITS: &str = r#"echo "$SELVEDGE_RUN_NUMBER" >> "$root/ledger"
touch "$root/began-$SELVEDGE_RUN_NUMBER"
while ! test -e "$root/go"; do sleep 0.05; done
echo good >> out"#;

pub(super) fn ledger(fleet: &HubFixture) -> Vec<String> {
    let text = std::fs::read_to_string(fleet.env.root().join("ledger")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_worker_that_was_killed_goes_on_where_it_stood() {
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
fn a_hub_that_was_killed_is_waited_for() {
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
    let seen = out.jsonl();
    let numbers: Vec<u64> = seen.iter().filter_map(|it| it["seq"].as_u64()).collect();
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "each event once"
    );
    assert_eq!(fleet.closings(&task), ["report"]);
    assert_eq!(ledger(&fleet), ["1"]);
}

/// What was found out counts all the same; a file that nobody can hand in is not waited for.
#[test]
fn a_file_that_is_lost_before_it_was_handed_in_holds_nothing_up() {
    let mut fleet = HubFixture::new(WAITS);
    let worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began-1"));
    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    let workdir = fleet.env.root().join("one");
    // The last that a task writes, when all else waits for the hub.
    wait_until("the end", || found(&workdir, "result.patch").is_some());
    worker.wait_for_stderr("not connected: cannot");
    worker.kill();
    worker.wait();
    std::fs::remove_file(found(&workdir, "attempt-1.patch").unwrap()).unwrap();
    fleet.start_hub();
    let again = fleet.worker("one");
    again.wait_for_stderr("attempt-1.patch is not kept");
    fleet.watch(&task).assert_code(0);
}

fn found(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.file_name().is_some_and(|it| it == name) {
            Some(path)
        } else if path.is_dir() && !path.is_symlink() {
            found(&path, name)
        } else {
            None
        }
    })
}

#[test]
fn another_worker_takes_over_from_the_tree_that_the_attempt_began_with() {
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
