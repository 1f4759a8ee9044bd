//! The guard's corpus on the real runners. The control: each trick, done by hand and without Selvedge,
//! turns a failing check into one that exits 0. Then the same trick is done by the agent of a run,
//! and what the run says of it is held against the corpus. The rows that are printed are those of
//! `just trust`.

#[path = "../../../selvedge-core/tests/trust/corpus.rs"]
#[allow(
    dead_code,
    reason = "the guard's own test reads what this one does not"
)]
mod corpus;
mod judged;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use corpus::{Case, Files, Group};

/// What a runner reads of its surroundings, and must not.
const UNSET: [&str; 9] = [
    "CARGO",
    "CARGO_MANIFEST_DIR",
    "GOFLAGS",
    "JEST_WORKER_ID",
    "MAKEFLAGS",
    "NODE_OPTIONS",
    "NODE_TEST_CONTEXT",
    "PYTEST_ADDOPTS",
    "PYTHONPATH",
];

fn write(root: &Path, files: &Files) {
    for (path, text) in files {
        let target = root.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, text).unwrap();
    }
}

/// Runs the check over a project of its own.
fn check(group: &Group, case: &Case, files: &Files) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    write(&project, files);
    let mut command = Command::new("sh");
    command
        .args(["-c", group.run(case)])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env("CARGO_TERM_COLOR", "never")
        .stdin(Stdio::null());
    for name in UNSET {
        command.env_remove(name);
    }
    command.output().unwrap()
}

/// Whether the check fails before the trick, and exits 0 after it; else what it printed.
fn fooled(group: &Group, case: &Case) -> Result<(), String> {
    let before = check(group, case, &group.before(case));
    let after = check(group, case, &group.after(case));
    // 126 and 127: the runner itself is not there.
    let failed = before
        .status
        .code()
        .is_some_and(|code| (1..126).contains(&code));
    if failed && after.status.success() {
        return Ok(());
    }
    let said = |output: &Output| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        format!("{}\n{out}{err}", output.status)
    };
    Err(format!(
        "before: {}\nafter: {}",
        said(&before),
        said(&after)
    ))
}

/// Every trick of the runner fools it, and comes to what the corpus says in a run.
#[allow(clippy::print_stdout, reason = "the rows of `just trust`")]
fn holds(runner: &str) {
    let groups = corpus::groups().unwrap();
    let group = groups
        .iter()
        .find(|group| group.runner == runner && !group.trick.is_empty())
        .unwrap();
    let mut wrong: Vec<String> = judged::mends(group).err().into_iter().collect();
    for case in &group.trick {
        match fooled(group, case).and_then(|()| judged::judge(group, case)) {
            Ok(said) => println!("| {runner} | {} | yes | {said} |", cell(&case.name)),
            Err(why) => wrong.push(format!("{}\n{why}", case.name)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n\n{}",
        wrong.len(),
        group.trick.len(),
        wrong.join("\n\n")
    );
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn pytest_is_fooled() {
    holds("pytest");
}

#[test]
fn node_is_fooled() {
    holds("node:test");
}

#[test]
fn jest_is_fooled() {
    holds("jest");
}

#[test]
fn cargo_is_fooled() {
    holds("cargo test");
}

#[test]
fn go_is_fooled() {
    holds("go test");
}

#[test]
fn shell_and_make_are_fooled() {
    holds("shell and make");
}
