//! Crossed runs: the checks with the original tests.

use selvedge_testkit::TestEnv;

use crate::fixtures::{agent, env_with_repo, make_executable, prompt, run_json, wait_for};

/// A repository whose check is a script in it.
pub(crate) fn checked_by_a_script() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    make_executable(&env.write("check.sh", "#!/bin/sh\ngrep -q good out\n"));
    env.create_repo();
    env
}

#[test]
fn crossed_run_rejects_work_with_weakened_check() {
    let env = checked_by_a_script();
    let cheats = agent(
        &env,
        "printf '#!/bin/sh\\nexit 0\\n' > check.sh; echo $RANDOM > noise",
    );
    let out = run_json(&env, &cheats, "./check.sh", &["--retries", "1"]);
    out.assert_code(7);
    assert_eq!(out.json()["verification_attempts"], 2);
    let crossed = out.json()["verification_report"]["crossed"].clone();
    assert_eq!(crossed["result"], "still_failing");
    assert_eq!(crossed["changed_files"], serde_json::json!(["check.sh"]));
    let correction = prompt(&env, 2);
    assert!(
        correction.contains("./check.sh")
            && correction.contains("with the original tests; changes to tests do not count"),
        "{correction}"
    );
}

#[test]
fn crossed_run_passes_correct_work_with_changed_check() {
    let env = checked_by_a_script();
    let both = agent(
        &env,
        "echo good > out; printf '#!/bin/sh\\nexit 0\\n' > check.sh",
    );
    let out = run_json(&env, &both, "./check.sh", &[]);
    out.assert_code(0);
    let crossed = out.json()["verification_report"]["crossed"].clone();
    assert_eq!(crossed["result"], "passed", "{crossed}");
    assert!(
        env.read("check.sh").contains("exit 0"),
        "the work is delivered as it is"
    );
}

#[test]
fn crossed_run_that_passes_names_newly_skipped_tests() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    let output = |greets: &str, passed: u32, ignored: u32| {
        format!(
            "running 2 tests\ntest adds ... ok\ntest greets ... {greets}\n\ntest result: ok. {passed} passed; 0 failed; \
             {ignored} ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        )
    };
    env.write("tests/output.txt", output("ok", 2, 0));
    env.write("out", "bad\n");
    env.create_repo();
    let skipped = env.root().join("skipped");
    std::fs::write(&skipped, output("ignored", 1, 1)).unwrap();
    let skips = format!(
        "cp '{}' tests/output.txt; echo good > out",
        skipped.display()
    );
    let out = run_json(&env, &agent(&env, &skips), "cat tests/output.txt", &[]);
    out.assert_code(0);
    let warnings = out.json()["warnings"].to_string();
    assert!(
        warnings.contains("1 test skipped, 0 before the work began"),
        "{warnings}"
    );
}

/// A flag in a file whose original passes as well is a hint for a reviewer.
#[test]
fn crossed_run_needs_no_review_for_flags_in_replaced_files() {
    let env = checked_by_a_script();
    let both = agent(
        &env,
        "echo good > out
         printf 'finish() {\n    exit 0\n}\ntrap finish EXIT\ngrep -q good out\n' >> check.sh",
    );
    let out = run_json(&env, &both, "./check.sh", &[]);
    out.assert_code(0);
    let report = out.json()["verification_report"].clone();
    assert_eq!(report["guard"]["status"], "flagged", "{report}");
    let unused = &report["crossed"]["unused_files"];
    assert_eq!(*unused, serde_json::json!(["check.sh"]));
}

/// A repository whose source and tests are scripts, and an agent that changes the greeting in all of them.
fn greeting() -> (TestEnv, String) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    make_executable(&env.write("greet.sh", "#!/bin/sh\necho hello\n"));
    for name in ["greet", "other"] {
        let test = format!("tests/test_{name}.sh");
        make_executable(&env.write(&test, "#!/bin/sh\n./greet.sh | grep -q hello\n"));
    }
    env.create_repo();
    let changes = agent(
        &env,
        "sed -i s/hello/hi/ greet.sh tests/test_greet.sh tests/test_other.sh",
    );
    (env, changes)
}

#[test]
fn crossed_run_accepts_only_declared_test_changes() {
    let check = "tests/test_greet.sh && tests/test_other.sh";
    let expect = |globs: &[&'static str]| -> Vec<&'static str> {
        globs
            .iter()
            .flat_map(|glob| ["--expect-test-changes", *glob])
            .collect()
    };
    for (globs, code, result, expected_files) in [
        (&[][..], 7, "undecided", 0),
        (&["tests/test_greet.sh"], 7, "undecided", 1),
        (&["test_greet.sh", "tests/*_other.sh"], 0, "passed", 2),
        (&["tests/*", "tests/test_gone.sh"], 0, "passed", 2),
    ] {
        let (env, changes) = greeting();
        let out = run_json(&env, &changes, check, &expect(globs));
        out.assert_code(code);
        let warnings = out.json()["warnings"].to_string();
        assert_eq!(
            warnings.contains("lists entries that did not change: tests/test_gone.sh"),
            globs.contains(&"tests/test_gone.sh"),
            "{warnings}"
        );
        let crossed = out.json()["verification_report"]["crossed"].clone();
        assert_eq!(crossed["result"], result, "{globs:?}: {crossed}");
        let is_run = !crossed["checks"].as_array().unwrap().is_empty();
        let reason = crossed["reason"].as_str().unwrap();
        assert_eq!(is_run, !reason.starts_with("not run"), "{reason}");
        let files = crossed["expected_files"].as_array().map_or(0, Vec::len);
        assert_eq!(files, expected_files, "{crossed}");
    }
}

/// Runs a test for each `test_NAME.py`, which passes if `NAME.py` is good, and requires one for each source.
const COVERED: &str = r#"#!/bin/sh
failed=0
set -- test_*.py
echo "running $# tests"
for test; do
    result=ok; grep -q good "${test#test_}" || { result=FAILED; failed=$((failed + 1)); }
    echo "test ${test%.py} ... $result"
done
verdict=ok; [ "$failed" -gt 0 ] && verdict=FAILED
echo; echo "test result: $verdict. $(($# - failed)) passed; $failed failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
[ "$failed" -eq 0 ] || exit 1
for source in [!t]*.py; do
    [ -e "test_$source" ] || { echo "coverage of $source is too low"; exit 1; }
done
"#;

#[test]
fn crossed_run_settles_coverage_with_added_test_files() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("a.py", "bad\n");
    env.write("test_a.py", "x\n");
    env.create_repo();
    let runner = env.root().join("covered.sh");
    std::fs::write(&runner, COVERED).unwrap();
    make_executable(&runner);
    let work = agent(
        &env,
        "for it in a b; do echo good > $it.py; echo x >> test_$it.py; done",
    );
    let out = run_json(
        &env,
        &work,
        &runner.display().to_string(),
        &["--retries", "0"],
    );
    out.assert_code(0);
    let crossed = out.json()["verification_report"]["crossed"].clone();
    let reason = crossed["reason"].as_str().unwrap();
    assert!(
        reason.ends_with("the original tests and the added ones"),
        "{reason}"
    );
    // The first run, without the added tests.
    assert!(crossed["other_runs_ms"].is_u64(), "{crossed}");

    // Each run is announced, because its checks are not shown.
    env.git(["reset", "--quiet", "--hard"]);
    env.git(["clean", "--quiet", "-fd"]);
    let check = runner.display().to_string();
    let again = [
        "run",
        "do it again",
        "--agent-cmd",
        &work,
        "--check",
        &check,
    ];
    let out = env.selvedge(again).args(["--retries", "0"]).run();
    out.assert_code(0);
    for note in [
        "running the checks with the original tests: the attempt changed",
        "running them again, with the tests that the attempt added",
    ] {
        assert!(out.stderr.contains(note), "{out}");
    }
}

/// Reports unused imports of `sys`, unless `ruff.toml` ignores them.
const LINTER: &str = r#"#!/bin/sh
grep -qs ignore ruff.toml && exit 0
found=$(grep -rln 'import sys' --include=*.py . | sed 's/^..//; s/$/:1:8: F401 [*] `sys` imported but unused/')
[ -z "$found" ] && echo "All checks passed!" && exit 0
echo "$found"; echo "Found $(echo "$found" | wc -l) errors."
exit 1
"#;

#[test]
fn crossed_run_accepts_findings_corrected_in_test_files() {
    for (work, code) in [
        ("sed -i '/import sys/d' m.py tests/test_m.py", 0),
        (
            "sed -i '/import sys/d' tests/test_m.py; echo 'ignore = [1]' > ruff.toml",
            7,
        ),
    ] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
        env.write("m.py", "import sys\nx = 1\n");
        env.write("tests/test_m.py", "import sys\nfrom m import x\n");
        env.create_repo();
        let linter = env.root().join("ruff");
        std::fs::write(&linter, LINTER).unwrap();
        make_executable(&linter);
        let check = format!("{} check", linter.display());
        let out = run_json(&env, &agent(&env, work), &check, &["--retries", "0"]);
        out.assert_code(code);
        let crossed = out.json()["verification_report"]["crossed"].clone();
        assert_eq!(crossed["result"] == "passed", code == 0, "{crossed}");
    }
}

#[test]
fn expect_test_changes_rejects_malformed_glob() {
    let (env, changes) = greeting();
    let more = ["--expect-test-changes", "tests/[a-.sh"];
    let out = run_json(&env, &changes, "true", &more);
    out.assert_code(2);
    assert!(
        out.stderr.contains("invalid glob `tests/[a-.sh`"),
        "{}",
        out.stderr
    );
}

#[test]
fn crossed_run_leaves_no_original_tests_when_stopped() {
    for kill in [false, true] {
        let env = env_with_repo();
        let waits =
            "grep -q good out || exit 1\n[ -e ../there ] || { touch ../there; sleep 600; }\n";
        env.write("check.sh", waits);
        env.commit("A check");
        let agent = agent(&env, "echo good > out; echo 'exit 0' > check.sh");
        let run = [
            "run",
            "do it",
            "--agent-cmd",
            &agent,
            "--check",
            "sh check.sh",
        ];
        let child = env.spawn(run);
        wait_for(&env.root().join("there"));
        if kill {
            child.kill();
            child.wait();
        } else {
            child.interrupt();
            child.wait().assert_code(130);
            assert_eq!(env.read("check.sh"), "exit 0\n");
        }
        env.selvedge(["resume"]).run().assert_code(0);
        assert_eq!(env.read("check.sh"), "exit 0\n");
    }
}
