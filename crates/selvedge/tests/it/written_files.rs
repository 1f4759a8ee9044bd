//! Work that rewrites tests or tools while the checks run is never verified.

use selvedge_testkit::TestEnv;
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, run_json};

const CHECK: &str = "sh tests/run.sh";

/// A test script that runs a program of the work and then a file of test cases.
fn tested(run: &str) -> TestEnv {
    let env = env_with_repo();
    env.write("src/tool.sh", "echo built\n");
    env.write("tests/cases.sh", "grep -q good out\n");
    env.write("tests/run.sh", run);
    env.write("out", "bad\n");
    env.commit("Tests");
    env
}

#[test]
fn rewritten_test_waits_for_review() {
    let env =
        tested("sh src/tool.sh && sh tests/cases.sh; code=$?; sh src/tool.sh after; exit $code\n");
    // After the checks, the file equals the original except for its change time.
    let cheats = agent(
        &env,
        "cat > src/tool.sh <<'END'\n\
         case $1 in after) cp -p kept tests/cases.sh; rm kept ;;\n\
         *) cp -p tests/cases.sh kept; echo true > tests/cases.sh ;; esac\n\
         END",
    );
    let out = run_json(&env, &cheats, CHECK, &[]);
    out.assert_code(7);
    let result = out.json();
    let report = &result["verification_report"];
    assert_eq!(report["written_files"], json!(["tests/cases.sh"]));
    let reason = result["reason"].as_str().unwrap();
    assert!(
        reason.contains("changed while the checks ran: tests/cases.sh"),
        "{reason}"
    );
    assert_eq!(env.read("tests/cases.sh"), "grep -q good out\n");
}

#[test]
fn rewritten_tool_waits_for_review() {
    let env = tested("sh src/tool.sh && sh node_modules/runner.sh\n");
    env.write(".gitignore", "node_modules\n");
    env.commit("Ignore what is installed");
    env.write("node_modules/runner.sh", "grep -q good out\n");
    let cheats = agent(
        &env,
        "echo 'echo true > node_modules/runner.sh' > src/tool.sh",
    );
    let out = run_json(&env, &cheats, CHECK, &[]);
    out.assert_code(7);
    let written = &out.json()["verification_report"]["written_files"];
    assert_eq!(written, &json!(["node_modules/runner.sh"]));

    // A later attempt whose checks write nothing still needs a review.
    env.write("node_modules/runner.sh", "grep -q good out\n");
    env.write("src/tool.sh", "echo built\n");
    let cheats = agent(
        &env,
        "case $SELVEDGE_RUN_NUMBER in\n\
         1) echo 'echo true > node_modules/runner.sh; exit 1' > src/tool.sh ;;\n\
         *) echo 'echo built' > src/tool.sh ;; esac",
    );
    let out = run_json(&env, &cheats, CHECK, &[]);
    out.assert_code(7);
    assert_eq!(out.json()["verification_attempts"], 2);
    let changed = &out.json()["verification_report"]["changed_tools"]["listed"];
    assert_eq!(changed, &json!(["node_modules/runner.sh"]));
}

#[test]
fn rewritten_files_of_every_run_need_no_review() {
    let env = tested(
        "chmod +x tests/cases.sh; echo run >> tests/log.sh; echo 1 > tests/$$.out; sh tests/cases.sh\n",
    );
    let works = agent(&env, "echo good > out");
    // The second run uses the first one's baseline.
    for _ in 0..2 {
        let out = run_json(&env, &works, CHECK, &[]);
        out.assert_code(0);
        assert!(out.json()["verification_report"]["written_files"].is_null());
        env.write("out", "bad\n");
    }
}
