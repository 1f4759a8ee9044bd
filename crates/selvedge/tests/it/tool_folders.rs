//! Installed tools are in no snapshot: what an attempt changes there waits for a person.

use selvedge_testkit::TestEnv;
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, run_json};

/// A test runner that is installed beside the sources, where git ignores it. It fills a cache, and keeps count of its
/// runs among its own files.
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
fn changed_tool_waits_for_review_in_every_later_attempt() {
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

    // What stands there when the next run begins is what it is held against.
    let works = agent(&env, "echo good > out");
    run_json(&env, &works, CHECK, &[]).assert_code(0);
}

#[test]
fn writes_of_the_checks_are_no_changes_of_the_attempt() {
    let env = installed();
    // The baseline and the first verification write into the folder; so does the agent when it tries the tests.
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
fn planted_caches_of_tools_are_removed_before_the_checks() {
    let env = installed();
    let plants = agent(
        &env,
        "mkdir -p node_modules/.cache/runner; echo > node_modules/.cache/runner/planted",
    );
    let out = run_json(&env, &plants, CHECK, &["--retries", "0"]);
    out.assert_code(1);
}

#[test]
fn planted_tool_folder_waits_for_review() {
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
