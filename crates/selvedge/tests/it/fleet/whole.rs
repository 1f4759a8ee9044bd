//! The whole way there and back.

use super::fixture::HubFixture;
use crate::fixtures::wait_for;

/// Mends its work when it is corrected.
const LEARNS: &str =
    r#"case "$prompt" in *"VERIFICATION RETRY"*) echo good > out ;; *) echo bad > out ;; esac"#;

#[test]
fn what_fails_is_corrected_on_a_worker_and_verified() {
    let fleet = HubFixture::new(LEARNS);
    let _worker = fleet.worker("one");
    let repo = fleet.env.work_dir();
    let out = fleet.run(&[
        "run",
        "do it",
        "--repo",
        repo.to_str().unwrap(),
        "--check",
        "grep -q good out",
        "--format",
        "json",
    ]);
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["outcome"], "verified", "{result:#}");
    assert_eq!(result["verification_attempts"], 2);
    assert_eq!(result["verification_history"][0]["status"], "fail");
    assert!(!repo.join("out").exists(), "the repository is left alone");

    let task = result["task_id"].as_str().unwrap();
    assert_eq!(fleet.closings(task), ["report", "report"]);
    let row = fleet.row(task);
    assert_eq!(row["state"], "succeeded", "{row:#}");
    assert_eq!(row["attempts"], 2);
    let patch = fleet.run(&["show", task, "--diff"]);
    patch.assert_code(0);
    assert!(patch.stdout.contains("+good"), "{}", patch.stdout);
    let human = fleet.run(&["show", &task[task.len() - 8..], "--prompt"]);
    human.assert_code(0);
    assert!(
        human.stdout.contains("VERIFICATION RETRY 1/2"),
        "{}",
        human.stdout
    );
    let workers = fleet.run(&["workers", "--format", "json"]).json();
    assert_eq!(workers[0]["worker"], "one");
    assert_eq!(workers[0]["connected"], true);
    assert_eq!(workers[0]["sandbox"], "none", "as these tests set it");
    let left = fleet.env.root().join("one/tasks").join(task);
    assert!(
        !left.exists(),
        "nothing of a task that is over stays with its worker"
    );
}

#[test]
fn a_branch_comes_back_when_it_is_asked_for() {
    let fleet = HubFixture::new("echo good > out");
    let _worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &["--deliver", "branch"]);
    fleet.watch(&task).assert_code(0);
    let branch = format!("selvedge/{}", &task[task.len() - 8..]);
    let shown = fleet.env.git(["show", &format!("{branch}:out")]);
    assert_eq!(shown, "good\n");
}

#[test]
fn a_task_is_stopped_for_good() {
    let fleet = HubFixture::new("touch \"$root/began\"; sleep 600");
    let _worker = fleet.worker("one");
    let waiting = fleet.submit("true", &["--labels", "nobody-has-this"]);
    let task = fleet.submit("true", &[]);
    wait_for(&fleet.env.root().join("began"));
    let cancelled = fleet.run(&["cancel", &task, "--reason", "no longer wanted"]);
    cancelled.assert_code(0);
    let out = fleet.watch(&task);
    out.assert_code(10);
    assert_eq!(out.json()["outcome"], "cancelled");
    assert_eq!(fleet.closings(&task), ["cancelled"]);
    assert_eq!(fleet.row(&task)["state"], "cancelled");

    fleet.run(&["cancel", &waiting]).assert_code(0);
    fleet.watch(&waiting).assert_code(10);
    let again = fleet.run(&["cancel", &task]);
    assert_ne!(fleet.row(&task)["state"], "cancelling", "{}", again.stderr);
}

/// As an older client says it.
#[test]
fn a_sidecar_task_is_run_by_the_shell() {
    let fleet = HubFixture::new("exit 9");
    let _worker = fleet.worker("one");
    let task = serde_json::json!({
        "description": "rm -rf .", "command": "echo made > made",
        "routing_decision": {"target_type": "sidecar", "confidence": 0.9},
        "verification_steps": [{"type": "command", "target": "test -s made"}],
        "repository": fleet.env.work_dir(),
    });
    let submit = ["submit", "--file", "-", "--format", "json"];
    let out = fleet.command(&submit).stdin(task.to_string()).run();
    out.assert_code(0);
    let id = out.json()["task_id"].as_str().unwrap().to_owned();
    let watched = fleet.watch(&id);
    watched.assert_code(0);
    assert_eq!(watched.json()["verification_attempts"], 1);
    assert_eq!(fleet.row(&id)["agent"], "shell");

    let mut empty = task;
    empty["command"] = "".into();
    let out = fleet.command(&submit).stdin(empty.to_string()).run();
    out.assert_code(2);
    assert!(
        out.stderr.contains("command: the agent `shell`"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_task_that_failed_is_made_again() {
    let fleet = HubFixture::new("test -e \"$root/mended\" && echo good > out; true");
    let _worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &["--retries", "0"]);
    fleet.watch(&task).assert_code(1);
    std::fs::write(fleet.env.root().join("mended"), "").unwrap();
    let out = fleet.run(&["retry", &task, "--watch", "--format", "json"]);
    out.assert_code(0);
    let again = out.json();
    assert_ne!(again["task_id"], task.as_str());
    assert_eq!(
        fleet.row(again["task_id"].as_str().unwrap())["retry_of"],
        task.as_str()
    );
    assert_eq!(
        fleet.row(&task)["state"],
        "failed",
        "what is over stays as it is"
    );
}

#[test]
fn a_worker_that_is_asked_to_leave_finishes_what_it_has() {
    let fleet = HubFixture::new(
        "touch \"$root/began\"; while ! test -e \"$root/go\"; do sleep 0.05; done; echo good > out",
    );
    let worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &[]);
    wait_for(&fleet.env.root().join("began"));
    worker.terminate();
    worker.wait_for_stderr("no new tasks");
    let late = fleet.submit("true", &[]);
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    fleet.watch(&task).assert_code(0);
    worker.wait().assert_code(0);
    assert_eq!(fleet.row(&late)["state"], "queued");
}

#[test]
fn what_cannot_be_done_is_said_where_it_is_asked() {
    let fleet = HubFixture::new("true");
    let nowhere = fleet.run(&["submit", "do it"]);
    nowhere.assert_code(2);
    assert!(nowhere.stderr.contains("--repo"), "{}", nowhere.stderr);
    let refused = fleet.run(&["run", "x", "--agent-cmd", "sh", "--repo", "/x"]);
    refused.assert_code(2);
    assert!(refused.stderr.contains("--agent-cmd"), "{}", refused.stderr);
    let token = fleet.env.root().join("bad.token");
    std::fs::write(&token, "selvedge-nonsense\n").unwrap();
    let bad = [
        "list",
        "--hub",
        "http://127.0.0.1:9",
        "--token-file",
        token.to_str().unwrap(),
    ];
    let gone = fleet.env.selvedge(bad).run();
    gone.assert_code(9);
    assert!(
        gone.stderr.contains("cannot speak to the hub"),
        "{}",
        gone.stderr
    );
    let _worker = fleet.worker("one");
    // Outside of what the worker's owner allows.
    let task = [
        "submit",
        "do it",
        "--workspace",
        "/",
        "--check",
        "true",
        "--watch",
    ];
    let out = fleet.run(&task);
    out.assert_code(9);
    assert!(
        out.stdout.contains("--allow-path"),
        "{}\n{}",
        out.stdout,
        out.stderr
    );
}

#[test]
fn the_figures_of_a_hub_are_told_as_those_of_this_machine_and_outlive_a_restart() {
    let mut fleet = HubFixture::new(
        r#"if test "$SELVEDGE_RUN_NUMBER" = 1; then echo bad > out; else echo good > out; fi"#,
    );
    let _worker = fleet.worker("one");
    for _ in 0..2 {
        let task = fleet.submit("grep -q good out", &["--retries", "1"]);
        fleet.watch(&task).assert_code(0);
    }
    let figures = |fleet: &HubFixture| {
        fleet
            .run(&["stats", "--days", "7", "--format", "json"])
            .json()
    };
    let told = figures(&fleet);
    assert_eq!(told["all"]["rescued"]["runs"], 2, "{told}");
    assert_eq!(told["all"]["attempts"], 4);
    assert_eq!(told["by_agent"][0]["name"], "scripted");
    let human = fleet.run(&["stats"]).stdout.clone();
    assert!(human.contains("rescued by a retry"), "{human}");
    assert!(human.contains("2 (100%)"), "{human}");

    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    fleet.start_hub();
    assert_eq!(figures(&fleet), told);
    let refused = fleet.run(&["stats", "--dir", "."]);
    refused.assert_code(2);
}

#[test]
fn a_worker_builds_the_walls_that_it_tells_of() {
    let fleet = HubFixture::new("echo good > out; echo got out > \"$root/escaped\" || true");
    let _worker = fleet.worker_with("walled", &[("SELVEDGE_SANDBOX_BACKEND", "auto")]);
    let workers = fleet.run(&["workers", "--format", "json"]).json();
    let told = workers[0]["sandbox"].as_str().unwrap().to_owned();
    assert_ne!(told, "none");
    let repo = fleet.env.work_dir();
    let repo = repo.to_str().unwrap();
    let check = "grep -q good out";
    let out = fleet.run(&[
        "run", "do it", "--repo", repo, "--check", check, "--format", "json",
    ]);
    out.assert_code(0);
    let held = out.json()["verification_report"]["sandbox"].clone();
    assert!(told.contains(held["backend"].as_str().unwrap()), "{held:#}");
    assert!(!fleet.env.root().join("escaped").exists());
}
