//! The commands other than `run`: their output is correct, and scripts can parse it.

use selvedge_testkit::{TestEnv, is_available};

use crate::fixtures::{agent, env_with_repo};

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
    let make = std::process::Command::new("make").arg("--version").output();
    if !is_available("make", &make) {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("Makefile", "test:\n\t@echo tested\n\nlint:\n\t@exit 3\n");
    env.create_repo();
    let out = env.selvedge(["init"]).run();
    out.assert_code(0);
    let written = env.read("selvedge.toml");
    assert!(
        written.contains("make test") && written.contains("make lint"),
        "{written}"
    );
    assert!(
        written.contains("exited with 2"),
        "what fails today is said:\n{written}"
    );
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
    assert!(targets.contains(&"make lint".to_owned()), "{targets:?}");
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
        .selvedge(["digest", "--exit", "101", "--json"])
        .stdin(rust)
        .run()
        .json();
    assert_eq!(records["failures"][0]["file"], "src/lib.rs");
    assert_eq!(records["failures"][0]["line"], 3);
    assert_eq!(records["exit"], serde_json::json!({"code": 101}));
    env.selvedge(["digest", "--exit", "many"])
        .stdin(log)
        .run()
        .assert_code(2);
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
        .selvedge(["doctor", "--json"])
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
