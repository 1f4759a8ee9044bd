//! Reviews on a hub: the task waits without a worker and is accepted, rejected, or retried with the reason as
//! feedback. A worker cannot review.

use super::fixture::HubFixture;

/// Ends the process that tests it, unless the prompt contains the reviewer's reason.
const LEAVES_EARLY: &str = r#"case "$prompt" in *"it leaves early"*) end='return a + b' ;; *) end='os._exit(0)' ;; esac
printf 'import os\ndef add(a, b):\n    %s\n' "$end" > shop.py"#;

fn waiting(fleet: &HubFixture, retries: &str) -> String {
    let task = fleet.submit("grep -q def shop.py", &["--retries", retries]);
    let out = fleet.watch(&task);
    out.assert_code(7);
    assert_eq!(fleet.row(&task)["state"], "needs_review");
    task
}

#[test]
fn review_accepts_rejects_or_retries_but_not_by_workers() {
    let fleet = HubFixture::new(LEAVES_EARLY);
    fleet
        .env
        .write("shop.py", "def add(a, b):\n    return a - b\n");
    fleet.env.git(["add", "."]);
    fleet.env.git(["commit", "-qm", "shop"]);
    let _worker = fleet.worker("one");

    let task = waiting(&fleet, "0");
    let as_a_worker = fleet
        .env
        .selvedge(["review", &task, "--accept", "--hub", &fleet.url])
        .arg("--token-file")
        .arg(fleet.env.root().join("worker.token"))
        .run();
    as_a_worker.assert_code(2);
    assert!(
        as_a_worker.stderr.contains("scope"),
        "{}",
        as_a_worker.stderr
    );
    assert_eq!(fleet.row(&task)["state"], "needs_review");
    let accepted = fleet.run(&["review", &task, "--accept", "--format", "json"]);
    accepted.assert_code(0);
    assert_eq!(accepted.json()["outcome"], "verified");
    assert_eq!(fleet.row(&task)["state"], "succeeded");
    // A finished task cannot be reviewed again.
    fleet
        .run(&["review", &task, "--reject", "--reason", "no"])
        .assert_code(2);

    let task = waiting(&fleet, "0");
    // No attempt is left, so a retry is rejected.
    let none_left = fleet.run(&["review", &task, "--reject", "--retry", "--reason", "no"]);
    none_left.assert_code(2);
    assert!(
        none_left.stderr.contains("no attempt is left"),
        "{}",
        none_left.stderr
    );
    fleet
        .run(&["review", &task, "--reject", "--reason", "no"])
        .assert_code(1);
    let row = fleet.row(&task);
    assert_eq!(
        (&row["state"], &row["outcome"]),
        (&"failed".into(), &"max_retries_exhausted".into())
    );

    let task = waiting(&fleet, "1");
    let sent_back = [
        "review",
        &task,
        "--reject",
        "--retry",
        "--reason",
        "it leaves early",
    ];
    fleet.run(&sent_back);
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(fleet.closings(&task), ["report", "report"]);
}
