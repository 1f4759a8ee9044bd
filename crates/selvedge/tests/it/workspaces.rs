//! The files after a run: the best attempt's tree is kept, and the user's repository is unchanged.

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
