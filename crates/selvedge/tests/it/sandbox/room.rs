//! The verification room: checks run in a copy of the workspace, mounted at its path, that no agent can write.

use std::fs;
use std::time::{Duration, SystemTime};

use selvedge_testkit::assert_contains;
use serde_json::{Value, json};

use super::fixture::SandboxFixture;
use crate::fixtures::make_executable;

/// Runs a script as an agent, with shell commands as checks; returns the result.
#[track_caller]
fn run(fixture: &SandboxFixture, agent: &str, checks: &[&str]) -> Value {
    let env = &fixture.env;
    env.write("agent.sh", format!("cat > /dev/null\n{agent}\n"));
    env.commit("A project");
    let mut args = vec!["run", "do it", "--agent-cmd", "sh agent.sh"];
    for check in checks {
        args.extend(["--check", check]);
    }
    args.extend(["--retries", "0", "--format", "json"]);
    let out = env.selvedge(args).run();
    assert!(out.stdout.starts_with('{'), "{}", out.stderr);
    out.json()
}

#[track_caller]
fn assert_outcome(result: &Value, outcome: &str) {
    assert_eq!(result["outcome"], outcome, "{result:#}");
}

/// Sets up a project that `make` builds by copying the source; the check compares the output.
fn create_make_project(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "build/\n*.log\n");
    env.write(
        "Makefile",
        "build/out: source\n\tmkdir -p build\n\tcp source build/out\n\techo built >> build/times\n",
    );
    env.write("source", "bad\n");
    env.write("check.sh", "make -s build/out && grep -q good build/out\n");
}

/// `make` would not rebuild the planted output, because it is newer than its source.
fn room_has_no_planted_build_output(fixture: &SandboxFixture) {
    create_make_project(fixture);
    let cheats =
        "mkdir -p build; echo good > build/out; touch -d '+1 day' build/out; echo worse > source";
    let result = run(fixture, cheats, &["sh check.sh"]);
    assert_outcome(&result, "max_retries_exhausted");
    // The output of the first agent is still in the workspace, and newer than all sources. Each run builds once
    // more in its baseline and once for the work.
    let works = "mkdir -p build; echo good > source; make -s build/out";
    let result = run(
        fixture,
        works,
        &["sh check.sh", "test \"$(wc -l < build/times)\" -le 3"],
    );
    assert_outcome(&result, "verified");
    assert_eq!(
        result["verification_report"]["sandbox"]["room"],
        json!(true),
        "{result:#}"
    );
    // A changed source is newer than the output of the baseline, regardless of its time in the workspace.
    let cheats = "echo worse > source; touch -d 2000-01-01 source";
    let result = run(fixture, cheats, &["sh check.sh"]);
    assert_outcome(&result, "max_retries_exhausted");
}

/// Sets the modification time of a file to a number of days since 1970.
fn set_day(fixture: &SandboxFixture, path: &str, day: u64) {
    let file = fs::File::options()
        .append(true)
        .open(fixture.env.work_dir().join(path))
        .unwrap();
    let day = Duration::from_secs(day * 24 * 60 * 60);
    file.set_modified(SystemTime::UNIX_EPOCH + day).unwrap();
}

/// A committed file that is generated from another one is not generated again, unless the other one was changed.
fn room_keeps_modification_times(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("Makefile", "parser.c: parser.y\n\tmissing-generator\n");
    env.write("source", "bad\n");
    env.write("test.sh", "make -s parser.c && grep -q good source\n");
    for (day, path) in [(1, "parser.y"), (2, "parser.c")] {
        env.write(path, "1\n");
        set_day(fixture, path, day);
    }
    let agent = "echo good > source; echo '# more' >> test.sh";
    let result = run(fixture, agent, &["sh test.sh"]);
    assert_outcome(&result, "verified");
    assert!(
        result["verification_report"]["crossed"].is_object(),
        "{result:#}"
    );
    let agent = "echo 2 > parser.y; touch -d 1970-01-02 parser.y; touch parser.c";
    let result = run(fixture, agent, &["sh test.sh"]);
    assert_outcome(&result, "max_retries_exhausted");
    // Both were changed, in this order.
    let agent = "echo 3 > parser.y; echo 3 > parser.c\n\
        touch -d 1970-01-02 parser.y; touch -d 1970-01-03 parser.c";
    let result = run(fixture, agent, &["sh test.sh"]);
    assert_outcome(&result, "verified");
}

/// An ignored file that the attempt changed is as old as before, so that it is generated again.
fn room_restores_ignored_files_with_their_times(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "made\n");
    env.write("Makefile", "made: source\n\tcp source made\n");
    for (day, path) in [(1, "source"), (2, "made")] {
        env.write(path, "1\n");
        set_day(fixture, path, day);
    }
    let agent = "echo 2 > source; cp source made";
    let check = "make -s made && grep -q 2 made";
    let result = run(fixture, agent, &[check]);
    assert_outcome(&result, "verified");
    // A failure that does not mention the file names it, too.
    let result = run(fixture, "echo x > made; echo x > out", &["test -e absent"]);
    assert_outcome(&result, "max_retries_exhausted");
    let reason = result["verification_report"]["checks"][0]["reason"].as_str();
    assert_contains(reason.unwrap_or_default(), &["made"]);
}

/// With the original tests, git reports no other changes than for the attempt's own tree.
fn room_shows_original_tests_as_committed(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("source", "bad\n");
    env.write("notes", "1\n");
    env.write("tests/test.sh", "grep -q good source\n");
    env.write("tests/old_test.sh", "true\n");
    let agent = "echo good > source; echo '# more' >> tests/test.sh; echo true > tests/new_test.sh\n\
        rm tests/old_test.sh; git add -A; git -c user.name=a -c user.email=a@b commit -qm 'The work'\n\
        echo 2 >> notes";
    let check = "sh tests/test.sh && test \"$(git status --short)\" = ' M notes' && \
        git log -1 --format=%s | grep -q 'The work' && git ls-files tests | xargs -n 1 sh -n";
    let result = run(fixture, agent, &[check]);
    assert_outcome(&result, "verified");
    let crossed = &result["verification_report"]["crossed"];
    assert_eq!(crossed["checks"][0]["status"], "pass", "{result:#}");
}

/// The folder of a test case that the attempt added is absent together with its files.
fn room_omits_folders_of_added_tests(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("source", "none\n");
    env.write("tests/cases/one/in", "one\n");
    let test = "for case in tests/cases/*/; do\n\
        test -s \"$case/in\" && grep -q \"$(cat \"$case/in\")\" source || exit 1\ndone\n";
    env.write("tests/run.sh", test);
    let agent = "echo one two > source; mkdir tests/cases/two; echo two > tests/cases/two/in";
    let result = run(fixture, agent, &["sh tests/run.sh"]);
    assert_outcome(&result, "verified");
}

/// A check that writes to installed tools gets a new copy of them for each tree. If they cannot be copied, it cannot
/// run.
fn room_copies_tools_that_checks_write(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "node_modules\n");
    env.write("node_modules/tool/run.sh", "exit 0\n");
    env.write("test.sh", "test -e out && sh node_modules/tool/run.sh\n");
    let check = "echo x >> node_modules/tool/made && test $(wc -l < node_modules/tool/made) = 1 && \
        sh test.sh";
    let result = run(fixture, "echo x > out; echo '# more' >> test.sh", &[check]);
    assert_outcome(&result, "verified");
    let report = &result["verification_report"];
    assert_eq!(report["sandbox"]["copied_tools"], json!(["node_modules"]));
    assert_eq!(
        report["crossed"]["checks"][0]["status"], "pass",
        "{result:#}"
    );
    assert!(!env.work_dir().join("node_modules/tool/made").exists());
    // Tools that an agent has changed are still not trusted.
    let agent = "echo y > out; echo 'exit  0' > node_modules/tool/run.sh";
    let result = run(fixture, agent, &[check]);
    assert_outcome(&result, "needs_review");

    let large = env.write("node_modules/tool/large", "");
    let file = fs::File::options().write(true).open(large).unwrap();
    file.set_len(2 << 30).unwrap();
    let result = run(fixture, "echo z > out", &[check]);
    assert_outcome(&result, "infra_failed");
    let reason = result["reason"].as_str().unwrap_or_default();
    assert_contains(reason, &["`node_modules`", "[setup] run"]);
}

/// A folder in the workspace that a variable names is the room's, as if no variable named it.
fn room_has_its_own_folders_of_variables(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", ".venv\ntarget\n");
    for (variable, folder) in [("VIRTUAL_ENV", ".venv"), ("CARGO_TARGET_DIR", "target")] {
        env.write(format!("{folder}/lib/one"), "1\n");
        env.commit("A project");
        let check = format!("mkdir -p {folder}/lib && echo x > {folder}/lib/made && test -e out");
        let run = env.selvedge(["run", "do it", "--retries", "0", "--check", &check]);
        let run = run.args(["--agent-cmd", "echo x >> out"]);
        let run = run.env(variable, env.work_dir().join(folder)).run();
        run.assert_code(0);
        let made = env.work_dir().join(folder).join("lib/made");
        assert!(!made.exists(), "{variable}");
    }
}

/// `init` tries a check in the same way as a run.
fn init_copies_tools_that_checks_write(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "node_modules\n");
    env.write("Makefile", "test:\n\tcd node_modules/tool && sh run.sh\n");
    // Programs use no cache in a folder that is read-only, and then do not find what should be there.
    let missing_cache = "if ! test -w ..; then
            echo \"Error: ENOENT: no such file or directory, open 'node_modules/.cache/tool/made'\"
            exit 1
        fi\n";
    for (name, script) in [("made", "echo x > made\n"), ("cache", missing_cache)] {
        env.write("node_modules/tool/run.sh", script);
        env.commit("A project");
        // Otherwise it is known that the checks need a copy.
        let state = env.root().join("state-of").join(name);
        let init = env.selvedge(["init", "--dry-run"]);
        let out = init.env("XDG_STATE_HOME", state).run();
        out.assert_success();
        assert_contains(&out.stderr, &["with a copy of node_modules"]);
        assert_contains(&out.stdout, &["\nrun = \"make test\""]);
    }
    assert!(!env.work_dir().join("node_modules/tool/made").exists());
}

/// The room of each tree starts with the build output from before the agent, whatever an earlier run of the
/// checks has written.
fn room_is_reset_between_runs_of_checks(fixture: &SandboxFixture) {
    create_make_project(fixture);
    let env = &fixture.env;
    env.write("source", "good\n");
    env.write(
        "test.sh",
        "make -s build/out; sh work.sh; ! grep -q poisoned build/out\n",
    );
    env.write("work.sh", "true\n");
    // The work changes the build output; its own test does not notice.
    let agent = "echo 'echo poisoned > build/out' > work.sh; echo 'sh work.sh' > test.sh";
    let result = run(fixture, agent, &["sh test.sh"]);
    assert_outcome(&result, "needs_review");
    // Files that the first run of the checks has written do not affect the next one.
    let agent = "echo 'test -e build/seen || echo first > build/seen' > work.sh\n\
        printf 'make -s build/out; test ! -e build/seen && sh work.sh\\n' > test.sh";
    let result = run(fixture, agent, &["sh test.sh"]);
    assert_ne!(result["outcome"], "max_retries_exhausted", "{result:#}");
}

/// The baseline's build output is in a folder that the attempt's tree replaces by a link.
fn room_replaces_a_folder_with_build_output(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "__pycache__\n");
    let test = "mkdir -p tests/__pycache__ && touch tests/__pycache__/x && test -e out\n";
    env.write("tests/test.sh", test);
    let agent = "mv tests moved; ln -s moved tests; echo > out";
    let result = run(fixture, agent, &["sh tests/test.sh"]);
    assert_outcome(&result, "verified");
}

/// Caches of build results outside of the workspace are reset for each tree to their state before the agent.
fn room_resets_caches_of_build_results(fixture: &SandboxFixture) {
    let env = &fixture.env;
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
    let result = run(fixture, &agent, &["sh test.sh"]);
    assert_outcome(&result, "verified");
    let checks = &result["verification_report"]["crossed"]["checks"];
    assert_eq!(checks[0]["status"], "pass", "{result:#}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    // Results that were built from committed files are kept for the next run, without what a check of an attempt wrote.
    env.write(
        "test.sh",
        format!(
            "marked=$(ls mark)\n{cached}test -e built && grep -q good entry && test ! -e poison || exit 1\n\
             [ -z \"$marked\" ] || {{ echo bad > entry; echo > poison; }}\n"
        ),
    );
    env.commit("Change the check");
    for _ in 0..2 {
        let result = run(fixture, "echo > mark", &["sh test.sh"]);
        assert_outcome(&result, "verified");
        fs::remove_file(env.work_dir().join("mark")).unwrap();
    }
}

fn room_protects_the_workspace_from_checks(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "*.log\nnode_modules\n");
    env.write("node_modules/tool/run.sh", "exit 0\n");
    let check = "sh -c 'test -f out; echo x > made.txt; echo x > made.log; sh node_modules/tool/run.sh; \
        echo x > node_modules/.cache/x && ! (echo x > node_modules/tool/y) 2> /dev/null && \
        pwd > seen.log && cat seen.log'";
    let result = run(fixture, "echo x > out", &[check]);
    assert_outcome(&result, "verified");
    let output = result["verification_report"]["checks"][0]["output"].as_str();
    let work = env.work_dir();
    assert_eq!(output.map(str::trim), work.to_str(), "{result:#}");
    for path in ["made.txt", "made.log", "seen.log", "node_modules/.cache/x"] {
        assert!(!work.join(path).exists(), "{path}");
    }
    let runs = env.state().join("selvedge/runs");
    for run in fs::read_dir(runs).unwrap().flatten() {
        assert!(!run.path().join("room").exists(), "it goes with the run");
    }
}

/// Git reports the same as in the workspace, except for what the agent has hidden from it.
fn room_shows_git_state_of_the_workspace(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("generated", "1\n");
    let check = "sh -c 'git log -1 --format=%s; git status --short; git diff --exit-code --quiet'";
    let commits = "echo 2 > generated; git -c user.name=a -c user.email=a@b commit -qam 'The work'";
    let result = run(fixture, commits, &[check]);
    assert_outcome(&result, "verified");
    let output = &result["verification_report"]["checks"][0]["output"];
    assert_eq!(output, "The work\n", "{result:#}");

    let hides = "echo 3 > generated; git update-index --assume-unchanged generated";
    let result = run(fixture, hides, &[check]);
    assert_outcome(&result, "max_retries_exhausted");
    env.git(["update-index", "--no-assume-unchanged", "generated"]);
}

/// Links that the work puts in the place of folders are not followed when build output is restored.
fn room_does_not_follow_planted_links(fixture: &SandboxFixture) {
    let env = &fixture.env;
    let outside = env.root().join("outside");
    fs::create_dir(&outside).unwrap();
    env.write(".gitignore", "build/\n");
    env.write("lib/source", "1\n");
    env.write(
        "test.sh",
        "mkdir -p lib/build; echo built > lib/build/out; sh work.sh\n",
    );
    env.write("work.sh", "true\n");
    // Two trees are checked after the work has run: the attempt's tree, and the one with the original tests.
    let outside_path = outside.display();
    let agent =
        format!("echo 'rm -rf lib; ln -s {outside_path} lib' > work.sh; echo '# more' >> test.sh");
    let result = run(fixture, &agent, &["sh test.sh"]);
    assert_outcome(&result, "verified");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

/// Caches in tool folders and the repository's settings are reset for each tree.
fn room_discards_writes_of_checks(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "node_modules\n");
    env.write("node_modules/tool/run.sh", "exit 0\n");
    let test = "if test -e node_modules/.cache/seen || git config room.seen; then exit 1; fi\n\
        echo x > node_modules/.cache/seen && git config room.seen yes\n";
    env.write("test.sh", test);
    let result = run(
        fixture,
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

/// Files that are too large for snapshots are as they were before the agent, or missing.
fn room_omits_large_ignored_files_of_the_attempt(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "*.bin\n");
    let large = "x".repeat(2 << 20);
    env.write("data.bin", &large);
    let check = "sh -c 'test -s data.bin && test ! -e made.bin'";
    let result = run(fixture, "echo x > out; cp data.bin made.bin", &[check]);
    assert_outcome(&result, "verified");
    let result = run(fixture, "echo y > out; echo y >> data.bin", &[check]);
    assert_outcome(&result, "max_retries_exhausted");
}

/// A failure names the missing ignored files and a fix.
fn room_failure_names_missing_ignored_files(fixture: &SandboxFixture) {
    fixture.env.write(".gitignore", "*.gen\n");
    let check = "sh -c 'cat code.gen'";
    let result = run(fixture, "echo x > code.gen; echo x > out", &[check]);
    assert_outcome(&result, "max_retries_exhausted");
    let reason = result["verification_report"]["checks"][0]["reason"].as_str();
    let reason = reason.unwrap_or_default();
    assert!(
        reason.contains("code.gen") && reason.contains("[setup] run"),
        "{result:#}"
    );
}

/// Dependencies that an attempt has changed are installed again in the room.
fn room_runs_setup(fixture: &SandboxFixture) {
    let env = &fixture.env;
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
    let result = run(
        fixture,
        "echo 'exit 0' > node_modules/tool/run.sh",
        &[check],
    );
    assert_outcome(&result, "max_retries_exhausted");
    let changed = env.read("node_modules/tool/run.sh");
    assert_eq!(changed, "exit 0\n", "the workspace is the agent's");
    let result = run(
        fixture,
        "echo good > out; echo 'exit  0' > node_modules/tool/run.sh",
        &[check],
    );
    assert_outcome(&result, "verified");
    let report = &result["verification_report"];
    assert!(report["setup_ms"].is_u64(), "{result:#}");
}

/// As `uv run` does, the check installs the project again if its manifest has another content than at the last time.
fn room_runs_setup_for_original_tests(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "node_modules\n");
    env.write("package.json", "{}\n");
    env.write("out", "bad\n");
    env.write("tests/test_app.sh", "true\n");
    env.write("lib/app.sh", "true\n");
    // What is there is not installed again.
    let tool =
        "test -e node_modules/tool/run.sh || echo 'grep -q good out' > node_modules/tool/run.sh";
    env.write(
        "install.sh",
        format!("mkdir -p node_modules/tool\n{tool}\ncat package.json > node_modules/tool/of\n"),
    );
    env.write("selvedge.toml", "[setup]\nrun = \"sh install.sh\"\n");
    env.write("node_modules/tool/run.sh", "grep -q good out\n");
    env.write("node_modules/tool/of", "{}\n");
    let check = "cmp -s package.json node_modules/tool/of || sh install.sh; \
        sh tests/test_app.sh; sh lib/app.sh; sh node_modules/tool/run.sh";
    let scripts = "echo '{\"scripts\": {\"lint\": \"lint .\"}}' > package.json";
    let tampers = "echo 'echo exit 0 > node_modules/tool/run.sh'";
    let attempts = [
        ("echo good > out".to_owned(), "verified"),
        // The original tests do not tamper with the tool.
        (format!("{tampers} > tests/test_app.sh"), "needs_review"),
        (format!("{tampers} > lib/app.sh"), "needs_review"),
    ];
    for (work, outcome) in attempts {
        let result = run(fixture, &format!("{work}; {scripts}"), &[check]);
        assert_outcome(&result, outcome);
        env.git(["checkout", "-q", "--", "."]);
    }
}

/// A setup reads Bundler's settings as they were before the agent.
fn setup_reads_settings_of_bundler(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", ".bundle\nvendor\n");
    env.write("out", "bad\n");
    env.write(
        "install.sh",
        "grep -q vendor .bundle/config && mkdir -p vendor/tool && echo 'grep -q good out' > vendor/tool/run.sh\n",
    );
    env.write("selvedge.toml", "[setup]\nrun = \"sh install.sh\"\n");
    env.write(".bundle/config", "BUNDLE_PATH: vendor\n");
    env.write("vendor/tool/run.sh", "grep -q good out\n");
    let work = "echo good > out; echo 'exit  0' > vendor/tool/run.sh";
    let check = "sh vendor/tool/run.sh";
    let settings = "echo 'BUNDLE_PATH: vendor/other' > .bundle/config";
    let result = run(fixture, &format!("{work}; {settings}"), &[check]);
    assert_outcome(&result, "needs_review");
    env.write(".bundle/config", "BUNDLE_PATH: vendor\n");
    env.write("vendor/tool/run.sh", "grep -q good out\n");
    env.write("out", "bad\n");
    assert_outcome(&run(fixture, work, &[check]), "verified");
}

/// Files that checks leave in a room are not in the next run's room, although it may reuse the
/// room's files.
fn room_does_not_inherit_files_from_the_last_room(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write("value", "good\n");
    env.write("folder/value", "good\n");
    let hostile =
        "sh -c 'echo bad > value; rm -r folder; ln -s . folder; mkdir planted; touch planted/file'";
    let result = run(fixture, "echo 1 > out", &[hostile]);
    assert_outcome(&result, "verified");
    let check = "sh -c 'cat value folder/value | grep -c good | grep -q 2 && test ! -e planted'";
    let result = run(fixture, "echo 2 > out", &[check]);
    assert_outcome(&result, "verified");
}

/// Build output, and copies of tools, are kept for the next run, without what the checks of an attempt wrote.
fn room_resets_what_the_last_room_has_written(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "build/\nnode_modules/\n");
    env.write("node_modules/tool/run.sh", "exit 0\n");
    env.write("node_modules/tool/lib/file", "good\n");
    let poison = "for folder in build node_modules/tool; do
            echo bad > $folder/lib/file; rm -r $folder/other; ln -s / $folder/other; echo > $folder/planted
        done\n";
    env.write(
        "test.sh",
        format!(
            "[ -e build ] || {{ mkdir -p build/lib build/other; echo good > build/lib/file; echo > build/first; }}
            for folder in build node_modules/tool; do
                grep -q good $folder/lib/file && [ ! -e $folder/planted ] && [ ! -L $folder/other ] || exit 1
            done
            [ -e build/first ] && sh node_modules/tool/run.sh && echo >> node_modules/tool/made || exit 1
            [ \"$(ls -a node_modules/tool | wc -l)\" = 6 ] || exit 1
            mark=$(ls mark 2>&1) && {poison}exit 0\n"
        ),
    );
    fs::create_dir(env.work_dir().join("node_modules/tool/other")).unwrap();
    for _ in 0..3 {
        let result = run(fixture, "echo > mark", &["sh test.sh"]);
        // The check passes, but has changed tools.
        assert_outcome(&result, "needs_review");
        let reviewed = env.selvedge(["review", "--reject", "--reason", "tools"]);
        reviewed.run().assert_code(1);
        fs::remove_file(env.work_dir().join("mark")).unwrap();
    }
    // The folders themselves are reused.
    let shadows = env.state().join("selvedge/shadows");
    let shadow = fs::read_dir(shadows).unwrap().next().unwrap().unwrap();
    let list = fs::read_to_string(shadow.path().join("last-written/folders.json")).unwrap();
    assert_contains(&list, &["\"build\"", "\"node_modules\""]);
}

/// A run in a subfolder sees the repository around it, and the repository's ignore rules apply.
fn room_of_a_subfolder_shows_the_repository(fixture: &SandboxFixture) {
    let env = &fixture.env;
    env.write(".gitignore", "*.tmp\n");
    env.write("shared/value", "good\n");
    env.write("package/out", "bad\n");
    env.write(
        "package/agent.sh",
        "cat > /dev/null; echo good > out; echo x > x.tmp\n",
    );
    env.commit("A package");
    let check = "sh -c 'grep -qxf ../shared/value out && test ! -e x.tmp && git status --short .'";
    let args = [
        "run",
        "do it",
        "--agent-cmd",
        "sh agent.sh",
        "--check",
        check,
        "--format",
        "json",
    ];
    let out = env.selvedge(args).dir("package").run();
    assert_outcome(&out.json(), "verified");
}

/// A run does not read the state of the files again where nothing can have changed it: git lists the files for the first
/// snapshot, after each run of the checks, for the attempt's snapshot, and before the attempt's tree is restored in the
/// room (after it too if files were added or removed). Trees that the run itself has stored are not read from git.
fn room_is_surveyed_only_after_changes(fixture: &SandboxFixture) {
    let env = &fixture.env;
    let path = std::env::var("PATH").unwrap();
    let mut folders = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let git = folders.find(|program| program.is_file()).unwrap();
    let (folder, calls) = (env.root().join("git-calls"), env.root().join("calls"));
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nexec '{}' \"$@\"\n",
        calls.display(),
        git.display()
    );
    make_executable(&env.write(folder.join("git"), script));
    env.write("agent.sh", "cat > /dev/null; echo more >> out\n");
    env.write("out", "");
    env.write(".gitignore", "build/\n");
    env.commit("A project");
    let path = format!("{}:{path}", folder.display());
    // Build output is copied only if everything is committed, which takes one more call.
    let build = "sh -c 'mkdir -p build; echo built >> build/log'";
    for (check, surveys) in [("true", 5), (build, 6)] {
        let args = ["run", "do it", "--agent-cmd", "sh agent.sh", "--check"];
        let run = env.selvedge(args).arg(check).args(["--retries", "0"]);
        run.env("PATH", &path).run().assert_success();
        let called = fs::read_to_string(&calls).unwrap();
        fs::remove_file(&calls).unwrap();
        let count = |command: &str| {
            let words = called.lines().flat_map(|call| call.split(' '));
            words.filter(|word| *word == command).count()
        };
        assert_eq!(count("ls-files"), surveys, "{check}: {called}");
        for command in ["ls-tree", "diff-tree", "update-ref"] {
            assert_eq!(count(command), 0, "{check}: {called}");
        }
        env.commit("Done");
    }
}

/// Defines tests of what a room contains, which does not depend on the backend, and of how it is mounted, which does.
macro_rules! in_rooms {
    (contents: [$($content:ident),+ $(,)?], mounts: [$($mount:ident),+ $(,)?]) => {
        super::behind!(bubblewrap, bubblewrap, $($content,)+ $($mount),+);
        super::in_containers!(podman, Podman, $($mount),+);
    };
}

in_rooms!(
    contents: [
        room_has_no_planted_build_output,
        room_is_reset_between_runs_of_checks,
        room_keeps_modification_times,
        room_restores_ignored_files_with_their_times,
        room_shows_original_tests_as_committed,
        room_omits_folders_of_added_tests,
        room_omits_large_ignored_files_of_the_attempt,
        room_failure_names_missing_ignored_files,
        room_does_not_inherit_files_from_the_last_room,
    ],
    mounts: [
        room_copies_tools_that_checks_write,
        room_resets_what_the_last_room_has_written,
        room_has_its_own_folders_of_variables,
        init_copies_tools_that_checks_write,
        room_replaces_a_folder_with_build_output,
        room_resets_caches_of_build_results,
        room_protects_the_workspace_from_checks,
        room_shows_git_state_of_the_workspace,
        room_does_not_follow_planted_links,
        room_discards_writes_of_checks,
        room_runs_setup,
        room_runs_setup_for_original_tests,
        setup_reads_settings_of_bundler,
    ]
);
// Containers do not show what is around the workspace.
super::behind!(around, bubblewrap, room_of_a_subfolder_shows_the_repository);
super::behind!(counted, bubblewrap, room_is_surveyed_only_after_changes);
