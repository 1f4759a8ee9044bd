//! Tasks of a hub from submission to result.

use super::fixture::HubFixture;
use crate::fixtures::wait_for;

/// Passes after a corrective prompt.
const LEARNS: &str =
    r#"case "$prompt" in *"VERIFICATION RETRY"*) echo good > out ;; *) echo bad > out ;; esac"#;

#[test]
fn worker_corrects_a_failure_and_verifies() {
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
    let task_folder = fleet.env.root().join("one/tasks").join(task);
    assert!(
        !task_folder.exists(),
        "nothing of a task that is over stays with its worker"
    );
}

#[test]
fn worker_delivers_a_branch_on_request() {
    let fleet = HubFixture::new("echo good > out");
    let _worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &["--deliver", "branch"]);
    fleet.watch(&task).assert_code(0);
    let branch = format!("selvedge/{}", &task[task.len() - 8..]);
    let shown = fleet.env.git(["show", &format!("{branch}:out")]);
    assert_eq!(shown, "good\n");
}

#[test]
fn cancel_ends_queued_and_running_tasks() {
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

/// The task has the form of an older client.
#[test]
fn sidecar_task_is_run_by_the_shell() {
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
        out.stderr
            .contains("command: required for the agent `shell`"),
        "{}",
        out.stderr
    );
}

#[test]
fn retry_submits_a_failed_task_again() {
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
fn worker_finishes_its_tasks_before_shutdown() {
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
fn client_errors_name_the_option_to_change() {
    let fleet = HubFixture::new("true");
    let without_repo = fleet.run(&["submit", "do it"]);
    without_repo.assert_code(2);
    assert!(
        without_repo.stderr.contains("--repo"),
        "{}",
        without_repo.stderr
    );
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
    let unreachable = fleet.env.selvedge(bad).run();
    unreachable.assert_code(9);
    assert!(
        unreachable.stderr.contains("cannot reach the hub"),
        "{}",
        unreachable.stderr
    );
    let _worker = fleet.worker("one");
    // A folder that the worker does not allow.
    let task = ["submit", "do it", "--workspace", "/", "--check", "true"];
    let out = fleet.run(&task);
    out.assert_code(0);
    let why = "no worker can run this: needs the folder `/`; workers allow";
    assert!(out.stderr.contains(why), "{}", out.stderr);
    assert!(out.stderr.contains("--allow-path"), "{}", out.stderr);
}

#[test]
fn stats_of_hub_survive_a_restart() {
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
    let before = figures(&fleet);
    assert_eq!(before["all"]["rescued"]["runs"], 2, "{before}");
    assert_eq!(before["all"]["attempts"], 4);
    assert_eq!(before["by_agent"][0]["name"], "scripted");
    let human = fleet.run(&["stats"]).stdout.clone();
    assert!(human.contains("recovered by a retry"), "{human}");
    assert!(human.contains("2 (100%)"), "{human}");

    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    fleet.start_hub();
    assert_eq!(figures(&fleet), before);
    let refused = fleet.run(&["stats", "--dir", "."]);
    refused.assert_code(2);
}

#[test]
fn worker_enforces_the_sandbox_it_reports() {
    let fleet = HubFixture::new("echo good > out; echo got out > \"$root/escaped\" || true");
    let _worker = fleet.worker_with("walled", &[("SELVEDGE_SANDBOX_BACKEND", "auto")]);
    let workers = fleet.run(&["workers", "--format", "json"]).json();
    let reported = workers[0]["sandbox"].as_str().unwrap().to_owned();
    assert_ne!(reported, "none");
    let repo = fleet.env.work_dir();
    let repo = repo.to_str().unwrap();
    let check = "grep -q good out";
    let out = fleet.run(&[
        "run", "do it", "--repo", repo, "--check", check, "--format", "json",
    ]);
    out.assert_code(0);
    let enforced = out.json()["verification_report"]["sandbox"].clone();
    assert!(
        reported.contains(enforced["backend"].as_str().unwrap()),
        "{enforced:#}"
    );
    assert!(!fleet.env.root().join("escaped").exists());
}
