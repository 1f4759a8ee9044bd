//! Real test runners under `test_passes`: each is asked for its report for machines, the verdict
//! rests on that, and a run that ends without one is no pass, whatever it exits with.

use selvedge_testkit::{Output, TestEnv};
use serde_json::{Value, json};

use crate::tools::with_tools;

/// A project, committed, and the check that runs its tests.
fn project(files: &[(&str, &str)], run: &str) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    for (path, text) in files {
        env.write(path, text);
    }
    env.write(".gitignore", "__pycache__/\n.pytest_cache/\n");
    let check = json!(run);
    env.write(
        "selvedge.toml",
        format!("[[checks]]\ntype = \"test_passes\"\nrun = {check}\n"),
    );
    env.repo();
    env
}

fn run(env: &TestEnv, agent: &str) -> Output {
    let fixed = ["run", "mend it", "--retries", "0", "--format", "json"];
    let run = env.selvedge(fixed.iter().chain(&["--agent-cmd", agent]));
    with_tools(run, env).run()
}

fn check(out: &Output) -> Value {
    out.json()["verification_report"]["checks"][0].clone()
}

/// An agent that does nothing is judged by these tests, all of which pass.
#[track_caller]
fn rests_on_a_report(files: &[(&str, &str)], command: &str, ids: &[&str]) {
    let env = project(files, command);
    let out = run(&env, "true");
    out.assert_code(0);
    let check = check(&out);
    assert_eq!(check["evidence"], "machine_report", "{check}");
    let mut passed: Vec<&str> = check["tests"]["passed_ids"]["ids"]
        .as_array()
        .map(|ids| ids.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    passed.sort_unstable();
    assert_eq!(passed, ids);
    let shown = env.selvedge(["show"]).run();
    assert!(shown.stdout.contains("own report"), "{}", shown.stdout);
}

const PYTHON: &str = "import shop\n\n\ndef test_adds():\n    assert shop.add(1, 2) == 3\n\n\n\
                      class TestCart:\n    def test_empty(self):\n        assert shop.add(0, 0) == 0\n";
const SHOP: &str = "def add(a, b):\n    return a + b\n";

#[test]
fn pytest_reports() {
    let files = [("test_shop.py", PYTHON), ("shop.py", SHOP)];
    let ids = [
        "test_shop.py::TestCart::test_empty",
        "test_shop.py::test_adds",
    ];
    rests_on_a_report(&files, "python3 -m pytest -q", &ids);
}

#[test]
fn jest_reports() {
    let tests = "test('adds', () => expect(1 + 2).toBe(3));\n\
                 describe('cart', () => { test('is empty', () => {}); });\n";
    let files = [("package.json", "{}\n"), ("shop.test.js", tests)];
    rests_on_a_report(&files, "jest --ci", &["adds", "cart › is empty"]);
}

#[test]
fn node_reports() {
    let tests = "const { test, describe } = require('node:test');\n\
                 test('adds', () => {});\n\
                 describe('cart', () => { test('is empty', () => {}); });\n";
    rests_on_a_report(
        &[("shop.test.js", tests)],
        "node --test",
        &["adds", "cart > is empty"],
    );
}

const GO: &str = "package shop\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {\n\
                  \tt.Run(\"small\", func(t *testing.T) {})\n}\n";

#[test]
fn go_reports_and_is_kept_as_people_read_it() {
    let files = [
        ("go.mod", "module example.org/shop\n\ngo 1.20\n"),
        ("shop.go", "package shop\n"),
        ("shop_test.go", GO),
    ];
    rests_on_a_report(&files, "go test ./...", &["TestAdds", "TestAdds/small"]);
    let env = project(&files, "go test ./...");
    run(&env, "true").assert_code(0);
    let printed = env
        .selvedge(["show", "--attempt", "1", "--check", "1"])
        .run();
    assert!(
        printed.stdout.contains("--- PASS: TestAdds"),
        "{}",
        printed.stdout
    );
    assert!(!printed.stdout.contains("\"Action\""), "{}", printed.stdout);
}

#[test]
fn a_runner_that_is_left_before_its_end_wrote_no_report() {
    let env = project(&[("test_shop.py", PYTHON), ("shop.py", SHOP)], "pytest");
    let leaves = "sh -c 'printf \"\\nimport os\\nos._exit(0)\\n\" >> shop.py'";
    let out = run(&env, leaves);
    out.assert_code(1);
    let check = check(&out);
    assert_eq!(
        (&check["exit_code"], &check["status"]),
        (&json!(0), &json!("fail"))
    );
    let reason = check["reason"].as_str().unwrap();
    assert!(reason.contains("pytest wrote no report"), "{reason}");
}

/// What replaces the way in which pytest runs a test.
const PATCH: &str = "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n";

#[test]
fn a_runner_that_was_patched_lets_the_canary_live() {
    let env = project(&[("test_shop.py", PYTHON), ("shop.py", SHOP)], "pytest");
    let patch = env.root().join("patch");
    std::fs::write(&patch, PATCH).unwrap();
    let out = run(&env, &format!("cp {} shop.py", patch.display()));
    out.assert_code(1);
    let check = check(&out);
    assert_eq!(check["exit_code"], 0);
    let reason = check["reason"].as_str().unwrap();
    assert!(
        reason.contains("calls a test passed that must fail"),
        "{reason}"
    );
}
