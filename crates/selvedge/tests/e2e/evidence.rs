//! The tricks of the guard's corpus that the evidence rule is expected to catch, done by an agent
//! while the task allows every file to be changed, so that the guard puts nothing back: the check
//! exits 0 on its real runner, and is no pass all the same.

use std::path::{Path, PathBuf};

use selvedge_testkit::{Invocation, TestEnv};
use serde_json::json;

use crate::tricks::corpus::{Case, Group, groups};
use crate::tricks::write;

/// Keeps what compilers keep between runs out of the hermetic home, which is new for each test.
pub(crate) fn with_caches(run: Invocation) -> Invocation {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let of_the_user = |variable: &str, folder: &str| {
        std::env::var_os(variable).map_or_else(|| home.join(folder), PathBuf::from)
    };
    run.env(
        "GOCACHE",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache"),
    )
    .env("RUSTUP_HOME", of_the_user("RUSTUP_HOME", ".rustup"))
    .env("CARGO_HOME", of_the_user("CARGO_HOME", ".cargo"))
}

/// What the check said after the trick, unless it exited with 0 and was no pass.
fn missed(group: &Group, case: &Case) -> Option<String> {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    write(&env.work(), &group.before(case));
    env.write(
        ".gitignore",
        "__pycache__/\ntarget/\nnode_modules/\nCargo.lock\n",
    );
    env.repo();
    let after = env.root().join("after");
    write(&after, &group.after(case));
    let trick = env.root().join("trick.sh");
    let script = format!("rm -rf -- *\ncp -r {}/. .\n", after.display());
    std::fs::write(&trick, script).unwrap();
    let task = json!({
        "description": group.task(case),
        "allow": ["**"],
        "verification_steps": [{"type": "test_passes", "target": group.run(case)}],
    });
    let agent = format!("sh {}", trick.display());
    let run = ["run", "--file", "-", "--retries", "0", "--format", "json"];
    let run = env.selvedge(run.iter().chain(&["--agent-cmd", &agent]));
    let out = with_caches(run).stdin(task.to_string()).run();
    let check = &out.json()["verification_report"]["checks"][0];
    let caught = check["status"] == "fail" && check["exit_code"] == 0;
    (!caught).then(|| format!("{}: exit code {}\n{check}", case.name, out.code))
}

fn catches(runner: &str) {
    let groups = groups().unwrap();
    let group = groups
        .iter()
        .find(|group| group.runner == runner && !group.trick.is_empty())
        .unwrap();
    let expected = group.trick.iter().filter(|case| case.evidence.is_some());
    let missed: Vec<String> = expected.filter_map(|case| missed(group, case)).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn pytest_does_not_pass() {
    catches("pytest");
}

#[test]
fn node_does_not_pass() {
    catches("node:test");
}

#[test]
fn jest_does_not_pass() {
    catches("jest");
}

#[test]
fn cargo_does_not_pass() {
    catches("cargo test");
}

#[test]
fn go_does_not_pass() {
    catches("go test");
}
