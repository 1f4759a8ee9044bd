//! Shared fixtures: an environment with a repository, and agents that are shell scripts.

use selvedge_testkit::{CommandOutput, TestEnv, wait_until};

/// A repository with one commit; all files of the program are in one temporary directory.
pub(crate) fn env_with_repo() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.create_repo();
    env
}

/// Writes an agent as a shell script and returns its path. The script has its prompt in `$prompt`; each prompt
/// is stored in `prompts/N` outside of the workspace.
pub(crate) fn agent(env: &TestEnv, body: &str) -> String {
    let prompts = env.root().join("prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    let folder = prompts.display();
    let script = format!(
        "#!/bin/sh\nprompt=$(cat)\nprintf '%s' \"$prompt\" > \"{folder}/$SELVEDGE_RUN_NUMBER\"\n{body}\n"
    );
    let path = env.root().join("agent.sh");
    std::fs::write(&path, script).unwrap();
    make_executable(&path);
    path.display().to_string()
}

/// Returns the prompt of an attempt.
pub(crate) fn prompt(env: &TestEnv, attempt_number: u32) -> String {
    std::fs::read_to_string(env.root().join("prompts").join(attempt_number.to_string())).unwrap()
}

/// Waits until a file exists; panics after the timeout.
#[track_caller]
pub(crate) fn wait_for(path: &std::path::Path) {
    wait_until(&path.display().to_string(), || path.exists());
}

/// Whether an optional program can be started; if not, the test is skipped, or fails in CI.
#[track_caller]
pub(crate) fn has_program(program: &str) -> bool {
    let version = std::process::Command::new(program)
        .arg("--version")
        .output();
    selvedge_testkit::is_available(program, &version)
}

pub(crate) fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs an agent on a task with one check; standard output is the result object.
pub(crate) fn run_json(env: &TestEnv, agent: &str, check: &str, more: &[&str]) -> CommandOutput {
    let fixed = [
        "run",
        "do it",
        "--agent-cmd",
        agent,
        "--check",
        check,
        "--format",
        "json",
    ];
    env.selvedge(fixed.iter().chain(more)).run()
}
