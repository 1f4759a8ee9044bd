//! Tasks that work in a folder of a worker's machine: they run one at a time, and no other worker takes over
//! what an agent has changed already.

use super::fixture::HubFixture;
use super::losses::{WAITS, ledger};
use crate::fixtures::wait_for;

fn submit(fleet: &HubFixture, check: &str) -> String {
    let folder = fleet.env.work_dir();
    let folder = folder.to_str().unwrap();
    let task = ["submit", "do it", "--workspace", folder, "--check", check];
    let out = fleet.run(&[&task[..], &["--format", "json"]].concat());
    out.assert_code(0);
    out.json()["task_id"].as_str().unwrap().to_owned()
}

#[test]
fn folder_runs_one_task_at_a_time_without_charge() {
    let fleet = HubFixture::new(WAITS);
    let worker = fleet.worker("one");
    let check = "grep -q good out";
    let first = submit(&fleet, check);
    wait_for(&fleet.env.root().join("began-1"));
    let second = submit(&fleet, check);
    worker.wait_for_stderr(&format!("task {} is waiting", &second[28..]));
    // The folder is locked for local runs and other workers, too.
    let local_run = ["run", "x", "--agent-cmd", "true", "--check", "true"];
    let refused = fleet.env.selvedge(local_run).run();
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("a worker's task"),
        "{}",
        refused.stderr
    );
    let other = fleet.worker("two");
    let third = submit(&fleet, check);
    other.wait_for_stderr(&format!("task {} is waiting", &third[28..]));
    fleet.run(&["cancel", &third]).assert_code(0);
    assert_eq!(fleet.watch(&third).json()["outcome"], "cancelled");
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    for task in [first, second] {
        fleet.watch(&task).assert_code(0);
        assert_eq!(fleet.row(&task)["infra_losses"], 0);
    }
    assert_eq!(
        ledger(&fleet),
        ["1", "1"],
        "no agent was started for the third"
    );
}

/// Another worker finds the folder as the agent has changed it: its weakened check must not become the base.
#[test]
fn folder_task_is_not_taken_over_by_another_worker() {
    let fleet = HubFixture::new(&format!("echo true > check.sh\n{WAITS}"));
    fleet.env.write("check.sh", "grep -q good out\n");
    let one = fleet.worker("one");
    let task = submit(&fleet, "sh check.sh");
    wait_for(&fleet.env.root().join("began-1"));
    let _two = fleet.worker("two");
    one.kill();
    one.wait();
    let out = fleet.watch(&task);
    out.assert_code(9);
    let result = out.json();
    assert_eq!(result["outcome"], "infra_failed");
    assert_eq!(result["cost_source"], "unknown", "an attempt was cut off");
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("has its original state"), "{reason}");
    assert_eq!(ledger(&fleet), ["1"], "no agent was started again");
}
