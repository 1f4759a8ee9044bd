//! The files after a run: the best attempt's tree is kept, and the user's repository is unchanged.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fixtures::{agent, env_with_repo, run_json};

#[test]
fn workspace_keeps_the_tree_of_the_best_attempt() {
    let env = env_with_repo();
    let agent = agent(
        &env,
        r#"case "$SELVEDGE_RUN_NUMBER" in 1) echo half > half ;; *) rm half; echo worse > worse ;; esac"#,
    );
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        "test -s half",
        "--check",
        "test -s whole",
        "--retries",
        "1",
        "--format",
        "json",
    ];
    let out = env.selvedge(run).run();
    out.assert_code(1);
    assert_eq!(env.read("half"), "half\n");
    assert!(
        !env.work_dir().join("worse").exists(),
        "attempt 1 passed more checks: its tree stays"
    );
    let human = env.selvedge(["show"]).run();
    assert!(
        human.stdout.contains("tree of attempt 1"),
        "{}",
        human.stdout
    );
}

#[test]
fn workspace_is_the_folder_of_selvedge_toml() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[[checks]]\nrun = \"test -s out\"\n");
    let below = env.work_dir().join("deep/down");
    std::fs::create_dir_all(&below).unwrap();
    let agent = agent(&env, "echo good > out");
    let run = ["run", "x", "--agent-cmd", &agent];
    let out = env.selvedge(run).dir(&below).run();
    out.assert_code(0);
    assert!(
        out.stderr.contains("which has a selvedge.toml"),
        "{}",
        out.stderr
    );
    assert_eq!(env.read("out"), "good\n");
    env.selvedge(["verify"]).dir(&below).run().assert_code(0);
}

#[test]
fn workspace_keeps_the_users_commits_and_index() {
    let env = env_with_repo();
    env.write("staged", "staged\n");
    env.git(["add", "staged"]);
    env.write("README", "changed, not staged\n");
    let before = state_of(&env);
    run_json(&env, &agent(&env, "echo new > new"), "test -s new", &[]).assert_code(0);
    assert_eq!(state_of(&env), before);
    assert_eq!(env.git(["status", "--porcelain", "new"]).trim(), "?? new");
}

fn state_of(env: &selvedge_testkit::TestEnv) -> Vec<String> {
    let questions: [&[&str]; 4] = [
        &["rev-parse", "HEAD"],
        &["for-each-ref"],
        &["stash", "list"],
        &["diff", "--cached", "--name-only"],
    ];
    questions
        .iter()
        .map(|question| env.git(question.iter()))
        .collect()
}

/// For root, every folder is writable.
#[test]
fn workspace_and_repository_may_be_read_only() {
    let env = env_with_repo();
    env.write("below/file", "x\n");
    env.write("below/.gitignore", "*.log\n");
    env.commit("below");
    for folder in ["below", ".git"] {
        let below = env.work_dir().join("below");
        let folder = env.work_dir().join(folder);
        set_writable(&folder, false);
        let check = "test -e file && test -e .gitignore";
        let run = run_json(&env, "true", check, &["--dir", "below", "--retries", "0"]);
        let verify = env.selvedge(["verify", "--check", check]).dir(&below).run();
        set_writable(&folder, true);
        run.assert_code(11);
        verify.assert_code(0);
    }
}

/// Changes whether the owner may write a folder and those in it.
fn set_writable(folder: &Path, is_writable: bool) {
    let mode = if is_writable { 0o755 } else { 0o555 };
    std::fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            set_writable(&entry.path(), is_writable);
        }
    }
}
