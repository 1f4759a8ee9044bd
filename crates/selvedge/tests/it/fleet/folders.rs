//! Tasks that work in a folder of a worker's machine: there one is at work at a time, and nobody takes over what
//! an agent has changed already.

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
fn tasks_of_one_folder_take_turns_and_are_not_charged_for_it() {
    let fleet = HubFixture::new(WAITS);
    let worker = fleet.worker("one");
    let check = "grep -q good out";
    let first = submit(&fleet, check);
    wait_for(&fleet.env.root().join("began-1"));
    let second = submit(&fleet, check);
    worker.wait_for_stderr(&format!("task {} waits", &second[28..]));
    // Nobody else comes in between, either: neither a run of this machine nor another worker.
    let own = ["run", "x", "--agent-cmd", "true", "--check", "true"];
    let refused = fleet.env.selvedge(own).run();
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("a worker's task"),
        "{}",
        refused.stderr
    );
    let other = fleet.worker("two");
    let third = submit(&fleet, check);
    other.wait_for_stderr(&format!("task {} waits", &third[28..]));
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

/// Another worker finds what an agent made of the folder: its weakened check must not become the start.
#[test]
fn nobody_goes_on_in_a_folder_who_does_not_know_how_it_stood() {
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
    assert!(reason.contains("how the folder stood"), "{reason}");
    assert_eq!(ledger(&fleet), ["1"], "no agent was started again");
}
