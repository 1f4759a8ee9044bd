//! Installed tools are not in snapshots: an attempt that changes them needs a review.

use selvedge_testkit::TestEnv;
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, run_json};

/// A test runner in a folder that git ignores. It fills a cache and counts its runs in a file of its own.
const RUNNER: &str = "mkdir -p node_modules/.cache/runner\n\
    test -e node_modules/.cache/runner/planted && exit 0\n\
    echo run >> node_modules/runner/runs\n\
    echo run >> node_modules/.cache/runner/seen\n\
    grep -q good out\n";
const CHECK: &str = "sh node_modules/runner/run.sh";

fn installed() -> TestEnv {
    let env = env_with_repo();
    env.write(".gitignore", "node_modules\n");
    env.write("out", "bad\n");
    env.commit("Ignore what is installed");
    env.write("node_modules/runner/run.sh", RUNNER);
    env
}

#[test]
fn changed_tool_waits_for_review_in_later_attempts() {
    let env = installed();
    let cheats = agent(
        &env,
        "case $SELVEDGE_RUN_NUMBER in 1) echo 'exit 1' > node_modules/runner/run.sh ;; \
         *) echo 'exit 0' > node_modules/runner/run.sh ;; esac",
    );
    let out = run_json(&env, &cheats, CHECK, &[]);
    out.assert_code(7);
    let result = out.json();
    assert_eq!(result["verification_attempts"], 2);
    let reason = result["reason"].as_str().unwrap();
    assert!(
        reason.contains(
            "changed 1 file of installed tools in node_modules: node_modules/runner/run.sh"
        ),
        "{reason}"
    );
    let changed = &result["verification_report"]["changed_tools"];
    assert_eq!(changed["listed"], json!(["node_modules/runner/run.sh"]));
    assert_eq!(result["unchanged"], false);

    // The next run compares with the tools at its start.
    let works = agent(&env, "echo good > out");
    run_json(&env, &works, CHECK, &[]).assert_code(0);
}

#[test]
fn tool_folder_writes_of_checks_are_not_charged() {
    let env = installed();
    // The baseline, the first verification and the agent's own test run write into the folder.
    let works = agent(
        &env,
        "case $SELVEDGE_RUN_NUMBER in 1) echo worse > out ;; *) echo good > out ;; esac\n\
         mkdir -p node_modules/.cache/other; echo tried > node_modules/.cache/other/log",
    );
    let out = run_json(&env, &works, CHECK, &[]);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 2);
    assert!(out.json()["verification_report"]["changed_tools"].is_null());
}

#[test]
fn tool_cache_planted_by_agent_is_removed_before_checks() {
    let env = installed();
    let plants = agent(
        &env,
        "mkdir -p node_modules/.cache/runner; echo > node_modules/.cache/runner/planted",
    );
    let out = run_json(&env, &plants, CHECK, &["--retries", "0"]);
    out.assert_code(1);
}

#[test]
fn tool_folder_planted_by_agent_waits_for_review() {
    let env = installed();
    let plants = agent(
        &env,
        "echo good > out; mkdir -p lib/node_modules/assert; echo > lib/node_modules/assert/index.js",
    );
    let out = run_json(&env, &plants, CHECK, &[]);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("lib/node_modules/assert/index.js"),
        "{reason}"
    );
}
