//! The setup of a project: it runs in fresh clones, and again if an attempt has changed what it installs.

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, run_json};

/// Installs a test runner, with the version in the manifest.
const INSTALL: &str = "mkdir -p node_modules/runner\n\
    cat package.json > node_modules/runner/version\n\
    echo 'grep -q good out' > node_modules/runner/run.sh\n";
const SETTINGS: &str = "[setup]\nrun = \"sh install.sh\"\n";
const CHECK: &str = "sh node_modules/runner/run.sh";

/// A repository with a setup that has not run yet and whose output git ignores.
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
    run_json(&env, &works, CHECK, &["--isolated"]).assert_code(0);

    let env = project("[setup]\nrun = \"echo no such registry; exit 3\"\n");
    let out = run_json(
        &env,
        &agent(&env, "echo good > out"),
        CHECK,
        &["--isolated"],
    );
    out.assert_code(9);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("exited with 3: no such registry"),
        "{reason}"
    );
}

#[test]
fn setup_reinstalls_changed_tools_instead_of_review() {
    let env = installed();
    let cheats = agent(&env, "echo 'exit 0' > node_modules/runner/run.sh");
    run_json(&env, &cheats, CHECK, &["--retries", "0"]).assert_code(1);
    let runner = env.read("node_modules/runner/run.sh");
    assert_eq!(runner, "grep -q good out\n");

    let works = agent(
        &env,
        "echo good > out; echo '{\"devDependencies\": {\"runner\": \"2\"}}' > package.json; \
         cp package.json node_modules/runner/version",
    );
    let out = run_json(&env, &works, CHECK, &[]);
    out.assert_code(0);
    assert!(out.json()["verification_report"]["changed_tools"].is_null());
}

#[test]
fn setup_is_taken_from_before_the_attempt() {
    let env = installed();
    let cheats = agent(
        &env,
        "mkdir -p node_modules/runner; echo x > node_modules/runner/version\n\
         printf '%s\\n' 'mkdir -p node_modules/runner; echo exit 0 > node_modules/runner/run.sh' > install.sh\n\
         echo '[setup]' > selvedge.toml",
    );
    run_json(&env, &cheats, CHECK, &["--retries", "0"]).assert_code(1);
}

/// A setup runs files of the attempt: scripts of packages, patches, build hooks.
#[test]
fn setup_that_installs_other_files_for_the_attempt_waits_for_review() {
    let env = installed();
    let install = "sh native/*.sh; date +%N > node_modules/runner/build.log";
    env.write("install.sh", format!("{INSTALL}{install}\n"));
    env.write("native/prepare.sh", "true\n");
    env.commit("Prepares something");
    let cheats = agent(
        &env,
        "echo tool > requirements.txt; echo 'echo exit 0 > node_modules/runner/run.sh' > native/a.sh",
    );
    let out = run_json(&env, &cheats, CHECK, &["--retries", "0"]);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("node_modules/runner/run.sh"), "{reason}");
    let changes = &out.json()["verification_report"]["changed_tools"];
    assert_eq!(changes["by_setup"], true, "{changes}");
    assert_eq!(changes["files"], 1, "{changes}");

    // Also if another version of the tool is locked.
    let reset = || {
        env.git(["reset", "-q", "--hard"]);
        env.git(["clean", "-q", "-d", "-f"]);
        env.write("node_modules/runner/run.sh", "grep -q good out\n");
    };
    reset();
    let upgrades = "echo '{\"devDependencies\": {\"runner\": \"2\"}}' > package.json";
    let tampers = "echo 'echo exit 0 > node_modules/runner/run.sh' > native/a.sh";
    let cheats = agent(&env, &format!("{upgrades}; {tampers}"));
    let out = run_json(&env, &cheats, CHECK, &["--retries", "0"]);
    out.assert_code(7);
    let changes = &out.json()["verification_report"]["changed_tools"];
    assert_eq!(
        changes["listed"],
        serde_json::json!(["node_modules/runner/run.sh"])
    );

    // What the setup installs in any case does not count, however the tools were installed before.
    reset();
    env.write("node_modules/runner/run.sh", "grep -q goo out\n");
    let works = agent(&env, "echo good > out; echo tool > requirements.txt");
    run_json(&env, &works, CHECK, &["--retries", "0"]).assert_code(0);
}

#[test]
fn setup_that_cannot_be_compared_waits_for_review() {
    let env = installed();
    let needs = "if grep -q runner package.json; then cat prepare.sh > node_modules/runner/run.sh || exit 1; fi";
    env.write("install.sh", format!("{INSTALL}{needs}\n"));
    env.commit("Needs a file for some dependencies");
    let work = agent(
        &env,
        "echo '{\"devDependencies\": {\"runner\": \"2\"}}' > package.json; echo exit 0 > prepare.sh",
    );
    let out = run_json(&env, &work, CHECK, &["--retries", "0"]);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    for part in [
        "could not be compared with what it installs without the attempt's code",
        "install.sh",
    ] {
        assert!(reason.contains(part), "{part} is missing in {reason}");
    }
}

#[test]
fn setup_leaves_other_changed_tools_to_review() {
    let env = installed();
    env.write("vendor/tool.sh", "true\n");
    env.write(".git/info/exclude", "vendor\n");
    let changes = agent(&env, "echo good > out; echo '# more' >> vendor/tool.sh");
    let out = run_json(&env, &changes, CHECK, &[]);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("vendor/tool.sh"), "{reason}");
    assert_eq!(env.read("vendor/tool.sh"), "true\n# more\n");

    // A setup that fails keeps the installed files.
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
        reason.contains("could not be reinstalled: setup `sh install.sh`"),
        "{reason}"
    );
    assert_eq!(
        env.read("node_modules/runner/run.sh"),
        "grep -q good out\n# more\n"
    );
}

#[test]
fn setup_of_task_replaces_setup_of_settings() {
    let env = project("[setup]\nrun = \"exit 3\"\nreset = \"rm -f state\"\n");
    let works = agent(&env, "echo good > out");
    let task = env.root().join("task.json");
    std::fs::write(
        &task,
        r#"{"description": "do it", "setup": {"run": ["sh install.sh"]}}"#,
    )
    .unwrap();
    let check = "test ! -e state && echo used > state && sh node_modules/runner/run.sh";
    let run = env.selvedge(["run", "--isolated", "--file"]).arg(&task);
    let run = run.args(["--agent-cmd", &works, "--check", check, "--retries", "0"]);
    run.run().assert_code(0);
}

#[test]
fn setup_reset_runs_before_each_run_of_checks() {
    let env = project("[setup]\nreset = [\"rm -f state\"]\n");
    let works = agent(&env, "echo good > out");
    let check = "test ! -e state && echo used > state && grep -q good out";
    run_json(&env, &works, check, &[]).assert_code(0);
}

#[test]
fn setup_files_are_copied_to_clones_and_not_committed() {
    let env = project("[setup]\nfiles = [\"*.local\"]\n");
    env.write(".gitignore", ".env\n*.local\nsecret\n");
    env.write(".worktreeinclude", "/.env\nout\n");
    env.commit("Ignore what is local");
    for file in [".env", "web/settings.local", "secret"] {
        env.write(file, "mine\n");
    }
    // A file is not the agent's work because an ignore rule was removed.
    let works = agent(&env, "echo good > out; rm .gitignore");
    let check =
        "grep -q good out && test -e .env && test -e web/settings.local && test ! -e secret";
    let out = run_json(&env, &works, check, &["--isolated"]);
    out.assert_code(0);
    let branch = env.git(["for-each-ref", "--format=%(refname)", "refs/heads/selvedge"]);
    let files = env.git(["ls-tree", "-r", "--name-only", branch.trim()]);
    assert!(files.contains("out") && !files.contains(".env"), "{files}");
    assert!(!files.contains("settings.local"), "{files}");
}
