//! The setup of a project: it installs in fresh clones, and again where an attempt changed what is installed.

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, run_json};

/// Installs a test runner, of the kind that a manifest names.
const INSTALL: &str = "mkdir -p node_modules/runner\n\
    cat package.json > node_modules/runner/version\n\
    echo 'grep -q good out' > node_modules/runner/run.sh\n";
const SETTINGS: &str = "[setup]\nrun = \"sh install.sh\"\n";
const CHECK: &str = "sh node_modules/runner/run.sh";

/// A repository with a setup whose product git ignores, not yet set up.
fn project(settings: &str) -> TestEnv {
    let env = env_with_repo();
    env.write(".gitignore", "node_modules\nstate\n");
    env.write("out", "bad\n");
    env.write("package.json", "{}\n");
    env.write("install.sh", INSTALL);
    env.write("selvedge.toml", settings);
    env.commit("A project");
    env
}

fn installed() -> TestEnv {
    let env = project(SETTINGS);
    env.write("node_modules/runner/run.sh", "grep -q good out\n");
    env.write("node_modules/runner/version", "{}\n");
    env
}

#[test]
fn setup_installs_in_a_fresh_clone() {
    let env = project(SETTINGS);
    let works = agent(
        &env,
        "test -e node_modules/runner/run.sh && echo good > out",
    );
    run_json(&env, &works, CHECK, &["--worktree"]).assert_code(0);

    let env = project("[setup]\nrun = \"echo no such registry; exit 3\"\n");
    let out = run_json(
        &env,
        &agent(&env, "echo good > out"),
        CHECK,
        &["--worktree"],
    );
    out.assert_code(9);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("exited with 3: no such registry"),
        "{reason}"
    );
}

#[test]
fn changed_tools_are_installed_again_instead_of_reviewed() {
    let env = installed();
    let cheats = agent(&env, "echo 'exit 0' > node_modules/runner/run.sh");
    run_json(&env, &cheats, CHECK, &["--retries", "0"]).assert_code(1);
    let runner = env.read("node_modules/runner/run.sh");
    assert_eq!(runner, "grep -q good out\n");

    let works = agent(
        &env,
        "echo good > out; echo '{\"version\": 2}' > package.json; cp package.json node_modules/runner/version",
    );
    let out = run_json(&env, &works, CHECK, &[]);
    out.assert_code(0);
    assert!(out.json()["verification_report"]["changed_tools"].is_null());
}

#[test]
fn setup_is_the_one_from_before_the_attempt() {
    let env = installed();
    let cheats = agent(
        &env,
        "mkdir -p node_modules/runner; echo x > node_modules/runner/version\n\
         printf '%s\\n' 'mkdir -p node_modules/runner; echo exit 0 > node_modules/runner/run.sh' > install.sh\n\
         echo '[setup]' > selvedge.toml",
    );
    run_json(&env, &cheats, CHECK, &["--retries", "0"]).assert_code(1);
}

#[test]
fn tools_that_the_setup_does_not_install_wait_for_review() {
    let env = installed();
    env.write("vendor/tool.sh", "true\n");
    env.write(".git/info/exclude", "vendor\n");
    let changes = agent(&env, "echo good > out; echo '# more' >> vendor/tool.sh");
    let out = run_json(&env, &changes, CHECK, &[]);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("vendor/tool.sh"), "{reason}");
    assert_eq!(env.read("vendor/tool.sh"), "true\n# more\n");

    // One that fails leaves what was there.
    env.write(
        "install.sh",
        "rm -rf node_modules; echo no network; exit 1\n",
    );
    env.commit("A setup that fails");
    let changes = agent(
        &env,
        "echo good > out; echo '# more' >> node_modules/runner/run.sh",
    );
    let out = run_json(&env, &changes, CHECK, &[]);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("could not be installed again: setup `sh install.sh`"),
        "{reason}"
    );
    assert_eq!(
        env.read("node_modules/runner/run.sh"),
        "grep -q good out\n# more\n"
    );
}

#[test]
fn setup_of_a_task_replaces_that_of_the_settings() {
    let env = project("[setup]\nrun = \"exit 3\"\nreset = \"rm -f state\"\n");
    let works = agent(&env, "echo good > out");
    let task = env.root().join("task.json");
    std::fs::write(
        &task,
        r#"{"description": "do it", "setup": {"run": ["sh install.sh"]}}"#,
    )
    .unwrap();
    let check = "test ! -e state && echo used > state && sh node_modules/runner/run.sh";
    let run = env.selvedge(["run", "--worktree", "--file"]).arg(&task);
    let run = run.args(["--agent-cmd", &works, "--check", check, "--retries", "0"]);
    run.run().assert_code(0);
}

#[test]
fn reset_runs_before_each_run_of_the_checks() {
    let env = project("[setup]\nreset = [\"rm -f state\"]\n");
    let works = agent(&env, "echo good > out");
    let check = "test ! -e state && echo used > state && grep -q good out";
    run_json(&env, &works, check, &[]).assert_code(0);
}

#[test]
fn ignored_files_are_taken_along_and_come_back_on_no_branch() {
    let env = project("[setup]\nfiles = [\"*.local\"]\n");
    env.write(".gitignore", ".env\n*.local\nsecret\n");
    env.write(".worktreeinclude", "/.env\nout\n");
    env.commit("Ignore what is local");
    for file in [".env", "web/settings.local", "secret"] {
        env.write(file, "mine\n");
    }
    // A rule that no longer ignores it does not make it work of the agent.
    let works = agent(&env, "echo good > out; rm .gitignore");
    let check =
        "grep -q good out && test -e .env && test -e web/settings.local && test ! -e secret";
    let out = run_json(&env, &works, check, &["--worktree"]);
    out.assert_code(0);
    let branch = env.git(["for-each-ref", "--format=%(refname)", "refs/heads/selvedge"]);
    let files = env.git(["ls-tree", "-r", "--name-only", branch.trim()]);
    assert!(files.contains("out") && !files.contains(".env"), "{files}");
    assert!(!files.contains("settings.local"), "{files}");
}
