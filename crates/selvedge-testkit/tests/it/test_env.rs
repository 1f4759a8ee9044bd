//! The hermetic environment: nothing leaks in, nothing is left behind, and no wait is unlimited.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use selvedge_testkit::{SpawnedProgram, TestEnv};

fn env() -> TestEnv {
    TestEnv::new("/no/such/selvedge")
}

#[test]
fn test_env_inherits_only_path() {
    let env = env();
    let output = env.command("env").run();
    let mut lines: Vec<_> = output
        .stdout
        .lines()
        .filter(|line| !line.starts_with("PATH="))
        .collect();
    lines.sort_unstable();
    insta::assert_snapshot!(env.normalise(&lines.join("\n")), @r"
    GIT_CONFIG_GLOBAL=[ENV]/gitconfig
    GIT_CONFIG_NOSYSTEM=1
    HOME=[HOME]
    LANG=C.UTF-8
    NO_COLOR=1
    SELVEDGE_SANDBOX_BACKEND=none
    TMPDIR=[ENV]/tmp
    TZ=UTC
    XDG_CACHE_HOME=[ENV]/cache
    XDG_CONFIG_HOME=[ENV]/config
    XDG_DATA_HOME=[ENV]/data
    XDG_STATE_HOME=[STATE]
    ");
}

#[test]
fn test_env_repository_has_the_same_commit_everywhere() {
    let heads = [env(), env()].map(|env| {
        env.write("src/lib.rs", "pub fn answer() {}\n");
        env.create_repo();
        assert_eq!(env.git(["status", "--porcelain"]), "");
        assert_eq!(
            env.git(["log", "--format=%s by %an"]),
            "Begin by Test Person\n"
        );
        env.git(["rev-parse", "HEAD"])
    });
    assert_eq!(heads[0], heads[1]);
}

#[test]
fn test_env_passes_input_and_output_completely() {
    let text = "line\n".repeat(100_000);
    let output = env().command("cat").stdin(text.clone()).run();
    assert!(output.assert_success().stdout == text);
}

#[test]
fn test_env_signal_sets_the_exit_code() {
    let env = env();
    // SIGINT is omitted: where a shell runs the tests in the background, children ignore it.
    let signals: [fn(&SpawnedProgram); 2] = [SpawnedProgram::terminate, SpawnedProgram::kill];
    let codes = signals.map(|signal| {
        let child = env
            .command("sh")
            .args(["-c", "echo ready; exec sleep 1000"])
            .spawn();
        child.wait_for_stdout("ready");
        signal(&child);
        child.wait().code
    });
    assert_eq!(codes, [143, 137]);
}

#[test]
fn test_env_dropped_child_ends_its_process_tree() {
    let env = env();
    let script = "sleep 1000 & setsid sh -c 'sleep 1001 & echo ready; wait' & wait";
    let child = env.command("sh").args(["-c", script]).spawn();
    child.wait_for_stdout("ready");
    // Two shells and two `sleep`s; the latter may still be forked shells.
    assert_eq!(env.processes().len(), 4, "{:?}", env.processes());
    drop(child);
    assert_eq!(env.processes(), []);
}

#[test]
fn test_env_timeout_fails_the_test_and_ends_the_program() {
    let env = env();
    let sleep = env
        .command("sleep")
        .arg("1000")
        .timeout(Duration::from_millis(1));
    let panic = catch_unwind(AssertUnwindSafe(|| sleep.run())).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("still running"), "{message}");
    assert_eq!(env.processes(), []);
}

#[test]
fn normalise_replaces_varying_values() {
    let env = env();
    let work = env.work_dir();
    let text = format!(
        "run 0199a3b2-7c4d-7e8f-9a0b-1c2d3e4f5a6b in {work}/src at 2026-11-21T20:14:17.257Z\n\
         tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904 from http://127.0.0.1:40123\n\
         took 1.25s (of 2m 03s, 12 ms waiting), 3 attempts, 41 seconds ago\n\
         {{\"duration_ms\":1234,\"attempt\":2}}\n",
        work = work.display(),
    );
    insta::assert_snapshot!(env.normalise(&text), @r#"
    run [ID] in [WORK]/src at [TIME]
    tree [HASH] from http://127.0.0.1:[PORT]
    took [DURATION] (of [DURATION], [DURATION] waiting), 3 attempts, [DURATION] ago
    {"duration_ms":[MS],"attempt":2}
    "#);
}
