//! Checks run in a room of their own: a copy of the workspace, at its path, that no agent can write.

use std::fs;

use serde_json::{Value, json};

use super::fixture::SandboxFixture;

/// Runs an agent made of a script; the checks are lines of shell.
#[track_caller]
fn run(scene: &SandboxFixture, agent: &str, checks: &[&str]) -> Value {
    let env = &scene.env;
    env.write("agent.sh", format!("cat > /dev/null\n{agent}\n"));
    env.commit("A project");
    let mut words = vec!["run", "do it", "--agent-cmd", "sh agent.sh"];
    for check in checks {
        words.extend(["--check", check]);
    }
    words.extend(["--retries", "0", "--format", "json"]);
    let out = env.selvedge(words).run();
    assert!(out.stdout.starts_with('{'), "{}", out.stderr);
    out.json()
}

#[track_caller]
fn assert_outcome(result: &Value, outcome: &str) {
    assert_eq!(result["outcome"], outcome, "{result:#}");
}

/// A project that is built by `make`: it copies the source, and the check compares what was built.
fn built(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "build/\n*.log\n");
    env.write(
        "Makefile",
        "build/out: source\n\tmkdir -p build\n\tcp source build/out\n\techo built >> build/times\n",
    );
    env.write("source", "bad\n");
    env.write("check.sh", "make -s build/out && grep -q good build/out\n");
}

/// What was built is not rebuilt by `make`, for it looks newer than its source.
fn planted_output_is_not_there(scene: &SandboxFixture) {
    built(scene);
    let cheats =
        "mkdir -p build; echo good > build/out; touch -d '+1 day' build/out; echo worse > source";
    let result = run(scene, cheats, &["sh check.sh"]);
    assert_outcome(&result, "max_retries_exhausted");
    // What the first agent built is still in the workspace, and newer than all sources. Each run builds once more: at its
    // baseline, and for the work.
    let works = "mkdir -p build; echo good > source; make -s build/out";
    let result = run(
        scene,
        works,
        &["sh check.sh", "test \"$(wc -l < build/times)\" -le 3"],
    );
    assert_outcome(&result, "verified");
    assert_eq!(
        result["verification_report"]["sandbox"]["room"],
        json!(true),
        "{result:#}"
    );
}

/// Each tree begins with what was built before the agent began, whatever an earlier run of the checks has left.
fn runs_share_nothing(scene: &SandboxFixture) {
    built(scene);
    let env = &scene.env;
    env.write("source", "good\n");
    env.write(
        "test.sh",
        "make -s build/out; sh work.sh; ! grep -q poisoned build/out\n",
    );
    env.write("work.sh", "true\n");
    // The work poisons what was built; its own test does not look there.
    let agent = "echo 'echo poisoned > build/out' > work.sh; echo 'sh work.sh' > test.sh";
    let result = run(scene, agent, &["sh test.sh"]);
    assert_outcome(&result, "needs_review");
    // Nor does it reach the next run by what the first one left.
    let agent = "echo 'test -e build/seen || echo first > build/seen' > work.sh\n\
        printf 'make -s build/out; test ! -e build/seen && sh work.sh\\n' > test.sh";
    let result = run(scene, agent, &["sh test.sh"]);
    assert_ne!(result["outcome"], "max_retries_exhausted", "{result:#}");
}

/// What the baseline built is in the way of a tree that has no such folder.
fn a_folder_with_build_output_is_replaced(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "__pycache__\n");
    let test = "mkdir -p tests/__pycache__ && touch tests/__pycache__/x && test -e out\n";
    env.write("tests/test.sh", test);
    let agent = "mv tests moved; ln -s moved tests; echo > out";
    let result = run(scene, agent, &["sh tests/test.sh"]);
    assert_outcome(&result, "verified");
}

/// What tools keep outside of the workspace of what they have built, each tree has as it was before the agent.
fn caches_of_results_are_not_shared(scene: &SandboxFixture) {
    let env = &scene.env;
    let cache = env.root().join("cache/go-build");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("entry"), "good\n").unwrap();
    env.write("go.mod", "module example\n");
    let cached = "cd \"$XDG_CACHE_HOME/go-build\"\n";
    env.write(
        "test.sh",
        format!("{cached}grep -q good entry && test ! -e poison && echo > built\n"),
    );
    let agent = format!(
        "echo work > out\ncat > test.sh <<'END'\n{cached}echo poisoned > entry; echo > poison\nEND"
    );
    let result = run(scene, &agent, &["sh test.sh"]);
    assert_outcome(&result, "verified");
    let checks = &result["verification_report"]["crossed"]["checks"];
    assert_eq!(checks[0]["status"], "pass", "{result:#}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    // What committed files have built is there for the next run.
    env.write("test.sh", format!("{cached}test -e built\n"));
    assert_outcome(&run(scene, "echo more >> out", &["sh test.sh"]), "verified");
}

fn checks_leave_the_workspace_alone(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "*.log\nnode_modules\n");
    env.write("node_modules/tool/run.sh", "exit 0\n");
    let check = "sh -c 'test -f out; echo x > made.txt; echo x > made.log; sh node_modules/tool/run.sh; \
        echo x > node_modules/.cache/x && ! (echo x > node_modules/tool/y) 2> /dev/null && \
        pwd > seen.log && cat seen.log'";
    let result = run(scene, "echo x > out", &[check]);
    assert_outcome(&result, "verified");
    let said = result["verification_report"]["checks"][0]["output"].as_str();
    let work = env.work_dir();
    assert_eq!(said.map(str::trim), work.to_str(), "{result:#}");
    for path in ["made.txt", "made.log", "seen.log", "node_modules/.cache/x"] {
        assert!(!work.join(path).exists(), "{path}");
    }
    let runs = env.state().join("selvedge/runs");
    for run in fs::read_dir(runs).unwrap().flatten() {
        assert!(!run.path().join("room").exists(), "it goes with the run");
    }
}

/// Git reports the same as in the workspace, except what the agent has hidden from it.
fn git_is_as_the_agent_left_it(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write("generated", "1\n");
    let check = "sh -c 'git log -1 --format=%s; git status --short; git diff --exit-code --quiet'";
    let commits = "echo 2 > generated; git -c user.name=a -c user.email=a@b commit -qam 'The work'";
    let result = run(scene, commits, &[check]);
    assert_outcome(&result, "verified");
    let said = &result["verification_report"]["checks"][0]["output"];
    assert_eq!(said, "The work\n", "{result:#}");

    let hides = "echo 3 > generated; git update-index --assume-unchanged generated";
    let result = run(scene, hides, &[check]);
    assert_outcome(&result, "max_retries_exhausted");
    env.git(["update-index", "--no-assume-unchanged", "generated"]);
}

/// Links that code in the room leaves in the place of folders are not followed when build output is restored.
fn links_lead_nowhere(scene: &SandboxFixture) {
    let env = &scene.env;
    let outside = env.root().join("outside");
    fs::create_dir(&outside).unwrap();
    env.write(".gitignore", "build/\n");
    env.write("lib/source", "1\n");
    env.write(
        "test.sh",
        "mkdir -p lib/build; echo built > lib/build/out; sh work.sh\n",
    );
    env.write("work.sh", "true\n");
    // Two trees are entered after the work has run: one is the attempt's, one has the original test.
    let outside_path = outside.display();
    let agent =
        format!("echo 'rm -rf lib; ln -s {outside_path} lib' > work.sh; echo '# more' >> test.sh");
    let result = run(scene, &agent, &["sh test.sh"]);
    assert_outcome(&result, "verified");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

/// Caches over installed tools and the repository's settings are fresh for each tree.
fn what_a_run_of_the_checks_writes_is_gone(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "node_modules\n");
    env.write("node_modules/tool/run.sh", "exit 0\n");
    let test = "if test -e node_modules/.cache/seen || git config room.seen; then exit 1; fi\n\
        echo x > node_modules/.cache/seen && git config room.seen yes\n";
    env.write("test.sh", test);
    let result = run(
        scene,
        "echo x > out; echo '# more' >> test.sh",
        &["sh test.sh"],
    );
    assert_outcome(&result, "verified");
    assert!(
        result["verification_report"]["crossed"].is_object(),
        "{result:#}"
    );
    assert!(!env.work_dir().join("node_modules/.cache/seen").exists());
}

/// Files that are too large for snapshots are there as they were before the agent, or not at all.
fn large_ignored_files_of_the_attempt_are_not_there(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "*.bin\n");
    let large = "x".repeat(2 << 20);
    env.write("data.bin", &large);
    let check = "sh -c 'test -s data.bin && test ! -e made.bin'";
    let result = run(scene, "echo x > out; cp data.bin made.bin", &[check]);
    assert_outcome(&result, "verified");
    let result = run(scene, "echo y > out; echo y >> data.bin", &[check]);
    assert_outcome(&result, "max_retries_exhausted");
}

/// A failure names the ignored files that are not there, and what to do.
fn a_failure_names_what_is_not_there(scene: &SandboxFixture) {
    scene.env.write(".gitignore", "*.gen\n");
    let check = "sh -c 'cat code.gen'";
    let result = run(scene, "echo x > code.gen; echo x > out", &[check]);
    assert_outcome(&result, "max_retries_exhausted");
    let reason = result["verification_report"]["checks"][0]["reason"].as_str();
    let reason = reason.unwrap_or_default();
    assert!(
        reason.contains("code.gen") && reason.contains("[setup] run"),
        "{result:#}"
    );
}

/// Dependencies that an attempt changed are installed in the room.
fn setup_runs_in_the_room(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "node_modules\n");
    env.write("package.json", "{}\n");
    env.write("out", "bad\n");
    env.write(
        "install.sh",
        "mkdir -p node_modules/tool && echo 'grep -q good out' > node_modules/tool/run.sh\n",
    );
    env.write("selvedge.toml", "[setup]\nrun = \"sh install.sh\"\n");
    env.write("node_modules/tool/run.sh", "grep -q good out\n");
    let check = "sh node_modules/tool/run.sh";
    let result = run(scene, "echo 'exit 0' > node_modules/tool/run.sh", &[check]);
    assert_outcome(&result, "max_retries_exhausted");
    let changed = env.read("node_modules/tool/run.sh");
    assert_eq!(changed, "exit 0\n", "the workspace is the agent's");
    let result = run(
        scene,
        "echo good > out; echo 'exit  0' > node_modules/tool/run.sh",
        &[check],
    );
    assert_outcome(&result, "verified");
}

/// A folder of a repository sees what is around it, and its ignore rules count.
fn a_package_of_a_repository(scene: &SandboxFixture) {
    let env = &scene.env;
    env.write(".gitignore", "*.tmp\n");
    env.write("shared/value", "good\n");
    env.write("package/out", "bad\n");
    env.write(
        "package/agent.sh",
        "cat > /dev/null; echo good > out; echo x > x.tmp\n",
    );
    env.commit("A package");
    let check = "sh -c 'cmp out ../shared/value && test ! -e x.tmp && git status --short .'";
    let words = [
        "run",
        "do it",
        "--agent-cmd",
        "sh agent.sh",
        "--check",
        check,
        "--format",
        "json",
    ];
    let out = env.selvedge(words).dir("package").run();
    assert_outcome(&out.json(), "verified");
}

super::in_rooms!(
    planted_output_is_not_there,
    runs_share_nothing,
    a_folder_with_build_output_is_replaced,
    caches_of_results_are_not_shared,
    checks_leave_the_workspace_alone,
    git_is_as_the_agent_left_it,
    links_lead_nowhere,
    what_a_run_of_the_checks_writes_is_gone,
    large_ignored_files_of_the_attempt_are_not_there,
    a_failure_names_what_is_not_there,
    setup_runs_in_the_room,
);
// A container has nothing of what is around the workspace.
super::behind!(around, bubblewrap, a_package_of_a_repository);
