//! Invalid input: the message, its hint, and that nothing was run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::fixtures::{agent, env_with_repo};
use selvedge_testkit::{TestEnv, assert_contains};

/// Returns the message of a rejected command: exit code 2, nothing on standard output, and nothing run.
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

#[test]
fn run_without_checks_is_rejected() {
    let env = env_with_repo();
    let message = refused(&env, &["run", "do it", "--agent-cmd", "true"]);
    assert_contains(
        &message,
        &[
            "a run without checks",
            "--check",
            "selvedge init",
            "--no-verify",
        ],
    );
}

#[test]
fn commands_without_checks_suggest_only_their_own_options() {
    let env = env_with_repo();
    for command in ["verify", "known-failures"] {
        let message = refused(&env, &[command]);
        assert_contains(&message, &["no checks to run", "--check", "selvedge init"]);
        assert!(!message.contains("--no-verify"), "{message}");
    }
}

#[test]
fn run_in_directory_that_is_not_utf8_is_rejected() {
    let env = env_with_repo();
    let name = OsStr::from_bytes(b"caf\xe9");
    let dir = env.work_dir().join(name);
    // Not every file system has such names.
    if std::fs::create_dir(&dir).is_err() {
        return;
    }
    let run = ["run", "x", "--agent-cmd", "true", "--check", "true"];
    let out = env.selvedge(run).dir(&dir).run();
    out.assert_code(2);
    assert_contains(&out.stderr, &["caf\u{fffd}", "not UTF-8", "hint: rename"]);
    let verify = env.selvedge(["verify", "--check", "true"]).dir(&dir);
    verify.run().assert_code(0);
}

#[test]
fn run_with_empty_task_is_rejected() {
    let env = env_with_repo();
    for task in [
        &["run", "  "][..],
        &["run"],
        &["run", "--file", "README.empty"],
    ] {
        env.write("README.empty", "\n");
        let message = refused(
            &env,
            &[task, &["--agent-cmd", "true", "--check", "true"]].concat(),
        );
        assert_contains(&message, &["task is empty", "--file"]);
    }
}

#[test]
fn run_with_unknown_agent_suggests_the_nearest() {
    let env = env_with_repo();
    let message = refused(
        &env,
        &["run", "do it", "--agent", "cluade", "--check", "true"],
    );
    assert_contains(&message, &["cluade", "claude", "ollama"]);
}

#[test]
fn run_without_agent_program_explains_installation() {
    let env = env_with_repo();
    let out = env
        .selvedge(["run", "do it", "--agent", "claude", "--check", "true"])
        .env("PATH", "/usr/bin:/bin")
        .run();
    out.assert_code(2);
    assert_contains(&out.stderr, &["claude", "npm install"]);
}

#[test]
fn run_with_missing_check_program_is_rejected_early() {
    let env = env_with_repo();
    let agent = agent(&env, "");
    let message = refused(
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
    assert_contains(&message, &["no-such-tool", "install"]);
}

#[test]
fn run_with_too_many_retries_is_rejected() {
    let env = env_with_repo();
    let message = refused(
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
    assert_contains(&message, &["5"]);
}

#[test]
fn run_with_attempts_is_pointed_to_retries() {
    let env = env_with_repo();
    for command in ["run", "submit"] {
        for flag in ["--attempts", "--max-attempts"] {
            let message = refused(&env, &[command, "x", flag, "3"]);
            assert_contains(&message, &[flag, "'--retries'", "--retries N"]);
        }
    }
}

#[test]
fn settings_of_wrong_type_are_rejected_with_location() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "agent = \"claude\"\n\n[verification]\nmax_retries = \"many\"\n",
    );
    let message = refused(&env, &["run", "do it", "--check", "true"]);
    assert_contains(&message, &["selvedge.toml", "4", "max_retries"]);
}

#[test]
fn settings_errors_come_with_earlier_warnings_and_hints() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[limits]\nmax_retries = 1\n\n[[checks]]\nname = \"tests\"\nrunn = \"true\"\n",
    );
    insta::assert_snapshot!(refused(&env, &["verify"]), @r#"
    warning: unknown key `limits.max_retries`, ignored
     --> selvedge.toml:2:1
      |
    2 | max_retries = 1
      | ^^^^^^^^^^^
      hint: did you mean `verification.max_retries`?
    warning: unknown key `checks[0].runn`, ignored
     --> selvedge.toml:6:1
      |
    6 | runn = "true"
      | ^^^^
      hint: did you mean `run`?
    error: `command` checks need `run`
     --> selvedge.toml:4:1
      |
    4 | [[checks]]
      | ^^^^^^^^^^
      hint: add the command, such as run = "cargo test"
    "#);

    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"a\"\nrun = \"true\"\n\n[[checks]]\nname = \"a\"\nrun = \"false\"\n",
    );
    insta::assert_snapshot!(refused(&env, &["verify"]), @r#"
    error: two checks have the name "a"
     --> selvedge.toml:6:8
      |
    6 | name = "a"
      |        ^^^
      hint: the other one is at selvedge.toml:2:8; give each check its own name
    "#);
}

#[test]
fn settings_with_unknown_key_warn_with_the_nearest() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[verification]\nmax_retry = 1\n");
    let agent = agent(&env, "echo work > work");
    let out = env
        .selvedge(["run", "x", "--agent-cmd", &agent, "--check", "true"])
        .run();
    out.assert_code(0);
    assert_contains(&out.stderr, &["max_retry", "max_retries", "selvedge.toml"]);
}

#[test]
fn run_outside_a_repository_warns_about_limits() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("a", "b");
    let agent = agent(&env, "echo good > out");
    let out = env
        .selvedge(["run", "x", "--agent-cmd", &agent, "--check", "test -s out"])
        .run();
    out.assert_code(0);
    assert_contains(
        &out.stderr,
        &["not a git repository", "no snapshots", "git init"],
    );
    env.write("selvedge.toml", "[[checks]]\ntype = \"git_clean\"\n");
    let rejected = env.selvedge(["run", "x", "--agent-cmd", &agent]).run();
    rejected.assert_code(2);
    assert_contains(
        &rejected.stderr,
        &["git_clean", "git repository", "git init"],
    );
}

#[test]
fn run_in_missing_directory_is_rejected() {
    let env = env_with_repo();
    let message = refused(
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
    assert_contains(&message, &["nowhere"]);
}

#[test]
fn run_with_missing_or_invalid_task_file_is_rejected() {
    let env = env_with_repo();
    let message = refused(
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
    assert_contains(&message, &["TASK.md"]);
    env.write("task.json", r#"{"description": 7}"#);
    let message = refused(
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
    assert_contains(&message, &["task.json", "line 1"]);
}

#[test]
fn run_in_busy_directory_is_rejected_with_the_first_id() {
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
    let id = list[0]["run_id"].as_str().unwrap();
    let short = &id[id.len() - 8..];
    assert_contains(
        &second.stderr,
        &[&format!("run {short} is using this directory")],
    );
    first.terminate();
    first.wait().assert_code(143);
}
