//! What the tests have in common: an environment with a repository, and agents made of a few lines
//! of shell.

use selvedge_testkit::{CommandOutput, TestEnv};

/// A repository with one commit, and everything of the program's inside one temporary directory.
pub(crate) fn env_with_repo() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.create_repo();
    env
}

/// An agent made of shell: its prompt is in `$prompt`, and every prompt is kept in `prompts/N`
/// outside the workspace.
pub(crate) fn agent(env: &TestEnv, body: &str) -> String {
    let prompts = env.root().join("prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    let kept = prompts.display();
    let script = format!(
        "#!/bin/sh\nprompt=$(cat)\nprintf '%s' \"$prompt\" > \"{kept}/$SELVEDGE_RUN_NUMBER\"\n{body}\n"
    );
    let path = env.root().join("agent.sh");
    std::fs::write(&path, script).unwrap();
    make_executable(&path);
    path.display().to_string()
}

/// What the agent was told in an attempt.
pub(crate) fn prompt(env: &TestEnv, run_number: u32) -> String {
    std::fs::read_to_string(env.root().join("prompts").join(run_number.to_string())).unwrap()
}

/// Returns once a file is there; a file that never comes fails the test instead of hanging it.
#[track_caller]
pub(crate) fn wait_for(path: &std::path::Path) {
    wait_until(&path.display().to_string(), || path.exists());
}

/// The same for anything that can be looked at.
#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let patience = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !is_so() {
        assert!(std::time::Instant::now() < patience, "{what} never came");
        std::thread::yield_now();
    }
}

pub(crate) fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs an agent on a task with one check, and gives back the result object.
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
