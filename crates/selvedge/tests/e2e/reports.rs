//! Real test runners under `test_passes`: each is asked for its report for machines, the verdict
//! rests on that, and a run that ends without one is no pass, whatever it exits with.

mod installed;

use selvedge_testkit::{Output, TestEnv};
use serde_json::{Value, json};

use crate::tools::with_tools;

/// A project, committed, and the check that runs its tests.
fn project(files: &[(&str, &str)], run: &str) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    for (path, text) in files {
        env.write(path, text);
    }
    let built = "__pycache__/\n.pytest_cache/\ntarget/\n_build/\nbuild/\n.gradle/\nCargo.lock\n";
    env.write(".gitignore", built);
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
    let files = [("package.json", "{}\n"), ("shop.test.js", CASES)];
    let ids = ["shop.test.js › adds", "shop.test.js › cart › is empty"];
    rests_on_a_report(&files, "jest --ci", &ids);
}

#[test]
fn node_reports() {
    let tests = format!("const {{ test, describe }} = require('node:test');\n{CASES}");
    rests_on_a_report(
        &[("shop.test.js", &tests)],
        "node --test",
        &["shop.test.js > adds", "shop.test.js > cart > is empty"],
    );
}

/// Two files, in each of which a test bears the same name.
const CASES: &str = "test('adds', () => {});\n\
                     describe('cart', () => { test('is empty', () => {}); });\n";

#[test]
fn vitest_reports() {
    let files = [
        ("package.json", "{\"type\": \"module\"}\n"),
        ("cart.test.js", CASES),
        ("sub/shop.test.js", "test('adds', () => {});\n"),
    ];
    let ids = [
        "cart.test.js > adds",
        "cart.test.js > cart > is empty",
        "sub/shop.test.js > adds",
    ];
    rests_on_a_report(&files, "vitest run --globals", &ids);
}

#[test]
fn mocha_reports() {
    let tests = CASES.replace("test(", "it(");
    let files = [
        ("package.json", "{}\n"),
        ("test/cart.js", tests.as_str()),
        ("test/shop.js", "it('adds', () => {});\n"),
    ];
    let ids = [
        "test/cart.js > adds",
        "test/cart.js > cart > is empty",
        "test/shop.js > adds",
    ];
    rests_on_a_report(&files, "mocha", &ids);
}

const UNITTEST: &str = "import unittest\n\nimport shop\n\n\nclass Cart(unittest.TestCase):\n\
                        \x20   def test_adds(self):\n        self.assertEqual(shop.add(1, 2), 3)\n\n\
                        \x20   @unittest.skip('later')\n    def test_later(self):\n        pass\n";

#[test]
fn unittest_reports() {
    let files = [("test_shop.py", UNITTEST), ("shop.py", SHOP)];
    rests_on_a_report(&files, "python3 -m unittest", &["test_shop.Cart.test_adds"]);
}

/// A file that did not load before is no test that is gone once its tests run.
#[test]
fn what_loads_at_last_is_mended() {
    let python = ("test_shop.py", PYTHON);
    let node = "const shop = require('./shop.js');\nrequire('node:test').test('adds', () => {});\n";
    let jest = "const shop = require('./shop.js');\ntest('adds', () => {});\n";
    let cases = [
        ("python3 -m pytest -q", python, "shop.py", SHOP),
        (
            "python3 -m unittest",
            ("test_shop.py", UNITTEST),
            "shop.py",
            SHOP,
        ),
        ("node --test", ("shop.test.js", node), "shop.js", ""),
        ("jest --ci", ("shop.test.js", jest), "shop.js", ""),
        (
            "mocha shop.test.js",
            (
                "shop.test.js",
                "require('./shop.js');\nit('adds', () => {});\n",
            ),
            "shop.js",
            "",
        ),
    ];
    for (command, test, missing, text) in cases {
        let env = project(&[test, ("package.json", "{}\n")], command);
        let written = env.root().join(missing);
        std::fs::write(&written, text).unwrap();
        let out = run(&env, &format!("cp {} .", written.display()));
        assert_eq!(out.code, 0, "{command}: {}", check(&out));
    }
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
    let ids = [
        "example.org/shop.TestAdds",
        "example.org/shop.TestAdds/small",
    ];
    rests_on_a_report(&files, "go test ./...", &ids);
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
