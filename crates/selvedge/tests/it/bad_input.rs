//! Everything that can be asked wrongly: what is said, that it says how to mend it, and that nothing
//! was run.

use crate::fixtures::{agent, env_with_repo};
use selvedge_testkit::TestEnv;

/// What a refused call says: exit code 2, nothing on standard output, nothing run.
fn refused(env: &TestEnv, args: &[&str]) -> String {
    let out = env.selvedge(args).run();
    out.assert_code(2);
    assert_eq!(out.stdout, "", "standard output is for results");
    assert!(
        !env.root().join("prompts/1").exists(),
        "the agent must not have run"
    );
    env.normalise(&out.stderr)
}

fn says(text: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn a_task_that_nothing_would_verify_is_refused() {
    let env = env_with_repo();
    let said = refused(&env, &["run", "do it", "--agent-cmd", "true"]);
    says(
        &said,
        &["no check", "--check", "selvedge init", "--no-verify"],
    );
}

#[test]
fn an_empty_task_is_refused() {
    let env = env_with_repo();
    for task in [
        &["run", "  "][..],
        &["run"],
        &["run", "--file", "README.empty"],
    ] {
        env.write("README.empty", "\n");
        let said = refused(
            &env,
            &[task, &["--agent-cmd", "true", "--check", "true"]].concat(),
        );
        says(&said, &["task is empty", "--file"]);
    }
}

#[test]
fn an_unknown_agent_is_answered_with_the_nearest() {
    let env = env_with_repo();
    let said = refused(
        &env,
        &["run", "do it", "--agent", "cluade", "--check", "true"],
    );
    says(&said, &["cluade", "claude", "ollama"]);
}

#[test]
fn a_missing_program_of_an_agent_says_how_to_install_it() {
    let env = env_with_repo();
    let out = env
        .selvedge(["run", "do it", "--agent", "claude", "--check", "true"])
        .env("PATH", "/usr/bin:/bin")
        .run();
    out.assert_code(2);
    says(&out.stderr, &["claude", "npm install"]);
}

#[test]
fn a_check_whose_program_is_missing_is_refused_before_the_agent_costs_anything() {
    let env = env_with_repo();
    let agent = agent(&env, "");
    let said = refused(
        &env,
        &[
            "run",
            "x",
            "--agent-cmd",
            &agent,
            "--check",
            "no-such-tool --all",
        ],
    );
    says(&said, &["no-such-tool", "install"]);
}

#[test]
fn more_retries_than_the_cap_are_refused_by_name() {
    let env = env_with_repo();
    let said = refused(
        &env,
        &[
            "run",
            "x",
            "--agent-cmd",
            "true",
            "--check",
            "true",
            "--retries",
            "6",
        ],
    );
    says(&said, &["5"]);
}

#[test]
fn settings_of_a_wrong_type_are_shown_where_they_stand() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "agent = \"claude\"\n\n[verification]\nmax_retries = \"many\"\n",
    );
    let said = refused(&env, &["run", "do it", "--check", "true"]);
    says(&said, &["selvedge.toml", "4", "max_retries"]);
}

#[test]
fn an_unknown_key_is_a_warning_with_the_nearest_one() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[verification]\nmax_retry = 1\n");
    let agent = agent(&env, "echo work > work");
    let out = env
        .selvedge(["run", "x", "--agent-cmd", &agent, "--check", "true"])
        .run();
    out.assert_code(0);
    says(&out.stderr, &["max_retry", "max_retries", "selvedge.toml"]);
}

#[test]
fn outside_a_repository_it_works_and_says_what_is_missing() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("a", "b");
    let agent = agent(&env, "echo good > out");
    let out = env
        .selvedge(["run", "x", "--agent-cmd", &agent, "--check", "test -s out"])
        .run();
    out.assert_code(0);
    says(
        &out.stderr,
        &["not a git repository", "no snapshots", "git init"],
    );
    env.write("selvedge.toml", "[[checks]]\ntype = \"git_clean\"\n");
    let said = env.selvedge(["run", "x", "--agent-cmd", &agent]).run();
    said.assert_code(2);
    says(&said.stderr, &["git_clean", "git repository", "git init"]);
}

#[test]
fn a_directory_that_is_none_is_refused() {
    let env = env_with_repo();
    let said = refused(
        &env,
        &[
            "run",
            "x",
            "--agent-cmd",
            "true",
            "--check",
            "true",
            "--dir",
            "nowhere",
        ],
    );
    says(&said, &["nowhere"]);
}

#[test]
fn a_task_file_that_is_missing_or_broken_is_named() {
    let env = env_with_repo();
    let said = refused(
        &env,
        &[
            "run",
            "--file",
            "TASK.md",
            "--agent-cmd",
            "true",
            "--check",
            "true",
        ],
    );
    says(&said, &["TASK.md"]);
    env.write("task.json", r#"{"description": 7}"#);
    let said = refused(
        &env,
        &[
            "run",
            "--file",
            "task.json",
            "--agent-cmd",
            "true",
            "--check",
            "true",
        ],
    );
    says(&said, &["task.json", "line 1"]);
}

#[test]
fn a_second_run_in_the_same_directory_is_refused_with_the_first_ones_id() {
    let env = env_with_repo();
    let agent = agent(&env, "echo started; sleep 600");
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "true",
        "--format",
        "jsonl",
    ];
    let first = env.spawn(run);
    first.wait_for_stdout("effect_started");
    let second = env.selvedge(run).run();
    second.assert_code(2);
    let list = env.selvedge(["list", "--format", "json"]).run().json();
    says(&second.stderr, &[list[0]["run_id"].as_str().unwrap()]);
    first.terminate();
    first.wait().assert_code(143);
}
