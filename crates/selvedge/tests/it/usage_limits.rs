//! Usage limits of an agent's subscription: the run waits until they are reset, or is suspended; no retry is used.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo, wait_for};
use crate::fleet::fixture::HubFixture;

/// Shell code that reports a limit like Claude Code does; it is reset after this number of seconds.
fn reports_limit(seconds: u32) -> String {
    format!(
        r#"echo unfinished >> part
resets=$(( $(date +%s) + {seconds} ))
echo '{{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-6"}}'
echo '{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":'$resets',"rateLimitType":"five_hour"}}}}'
echo '{{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your limit","total_cost_usd":0.01}}'
exit 1"#
    )
}

/// An agent whose first session reports a limit.
fn limited_agent(env: &TestEnv, seconds: u32) -> String {
    let limit = reports_limit(seconds);
    let script = format!(
        "if [ $SELVEDGE_RUN_NUMBER = 1 ]; then\n{limit}\nfi\ntest -e part && echo good > out"
    );
    agent(env, &script)
}

fn run(env: &TestEnv, agent: &str, more: &[&str]) -> CommandOutput {
    let fixed = [
        "run",
        "do it",
        "--agent-cmd",
        agent,
        "--check",
        "grep -q good out",
    ];
    let format = ["--retries", "0", "--format", "json"];
    env.selvedge(fixed.iter().chain(&format).chain(more)).run()
}

fn closings(env: &TestEnv) -> Vec<Value> {
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    let attempts = story["attempts"].as_array().unwrap();
    attempts.iter().map(|it| it["closing"].clone()).collect()
}

#[test]
fn usage_limit_is_waited_for_without_using_a_retry() {
    let env = env_with_repo();
    let agent = limited_agent(&env, 5);
    let out = run(&env, &agent, &[]);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 1);
    assert_eq!(closings(&env), ["usage_limit", "report"]);
    assert!(
        env.work_dir().join("part").exists(),
        "the next session continues with the files of the limited one"
    );
}

#[test]
fn usage_limit_suspends_the_run_as_configured() {
    for (seconds, more) in [
        (3_000, ["--on-usage-limit", "stop"]),
        (30_000, ["--on-usage-limit", "wait"]),
    ] {
        let env = env_with_repo();
        let agent = limited_agent(&env, seconds);
        let out = run(&env, &agent, &more);
        out.assert_code(130);
        let reason = out.json()["reason"].to_string();
        assert!(reason.contains("usage limit"), "{reason}");
        assert!(out.stderr.is_empty(), "{}", out.stderr);
        // A user who resumes it decides that the time has come.
        let out = env.selvedge(["resume", "--format", "json"]).run();
        out.assert_code(0);
        assert_eq!(out.json()["verification_attempts"], 1);
        assert_eq!(closings(&env), ["usage_limit", "report"]);
    }
}

#[test]
fn worker_gives_its_slot_back_while_a_task_waits() {
    // The first two tasks occupy both slots of the worker.
    let limit = reports_limit(3_000);
    let script = format!(
        "if mkdir \"$root/limited-1\" 2>/dev/null || mkdir \"$root/limited-2\" 2>/dev/null; then\n{limit}\nfi\n\
         echo good > out"
    );
    let fleet = HubFixture::new(&script);
    let worker = fleet.worker("one");
    let limited = [0; 2].map(|_| fleet.submit("grep -q good out", &[]));
    wait_for(&fleet.env.root().join("limited-2"));
    worker.wait_for_stderr("its slot is free");
    let next = fleet.submit("grep -q good out", &[]);
    fleet.watch(&next).assert_code(0);
    // A waiting task can be cancelled.
    fleet.run(&["cancel", &limited[0]]).assert_code(0);
    fleet.watch(&limited[0]).assert_code(10);
    assert_eq!(fleet.closings(&limited[1]), ["usage_limit"]);
}

#[test]
fn worker_continues_a_task_when_its_limit_is_reset() {
    let limit = reports_limit(5);
    let script = format!("if [ $SELVEDGE_RUN_NUMBER = 1 ]; then\n{limit}\nfi\necho good > out");
    let fleet = HubFixture::new(&script);
    let worker = fleet.worker("one");
    let task = fleet.submit("grep -q good out", &["--retries", "0"]);
    fleet.watch(&task).assert_code(0);
    assert_eq!(fleet.closings(&task), ["usage_limit", "report"]);
    worker.wait_for_stderr("its slot is free");
}
