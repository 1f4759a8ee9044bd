//! Checks that cannot be started in the baseline stop the run, so that no agent costs money for work that cannot be
//! judged. Programs that the work itself creates may be missing.

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::{agent, env_with_repo, make_executable, run_json};

fn run(env: &TestEnv, work: &str, check: &str) -> CommandOutput {
    run_json(env, &agent(env, work), check, &["--retries", "0"])
}

#[track_caller]
fn assert_stops_before_the_agent(env: &TestEnv, out: &CommandOutput, check: &str, why: &str) {
    out.assert_code(9);
    let result = out.json();
    assert_eq!(result["outcome"], "infra_failed");
    let reason = result["reason"].as_str().unwrap();
    for part in [check, why, "the agent was not started", "selvedge verify"] {
        assert!(reason.contains(part), "{part} is missing in {reason}");
    }
    assert_eq!(result["cost_source"], "reported");
    assert_eq!(result["estimated_cost_usd"], 0.0);
    assert!(!env.root().join("prompts/1").exists(), "{reason}");
}

#[test]
fn check_program_in_path_must_exist() {
    for check in [
        "cd . && no-such-tool --all",
        "true && CI=1 no-such-tool",
        "echo a | no-such-tool",
    ] {
        let env = env_with_repo();
        let out = run(&env, "true", check);
        assert_stops_before_the_agent(&env, &out, check, "`no-such-tool` was not found in PATH");
    }
    // The first program of a command is looked up before a run is created.
    for check in [
        "no-such-tool --all",
        "CI=1 no-such-tool",
        "no-such-tool | cat",
    ] {
        let env = env_with_repo();
        let out = run(&env, "true", check);
        out.assert_code(2);
        assert!(out.stderr.contains("no-such-tool"), "{out}");
        assert!(!env.root().join("prompts/1").exists());
    }
}

#[test]
fn check_program_in_workspace_must_be_executable() {
    for content in ["#!/bin/sh\nexit 0\n", "#!/no/such/interpreter\n"] {
        let env = env_with_repo();
        let check = env.write("check.sh", content);
        if content.contains("such") {
            make_executable(&check);
        }
        let out = run(&env, "true", "./check.sh");
        assert_stops_before_the_agent(&env, &out, "./check.sh", "check.sh");
    }
}

#[test]
fn check_plugin_must_answer() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\ntype = \"plugin\"\nname = \"mine\"\nrun = \"echo nonsense\"\n",
    );
    let agent = agent(&env, "true");
    let run = ["run", "do it", "--agent-cmd", &agent, "--format", "json"];
    let out = env.selvedge(run).run();
    assert_stops_before_the_agent(&env, &out, "`mine`", "not a valid report");
}

/// A package manager finds no runner because nothing was installed.
#[test]
fn check_runner_must_be_installed() {
    let env = env_with_repo();
    let check = "sh -c 'PATH=/usr/bin:/bin; mocha'";
    let out = run(&env, "true", check);
    let why = "`mocha` is not installed; install the dependencies of the project first";
    assert_stops_before_the_agent(&env, &out, "mocha", why);
}

#[test]
fn check_program_may_be_created_by_the_work() {
    let creates = "mkdir -p build/sub && printf '#!/bin/sh\\nexit 0\\n' > build/tests && chmod +x build/tests";
    for check in [
        "./build/tests",
        "CI=1 build/tests",
        "cd build && ./tests",
        "sh build/tests",
        "PATH=$PWD/build:$PATH tests",
        "export PATH=$PWD/build:$PATH; tests",
    ] {
        let env = env_with_repo();
        let agent = agent(&env, creates);
        let task = "write `build/tests`, which runs all tests";
        let run = ["run", task, "--agent-cmd", &agent, "--check", check];
        env.selvedge(run).run().assert_code(0);
    }
    let env = env_with_repo();
    let task = r#"{"description": "do it", "verification_steps":
        [{"type": "command", "target": "true", "directory": "build/sub"}]}"#;
    let agent = agent(&env, &format!("{creates} && touch build/sub/entry"));
    let run = ["run", "--file", "-", "--agent-cmd", &agent];
    env.selvedge(run).stdin(task).run().assert_code(0);
}

#[test]
fn check_programs_are_not_examined_without_baseline() {
    let env = env_with_repo();
    let more = ["--retries", "0", "--baseline", "off"];
    let out = run_json(&env, &agent(&env, "true"), "true && no-such-tool", &more);
    out.assert_code(9);
    assert!(env.root().join("prompts/1").exists());
}
