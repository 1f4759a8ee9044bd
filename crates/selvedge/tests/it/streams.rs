//! Standard output that cannot be written, or whose reader has closed it.

use selvedge_testkit::{CommandOutput, TestEnv, is_available};

use crate::fixtures::{agent, env_with_repo};

/// A device that is always full.
const FULL: &str = "/dev/full";

const CHECK: &str = "grep -q good out";

fn run_with<'a>(agent: &'a str, check: &'a str) -> [&'a str; 6] {
    ["run", "x", "--agent-cmd", agent, "--check", check]
}

/// Runs the program with its streams redirected by a shell.
fn redirected(env: &TestEnv, args: &[&str], redirection: &str) -> CommandOutput {
    let script = format!("\"$0\" \"$@\" {redirection}");
    let shell = env.command("sh").args(["-c", &script]);
    shell
        .arg(env!("CARGO_BIN_EXE_selvedge"))
        .args(args)
        .stdin("error: it broke\n")
        .run()
}

fn full(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let out = redirected(env, args, &format!("> {FULL}"));
    let stderr = &out.stderr;
    assert!(
        stderr.contains("cannot write to standard output"),
        "{args:?}: {stderr}"
    );
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    out
}

#[test]
fn stdout_error_fails_every_command() {
    if !is_available(FULL, &std::fs::metadata(FULL)) {
        return;
    }
    let env = env_with_repo();
    let agent = agent(&env, "echo good > out; echo done");
    let run = run_with(&agent, CHECK);
    env.selvedge(run).run().assert_code(0);
    for args in [
        &["list"][..],
        &["list", "--format", "json"],
        &["show"],
        &["show", "--format", "json"],
        &["show", "--format", "jsonl"],
        &["show", "--diff"],
        &["show", "--junit", "-"],
        &["show", "--attempt", "1", "--transcript"],
        &["stats"],
        &["digest"],
        &["digest", "--format", "json"],
        &["config", "show"],
        &["config", "default"],
        &["completions", "bash"],
        &["man"],
        &["doctor"],
        &["init", "--dry-run"],
        &["gc", "--dry-run"],
        &["verify", "--check", "true"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
    ] {
        // A command that fails anyway keeps its exit code.
        let code = redirected(&env, args, "").code;
        let expected = if code == 0 { 9 } else { code };
        assert_eq!(full(&env, args).code, expected, "{args:?}");
    }
}

/// The run continues to its end, and its verdict can be read from the journal afterwards.
#[test]
fn stdout_error_of_run_is_9_after_the_run_is_finished() {
    if !is_available(FULL, &std::fs::metadata(FULL)) {
        return;
    }
    for format in ["human", "json", "jsonl"] {
        let env = env_with_repo();
        let agent = agent(
            &env,
            "case \"$SELVEDGE_RUN_NUMBER\" in 1) echo bad ;; *) echo good ;; esac > out",
        );
        let run = [&run_with(&agent, CHECK)[..], &["--format", format]].concat();
        full(&env, &run).assert_code(9);
        let shown = env.selvedge(["show", "--format", "json"]).run().json();
        assert_eq!(shown["result"]["outcome"], "verified", "{format}");
        assert_eq!(shown["result"]["verification_attempts"], 2, "{format}");
        // A verdict that is not a success keeps its exit code.
        let more = ["--retries", "0", "--format", format];
        full(&env, &[&run_with(&agent, "false")[..], &more].concat()).assert_code(1);
        // Progress that cannot be written does not change the verdict.
        redirected(&env, &run, &format!("2> {FULL}")).assert_code(0);
    }
}

#[test]
fn stdout_closed_from_the_start_is_not_an_error() {
    let env = env_with_repo();
    for args in [&["config", "default"][..], &["--help"], &["list"]] {
        let out = redirected(&env, args, ">&-");
        out.assert_code(0);
        assert!(!out.stderr.contains("panicked"), "{args:?}: {}", out.stderr);
    }
}

#[test]
fn stdout_that_is_closed_is_not_an_error() {
    let env = env_with_repo();
    let agent = agent(&env, "echo good >> out; echo done");
    let run = run_with(&agent, CHECK);
    env.selvedge(run).run().assert_code(0);
    for args in [
        &["config", "default"][..],
        &["list"],
        &["show", "--format", "jsonl"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &run,
    ] {
        // The pipe's only reader is closed before the program starts.
        let closed = "mkfifo ../p && exec 5<>../p && exec 6>../p && exec 5>&- && rm ../p";
        let script = format!("{closed} && \"$0\" \"$@\" >&6");
        let shell = env.command("sh").args(["-c", &script]);
        let out = shell.arg(env!("CARGO_BIN_EXE_selvedge")).args(args).run();
        out.assert_code(0);
        for word in ["cannot write", "panicked"] {
            assert!(!out.stderr.contains(word), "{args:?}: {}", out.stderr);
        }
    }
}
