//! The retry loop: corrective prompts, counts and stored results.

use crate::fixtures::{agent, env_with_repo, prompt, run_json};

/// Fails its check once; passes after a corrective prompt.
const MENDS: &str = r#"case "$prompt" in
  *"VERIFICATION RETRY"*) echo good > out ;;
  *) echo bad > out; echo "All tests pass, I am done." ;;
esac"#;

#[test]
fn retry_corrects_a_failure_in_a_fresh_session() {
    let env = env_with_repo();
    let check = "grep -q good out || { echo \"out:1: error: expected good, got bad\"; exit 1; }";
    let out = run_json(&env, &agent(&env, MENDS), check, &[]);
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["verification_attempts"], 2);
    let statuses: Vec<_> = result["verification_history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| {
            (
                report["run_number"].as_u64().unwrap(),
                report["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(statuses, [(1, "fail"), (2, "pass")]);

    assert_eq!(prompt(&env, 1), "do it");
    let second = prompt(&env, 2);
    assert!(
        second.starts_with("do it\n"),
        "the task comes first, word for word:\n{second}"
    );
    for part in [
        "VERIFICATION RETRY 1/2",
        "FAILED CHECKS:",
        "grep -q good out",
        "out:1: error: expected good, got bad",
        "YOUR PREVIOUS OUTPUT:",
        "All tests pass, I am done.",
        "CANNOT_SATISFY:",
    ] {
        assert!(second.contains(part), "`{part}` is missing in:\n{second}");
    }
}

#[test]
fn checks_all_run_after_a_failure() {
    let env = env_with_repo();
    let agent = agent(&env, "");
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "exit 1",
        "--check",
        "echo ran",
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).run();
    out.assert_code(1);
    let report = &out.json()["verification_report"];
    assert_eq!(report["checks"][1]["output"], "ran\n");
    let summary = &report["summary"];
    assert_eq!(
        (summary["passed"].as_u64(), summary["failed"].as_u64()),
        (Some(1), Some(1))
    );
}

#[test]
fn check_timeout_is_a_failure_and_is_reported() {
    let env = env_with_repo();
    let more = ["--verification-timeout", "300ms", "--retries", "0"];
    let out = run_json(&env, &agent(&env, ""), "sleep 600", &more);
    out.assert_code(1);
    let report = &out.json()["verification_report"];
    assert_eq!(report["status"], "timeout");
    assert_eq!(report["checks"][0]["status"], "timeout");
}

#[test]
fn shell_task_runs_and_verifies_once() {
    let env = env_with_repo();
    let task =
        r#"{"description": "count", "command": "echo x >> count", "complexity_tier": "trivial"}"#;
    let run = [
        "run",
        "--file",
        "-",
        "--check",
        "exit 1",
        "--retries",
        "3",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).stdin(task).run();
    out.assert_code(1);
    assert_eq!(env.read("count"), "x\n");
    assert_eq!(out.json()["verification_attempts"], 1);
}

#[test]
fn test_check_without_tests_is_not_a_pass() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\ntype = \"test_passes\"\nrun = \"true\"\n",
    );
    let agent = agent(&env, "");
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--retries",
        "0",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).run();
    out.assert_code(1);
    let check = &out.json()["verification_report"]["checks"][0];
    assert_eq!(
        (&check["exit_code"], check["status"].as_str()),
        (&0.into(), Some("fail"))
    );
    assert!(
        check["reason"]
            .as_str()
            .unwrap()
            .contains("no test summary"),
        "{check}"
    );
}

#[test]
fn verify_runs_checks_once_without_retries() {
    let env = env_with_repo();
    let out = env
        .selvedge([
            "verify",
            "--check",
            "echo x >> count; exit 1",
            "--format",
            "json",
        ])
        .run();
    out.assert_code(1);
    assert_eq!(env.read("count"), "x\n");
    assert_eq!(out.json()["status"], "fail");
    env.selvedge(["verify", "--check", "true"])
        .run()
        .assert_code(0);
    assert!(
        !env.state().join("selvedge/runs").exists(),
        "verifying leaves no run behind"
    );
}

#[test]
fn corrective_prompt_omits_output_of_passing_checks() {
    let env = env_with_repo();
    env.write(
        "looms.sh",
        "for n in $(seq 200); do echo \"ERROR: loom $n is dusty\"; done\n\
         [ \"$(cat number)\" != 2 ] || { echo 'row 7 differs'; exit 1; }\n",
    );
    let agent = agent(&env, "echo $SELVEDGE_RUN_NUMBER > number");
    let more = ["--check", "test $(cat number) = 3"];
    run_json(&env, &agent, "sh looms.sh", &more).assert_code(0);
    let correction = prompt(&env, 3);
    assert!(correction.contains("row 7 differs"), "{correction}");
    // Only the lines around the new one.
    let old = correction.matches("is dusty").count();
    assert!(old <= 2, "{correction}");
}
