//! The commands other than `run`: their output is correct, and scripts can parse it.

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, has_program, make_executable, wait_for};

#[test]
fn demo_fails_first_and_then_verifies() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    let dir = env.root().join("demo");
    let out = env.selvedge(["demo", "--dir", dir.to_str().unwrap()]).run();
    out.assert_code(0);
    for part in [
        "scripted",
        "✗ tests",
        "digest of tests",
        "examples.txt:8",
        "retry 1 of 2",
        "✓ tests",
        "selvedge demo --agent claude",
    ] {
        assert!(
            out.stderr.contains(part),
            "`{part}` is missing in:\n{}",
            out.stderr
        );
    }
    for part in [
        "verified: 3 checks passed",
        "$0.0000",
        "history: selvedge show",
    ] {
        assert!(
            out.stdout.contains(part),
            "`{part}` is missing in:\n{}",
            out.stdout
        );
    }
    let story = env.selvedge(["show", "--prompt"]).run();
    story.assert_code(0);
    assert!(
        story.stdout.contains("VERIFICATION RETRY 1/2"),
        "{}",
        story.stdout
    );
    let again = env.selvedge(["demo", "--dir", dir.to_str().unwrap()]).run();
    again.assert_code(2);
    assert!(again.stderr.contains("is not empty"));
}

#[test]
fn init_writes_tested_checks_that_run_uses() {
    if !has_program("make") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("main.c", "int x\n");
    env.write(
        "Makefile",
        "test:\n\t@touch left-behind; echo tested\n\nlint:\n\t@echo 'main.c:1:6: error: expected x'; exit 3\n",
    );
    env.create_repo();
    let out = env.selvedge(["init"]).run();
    out.assert_code(0);
    assert!(out.stderr.contains("│ main.c:1:6"), "{}", out.stderr);
    assert!(!env.work_dir().join("left-behind").exists());
    let written = env.read("selvedge.toml");
    // A linter that fails already would keep every run from being verified.
    assert!(written.contains("#run = \"make lint\""), "{written}");
    assert!(written.contains("Fails now (exited with 2"), "{written}");
    // Nothing shows that `make test` runs a test.
    let command = "\n[[checks]]\nname = \"tests\"\nrun = \"make test\"\n";
    assert!(written.contains(command), "{written}");
    assert!(out.stderr.contains("tests (`make test`)"), "{}", out.stderr);
    assert!(out.stdout.contains("selvedge run"), "{}", out.stdout);
    env.selvedge(["init"]).run().assert_code(2);
    assert_eq!(
        env.read("selvedge.toml"),
        written,
        "an existing file is never written over"
    );

    let agent = agent(
        &env,
        "printf 'test:\\n\\t@true\\nlint:\\n\\t@true\\n' > Makefile",
    );
    let run = [
        "run",
        "mend lint",
        "--agent-cmd",
        &agent,
        "--format",
        "json",
    ];
    let result = env.selvedge(run).run();
    let targets: Vec<String> = result.json()["verification_report"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["target"].as_str().unwrap().to_owned())
        .collect();
    assert!(targets.contains(&"make test".to_owned()), "{targets:?}");
    assert!(!targets.contains(&"make lint".to_owned()), "{targets:?}");
}

/// Listing a check's name would excuse every test, also one that never ran.
#[test]
fn init_proposes_only_names_of_tests_as_known_failures() {
    if !has_program("make") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("main.c", "int x\n");
    let check = "test:\n\t@echo 'main.c:1:6: error: expected x'; exit 1\n";
    env.write("Makefile", check);
    env.create_repo();
    env.selvedge(["init"]).run().assert_code(0);
    let written = env.read("selvedge.toml");
    assert!(written.contains("\nrun = \"make test\"\n"), "{written}");
    assert!(!written.contains("known_failures"), "{written}");
}

#[test]
fn init_names_paths_of_the_workspace() {
    if !has_program("bwrap") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge")).with_sandbox("bubblewrap");
    env.write(
        "composer.json",
        "{\"require-dev\": {\"phpunit/phpunit\": \"^9\"}}\n",
    );
    env.create_repo();
    let out = env.selvedge(["init"]).run();
    out.assert_code(1);
    let program = env.work_dir().join("vendor/bin/phpunit");
    let reason = format!(
        "Does not work here: program {} not found; run `composer install` first.\n",
        program.display()
    );
    let written = env.read("selvedge.toml");
    assert!(written.contains(&reason), "{written}");
    assert!(!out.stderr.contains("/room/"), "{}", out.stderr);
}

/// The programs of a virtual environment contain the path at which it was created.
#[test]
fn init_runs_programs_of_an_environment_with_absolute_paths() {
    if !has_program("bwrap") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge")).with_sandbox("bubblewrap");
    let programs = env.work_dir().join(".venv/bin");
    let tox = format!(
        "#!{}/python\nprintf '1..1\\nok 1 - it works\\n'\ntouch left-behind\n",
        programs.display()
    );
    make_executable(&env.write(".venv/bin/tox", tox));
    std::os::unix::fs::symlink("/bin/sh", programs.join("python")).unwrap();
    env.write("tox.ini", "[testenv]\n");
    env.write(".gitignore", ".venv/\n");
    env.create_repo();
    let out = env.selvedge(["init"]).run();
    out.assert_code(0);
    let written = env.read("selvedge.toml");
    assert!(
        written.contains("\nrun = \".venv/bin/tox\""),
        "{written}\n{}",
        out.stderr
    );
    assert!(!env.work_dir().join("left-behind").exists());
}

#[test]
fn init_tries_alternatives_of_unusable_checks() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("tox.ini", "[testenv]\n");
    env.write("pyproject.toml", "[tool.poetry]\n");
    env.write("poetry.lock", "");
    let tox = "#!/bin/sh\nprintf '1..1\\nok 1 - it works\\n'\n";
    make_executable(&env.write(".venv/bin/tox", tox));
    env.write(".gitignore", ".venv/\n");
    env.create_repo();
    let out = env.selvedge(["init"]).env("PATH", "/usr/bin:/bin").run();
    out.assert_code(0);
    let written = env.read("selvedge.toml");
    assert!(written.contains("#run = \"poetry run tox\""), "{written}");
    assert!(written.contains("\nrun = \".venv/bin/tox\""), "{written}");
    assert!(written.contains("\n#[setup]\n"), "{written}");
}

#[test]
fn init_that_is_interrupted_leaves_no_files() {
    if !has_program("make") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    let started = env.root().join("started");
    let check = format!("test:\n\t@touch {}; sleep 600\n", started.display());
    env.write("Makefile", check);
    env.create_repo();
    let child = env.spawn(["init"]);
    wait_for(&started);
    child.interrupt();
    child.wait().assert_code(130);
    let directory = env.work_dir();
    assert!(!directory.join("selvedge.toml").exists());
    let temporary = std::fs::read_dir(env.root().join("tmp")).unwrap();
    for entry in temporary {
        let copy = entry.unwrap().path().join(directory.file_name().unwrap());
        assert!(!copy.exists(), "{}", copy.display());
    }
}

#[test]
fn init_keeps_settings_of_the_user_if_those_of_the_repository_are_invalid() {
    if !has_program("make") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write(
        "../config/selvedge/config.toml",
        "[environment]\nchecks = [\"LOOM\"]\n",
    );
    env.write("selvedge.toml", "verification = 7\n");
    env.write(
        "Makefile",
        "test:\n\t@test -n \"$$LOOM\" && printf '1..1\\nok 1 - weave\\n'\n",
    );
    env.create_repo();
    let out = env.selvedge(["init", "--force"]).env("LOOM", "1").run();
    out.assert_code(0);
    let written = env.read("selvedge.toml");
    assert!(written.contains("Passed in"), "{written}");
}

#[test]
fn init_without_usable_check_fails_and_names_next_steps() {
    if !has_program("make") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.create_repo();
    let out = env.selvedge(["init", "--dry-run"]).run();
    out.assert_code(1);
    assert!(
        out.stderr.contains("no checks were detected"),
        "{}",
        out.stderr
    );

    env.write("Makefile", "lint:\n\t@echo cannot lint here; exit 3\n");
    let out = env.selvedge(["init"]).run();
    out.assert_code(1);
    assert!(out.stderr.contains("selvedge verify"), "{}", out.stderr);
    let written = env.read("selvedge.toml");
    assert!(written.contains("#run = \"make lint\""), "{written}");
    assert!(written.contains("#   cannot lint here"), "{written}");

    std::fs::remove_file(env.work_dir().join("Makefile")).unwrap();
    env.write("tox.ini", "[testenv]\n");
    env.write("requirements.txt", "flask\n");
    let tox = "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'flask'\"\nexit 1\n";
    make_executable(&env.write(".venv/bin/tox", tox));
    let out = env.selvedge(["init", "--force"]).run();
    out.assert_code(1);
    let next = "next: run `python3 -m venv .venv && .venv/bin/pip install -r requirements.txt`, \
                then `selvedge init --force`\n";
    assert!(out.stderr.ends_with(next), "{}", out.stderr);
}

#[test]
fn show_prints_full_output_of_check_and_agent() {
    let env = env_with_repo();
    let agent = agent(&env, "echo agent says this");
    let check = "seq 1 20000; exit 1";
    let run = [
        "run",
        "x",
        "--agent-cmd",
        &agent,
        "--check",
        check,
        "--retries",
        "0",
    ];
    env.selvedge(run).run().assert_code(1);
    let output = env
        .selvedge(["show", "last", "--attempt", "1", "--check", "1"])
        .run();
    assert_eq!(output.stdout.lines().count(), 20_000);
    let transcript = env
        .selvedge(["show", "last", "--attempt", "1", "--transcript"])
        .run();
    assert_eq!(transcript.stdout, "agent says this\n");
    // The only attempt needs no number.
    let output = env.selvedge(["show", "--check", "1"]).run();
    assert_eq!(output.stdout.lines().count(), 20_000);
    let transcript = env.selvedge(["show", "--transcript"]).run();
    assert_eq!(transcript.stdout, "agent says this\n");
    env.selvedge(["show", "last", "--attempt", "2"])
        .run()
        .assert_code(2);
    env.selvedge(["show", "last", "--attempt", "1", "--check", "2"])
        .run()
        .assert_code(2);
    env.selvedge(["show", "ffff"]).run().assert_code(2);
}

#[test]
fn digest_of_failure_never_reports_success() {
    let env = env_with_repo();
    let log = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let failed = env.selvedge(["digest", "--exit", "101"]).stdin(log).run();
    failed.assert_code(0);
    assert!(failed.stdout.contains("FAILED"), "{}", failed.stdout);
    let rust = "error[E0308]: mismatched types\n --> src/lib.rs:3:5\n  |\n3 |     1\n  |     ^\n";
    let records = env
        .selvedge(["digest", "--exit", "101", "--format", "json"])
        .stdin(rust)
        .run()
        .json();
    assert_eq!(records["failures"][0]["file"], "src/lib.rs");
    assert_eq!(records["failures"][0]["line"], 3);
    assert_eq!(records["exit"], serde_json::json!({"code": 101}));
    for wrong in [
        ["--exit", "many"],
        ["--exit", "256"],
        ["--exit", "-9"],
        ["--tokens", "1"],
    ] {
        let refused = env.selvedge(["digest"]).args(wrong).stdin(log).run();
        refused.assert_code(2);
        assert!(refused.stderr.contains(wrong[1]), "{refused}");
    }
    let unknown = env.selvedge(["digest"]).stdin(log).run();
    assert!(
        unknown
            .stdout
            .starts_with("exit code unknown: 5 tests passed, no failure found\n"),
        "{unknown}"
    );
}

#[test]
fn digest_of_empty_input_is_neither_success_nor_failure() {
    let env = env_with_repo();
    for exit in [&[][..], &["--exit", "0"]] {
        let digest = env.selvedge(["digest"]).args(exit).stdin("").run();
        digest.assert_code(0);
        assert!(digest.stdout.contains("no output"), "{digest}");
        let says = |word| digest.stdout.starts_with(word);
        assert!(!says("ok") && !says("FAILED"), "{digest}");
    }
}

#[test]
fn verify_names_the_check_of_each_of_several_digests() {
    let env = env_with_repo();
    let first = "echo 'a.c:1:2: error: one'; exit 1";
    let second = "echo 'b.c:3:4: error: two'; exit 1";
    let out = env
        .selvedge(["verify", "--check", first, "--check", second])
        .run();
    out.assert_code(1);
    let text = format!("{}{}", out.stdout, out.stderr);
    for (check, line) in [(first, "│ a.c:1:2"), (second, "│ b.c:3:4")] {
        let named = format!("digest of {check}:");
        let at = text
            .find(&named)
            .unwrap_or_else(|| panic!("{named}: {out}"));
        let below = text[at..].find(line);
        assert!(below.is_some_and(|at| at < 200), "{line}: {out}");
    }
    let alone = env.selvedge(["verify", "--check", first]).run();
    assert!(
        !format!("{}{}", alone.stdout, alone.stderr).contains("digest of"),
        "{alone}"
    );
}

#[test]
fn digest_excludes_what_passing_output_contains() {
    let env = env_with_repo();
    let noise: Vec<String> = (0..300)
        .map(|n| format!("ERROR: loom {n} is dusty\n"))
        .collect();
    let noise = noise.concat();
    env.write("green.log", &noise);
    let args = ["digest", "--exit", "1", "--passing-output", "green.log"];
    let log = format!("{noise}row 7 differs\n");
    let digest = env.selvedge(args).stdin(log.as_str()).run();
    digest.assert_code(0);
    assert!(digest.stdout.contains("row 7 differs"), "{}", digest.stdout);
    let old = digest.stdout.matches("is dusty").count();
    assert!(old <= 2, "{}", digest.stdout);
    let missing = ["digest", "--passing-output", "missing.log"];
    env.selvedge(missing)
        .stdin(log.as_str())
        .run()
        .assert_code(2);
}

#[test]
fn config_show_names_the_source_of_settings() {
    let env = env_with_repo();
    env.write("selvedge.toml", "[verification]\nmax_retries = 4\n");
    let shown = env.selvedge(["config", "show"]).run();
    shown.assert_code(0);
    let line = shown
        .stdout
        .lines()
        .find(|line| line.contains("max_retries"))
        .unwrap();
    assert!(
        line.contains('4') && line.contains("selvedge.toml:2"),
        "{line}"
    );
}

#[test]
fn doctor_names_missing_programs() {
    let env = env_with_repo();
    let out = env
        .selvedge(["doctor", "--format", "json"])
        .env("PATH", "/usr/bin:/bin")
        .run();
    let findings = out.json();
    let claude = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| {
            finding["what"]
                .as_str()
                .unwrap()
                .starts_with("agent claude")
        })
        .unwrap();
    assert_eq!(claude["ok"], false);
    assert!(claude["found"].as_str().unwrap().contains("npm install"));
    out.assert_code(2);
}

#[test]
fn completions_man_and_help_are_generated() {
    let env = env_with_repo();
    for (args, part) in [
        (&["completions", "bash"][..], "_selvedge"),
        (&["completions", "zsh"], "#compdef selvedge"),
        (&["man"], ".TH selvedge"),
        (&["--help"], "Exit codes"),
        (&["--help"], "\n\nHub commands:\n  hub "),
        (&["help"], "\n\nOptions:\n  -h, --help"),
        (&["run", "--help"], "The maximum is five"),
    ] {
        let out = env.selvedge(args).run();
        out.assert_code(0);
        assert!(
            out.stdout.contains(part),
            "`{part}` is missing in:\n{}",
            out.stdout
        );
    }
}

#[test]
fn show_of_a_check_needs_one_of_several_attempts() {
    let env = env_with_repo();
    let agent = agent(&env, "date +%N >> out");
    let run = ["run", "x", "--agent-cmd", &agent, "--check", "exit 1"];
    let run = env.selvedge(run).args(["--retries", "1"]).run();
    run.assert_code(1);
    let out = env.selvedge(["show", "--check", "1"]).run();
    out.assert_code(2);
    assert!(out.stderr.contains("--attempt N"), "{}", out.stderr);
}

#[test]
fn nothing_to_list_is_not_an_error() {
    let env = env_with_repo();
    for command in ["list", "show", "stats"] {
        let out = env.selvedge([command]).run();
        out.assert_code(0);
        assert_eq!(out.stdout, "", "{command}");
        assert!(out.stderr.contains("no runs yet"), "{}", out.stderr);
    }
    let json = |command| {
        let out = env.selvedge([command, "--format", "json"]).run();
        out.assert_code(0);
        out.json()
    };
    assert_eq!(json("list"), serde_json::json!([]));
    assert_eq!(json("show"), serde_json::json!({}));
    assert!(json("stats").is_object());
    let recent = env.selvedge(["stats", "--days", "7"]).run();
    assert!(recent.stderr.contains("no such runs"), "{}", recent.stderr);
    let lines = env.selvedge(["list", "--format", "jsonl"]).run();
    lines.assert_code(0);
    assert_eq!(lines.stdout, "");
    env.selvedge(["show", "last"]).run().assert_code(2);
}

#[test]
fn list_names_columns_and_directories() {
    let env = env_with_repo();
    let agent = agent(&env, "echo good > out");
    let task = format!("{}end", "a long task ".repeat(8));
    let run = [
        "run",
        &task,
        "--agent-cmd",
        &agent,
        "--check",
        "test -s out",
    ];
    env.selvedge(run).run().assert_code(0);
    let listed = env.selvedge(["list"]).run().stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[0].contains("directory"), "{listed}");
    let directory = env.work_dir();
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert!(lines[1].contains(&format!("/{name}  ")), "{listed}");
    assert!(lines[1].ends_with("task end"), "not truncated: {listed}");
    let limited = |limit: &str| {
        env.selvedge(["list", "--limit", limit])
            .run()
            .stderr
            .clone()
    };
    assert_eq!(limited("1"), "");
    // It changes nothing, and is listed all the same.
    env.selvedge(run).run().assert_code(11);
    let notice = limited("1");
    assert!(notice.contains("older runs are not shown"), "{notice}");
    assert_eq!(limited("2"), "");
}

#[test]
fn check_that_always_passes_is_named_before_the_agent_starts() {
    let env = env_with_repo();
    let agent = agent(&env, "echo good > out");
    let run = |check: &str| {
        let args = ["run", "x", "--agent-cmd", &agent, "--check", check];
        env.selvedge(args).run().stderr.clone()
    };
    let notice = run("false || true");
    assert!(
        notice.contains("check `false || true` always passes"),
        "{notice}"
    );
    assert!(!run("test -s out").contains("always passes"));
}

#[test]
fn agent_cmd_may_contain_shell_syntax() {
    let env = env_with_repo();
    let agent = "cat > /dev/null && echo 'good work' | tr g G > out";
    let run = ["run", "x", "--agent-cmd", agent, "--check", "test -s out"];
    env.selvedge(run).run().assert_code(0);
    assert_eq!(env.read("out"), "Good work\n");
}

#[test]
fn man_has_a_page_for_every_command() {
    let env = env_with_repo();
    let page = env.selvedge(["man", "config", "show"]).run();
    page.assert_code(0);
    assert!(
        page.stdout.contains(".TH selvedge-config-show"),
        "{}",
        page.stdout
    );
    env.selvedge(["man", "nonsense"]).run().assert_code(2);
    env.selvedge(["man", "--dir", "pages/man1"])
        .run()
        .assert_code(0);
    for name in ["selvedge", "selvedge-run", "selvedge-config-show"] {
        let page = env.read(format!("pages/man1/{name}.1"));
        assert!(page.contains(&format!(".TH {name} 1")), "{name}: {page}");
    }
}

#[test]
fn output_format_is_an_argument_of_every_command_with_json() {
    let env = env_with_repo();
    env.selvedge(["demo"]).run().assert_code(0);
    for args in [
        &["doctor"][..],
        &["config", "show"],
        &["gc", "--dry-run"],
        &["digest"],
        &["list"],
        &["stats"],
    ] {
        let out = env
            .selvedge(args)
            .args(["--format", "json"])
            .stdin("")
            .run();
        assert!(!out.json().is_null(), "{args:?}");
        env.selvedge(args).arg("--json").run().assert_code(2);
    }
}

/// Python provides the terminal; the character is Ctrl-D, the end of the input.
#[test]
fn digest_on_a_terminal_says_that_it_waits() {
    let env = env_with_repo();
    let script = "import pty, sys; pty.spawn(sys.argv[1:])";
    let python = env.command("python3").args(["-c", script]);
    let out = python
        .args([env!("CARGO_BIN_EXE_selvedge"), "digest"])
        .stdin("\u{4}")
        .run();
    assert!(
        out.stdout.contains("waiting for a tool's output"),
        "{}",
        out.stdout
    );
}
