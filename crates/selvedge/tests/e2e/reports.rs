//! Real test runners in `test_passes` checks: Selvedge requests each runner's machine-readable report and
//! decides by it. A run that ends without a report is not a pass, whatever its exit code.

mod installed;

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::tools::with_tools;

/// A committed project with the check that runs its tests.
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
    env.create_repo();
    env
}

fn run(env: &TestEnv, agent: &str) -> CommandOutput {
    let fixed = ["run", "mend it", "--retries", "0", "--format", "json"];
    let run = env.selvedge(fixed.iter().chain(&["--agent-cmd", agent]));
    with_tools(run, env).run()
}

fn check(out: &CommandOutput) -> Value {
    out.json()["verification_report"]["checks"][0].clone()
}

/// Asserts that the verdict on some work is based on the report of these tests, all of which pass.
#[track_caller]
fn assert_report_is_used(files: &[(&str, &str)], command: &str, ids: &[&str]) {
    let env = project(files, command);
    let out = run(&env, "cp .gitignore notes");
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
    assert!(
        shown.stdout.contains("from the test runner's report"),
        "{}",
        shown.stdout
    );
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
    assert_report_is_used(&files, "python3 -m pytest -q", &ids);
}

#[test]
fn jest_reports() {
    let files = [("package.json", "{}\n"), ("shop.test.js", CASES)];
    let ids = ["shop.test.js › adds", "shop.test.js › cart › is empty"];
    assert_report_is_used(&files, "jest --ci", &ids);
}

#[test]
fn node_reports() {
    let tests = format!("const {{ test, describe }} = require('node:test');\n{CASES}");
    assert_report_is_used(
        &[("shop.test.js", &tests)],
        "node --test",
        &["shop.test.js > adds", "shop.test.js > cart > is empty"],
    );
}

/// Tests whose names occur in two files.
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
    assert_report_is_used(&files, "vitest run --globals", &ids);
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
    assert_report_is_used(&files, "mocha", &ids);
}

const UNITTEST: &str = "import unittest\n\nimport shop\n\n\nclass Cart(unittest.TestCase):\n\
                        \x20   def test_adds(self):\n        self.assertEqual(shop.add(1, 2), 3)\n\n\
                        \x20   @unittest.skip('later')\n    def test_later(self):\n        pass\n";

#[test]
fn unittest_reports() {
    let files = [("test_shop.py", UNITTEST), ("shop.py", SHOP)];
    assert_report_is_used(&files, "python3 -m unittest", &["test_shop.Cart.test_adds"]);
}

/// A test file that could not be loaded before the work, and whose tests run after it, is not a missing test.
#[test]
fn test_file_that_loads_only_after_the_work_passes() {
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
fn go_reports_and_keeps_readable_output() {
    let files = [
        ("go.mod", "module example.org/shop\n\ngo 1.20\n"),
        ("shop.go", "package shop\n"),
        ("shop_test.go", GO),
    ];
    let ids = [
        "example.org/shop.TestAdds",
        "example.org/shop.TestAdds/small",
    ];
    assert_report_is_used(&files, "go test ./...", &ids);
    let env = project(&files, "go test ./...");
    run(&env, "cp .gitignore notes").assert_code(0);
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
fn early_exit_leaves_no_report() {
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
    assert!(
        reason.contains("pytest did not write the requested report"),
        "{reason}"
    );
}

/// Runners report when they are started by a program that takes no options for them.
#[test]
fn wrapped_runners_report() {
    let script = |run: &str| json!({"scripts": {"test": run}}).to_string();
    let mocha = CASES.replace("test(", "it(");
    let node = format!("const {{ test, describe }} = require('node:test');\n{CASES}");
    let cases = [
        ("mocha --reporter dot *.test.js", mocha.as_str(), " > "),
        ("jest --ci", CASES, " › "),
        ("vitest run --globals", CASES, " > "),
        ("node --test", node.as_str(), " > "),
    ];
    for (run, tests, within) in cases {
        let package = script(run);
        let files = [("package.json", package.as_str()), ("shop.test.js", tests)];
        let ids = ["adds", &format!("cart{within}is empty")]
            .map(|name| format!("shop.test.js{within}{name}"));
        assert_report_is_used(&files, "npm test", &ids.each_ref().map(String::as_str));
    }
    let files = [
        ("Makefile", "test:\n\tpython3 -m pytest -q\n"),
        ("test_shop.py", PYTHON),
        ("shop.py", SHOP),
    ];
    let ids = [
        "test_shop.py::TestCart::test_empty",
        "test_shop.py::test_adds",
    ];
    assert_report_is_used(&files, "make test", &ids);
}

/// A runner that calls node:test and prints the results in its own way, as borp with another reporter does.
#[test]
fn runners_on_node_test_report() {
    const RUNNER: &str = "import { run } from 'node:test';\n\
                          let passed = 0;\n\
                          const files = [new URL('shop.test.js', import.meta.url).pathname];\n\
                          const events = run({ files });\n\
                          events.on('test:pass', () => { passed += 1; });\n\
                          events.on('test:fail', () => { process.exitCode = 1; });\n\
                          for await (const _ of events);\n\
                          console.log(`Passed: ${passed}`);\n";
    let tests = format!("const {{ test, describe }} = require('node:test');\n{CASES}");
    let package = "{\"scripts\": {\"test\": \"node run.mjs\"}}\n";
    let files = [
        ("package.json", package),
        ("run.mjs", RUNNER),
        ("shop.test.js", &tests),
    ];
    for command in ["npm test", "node run.mjs"] {
        let ids = ["shop.test.js > adds", "shop.test.js > cart > is empty"];
        assert_report_is_used(&files, command, &ids);
    }
}

/// Node and programs that run no tests receive the same variables.
#[test]
fn wrapped_programs_that_are_not_runners_are_unaffected() {
    let files = [
        (
            "package.json",
            "{\"scripts\": {\"test\": \"node tests.js\"}}\n",
        ),
        (
            "tests.js",
            "console.log(require('child_process').execSync('node -p 1+1') + '\\nok 1 - adds\\n1..1');\n",
        ),
    ];
    let env = project(&files, "npm test");
    let out = run(&env, "cp .gitignore notes");
    out.assert_code(0);
    assert_eq!(check(&out)["evidence"], "text");
}

/// Replaces the function with which pytest runs a test.
const PATCH: &str = "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n";

/// Sources that replace assertions: `shop` adds incorrectly, and the tests pass.
#[test]
fn canary_detects_replaced_assertions() {
    let shop = |replace: &str| format!("{replace};\nexports.add = () => 0;\n");
    let equal = shop("require('assert').equal = () => {}");
    let strict = shop("Object.is = () => true");
    let expect =
        shop("globalThis.expect?.extend({ toBe: () => ({ pass: true, message: String }) })");
    let test = "const { add } = require('./shop.js');\n";
    let node = format!(
        "{test}require('node:test').test('adds', () => require('assert').equal(add(1, 2), 3));\n"
    );
    let mocha = format!("{test}it('adds', () => require('assert').equal(add(1, 2), 3));\n");
    let jest = format!("{test}test('adds', () => expect(add(1, 2)).toBe(3));\n");
    // Their packages are found from the program, as they are not installed in the project.
    let of_runner = |name: &str| format!("require.main.require('{name}')");
    let tape = format!(
        "{test}{}('adds', (t) => {{ t.equal(add(1, 2), 3); t.end(); }});\n",
        of_runner("tape")
    );
    let tape_assert = shop(&format!(
        "{}.prototype._assert = function () {{ this.emit('result', {{ ok: true, name: 'adds' }}); }}",
        of_runner("tape/lib/test")
    ));
    let emit = shop(
        "const { prototype } = require('events');\nconst { emit } = prototype;\n\
         prototype.emit = function (name, result) {\n  if (name === 'result' && result) result.ok = true;\n\
         return emit.apply(this, arguments);\n}",
    );
    let (uvu, uvu_assert) = (of_runner("uvu"), of_runner("uvu/assert"));
    let is = format!(
        "{{ const {{ test }} = {uvu}; test('adds', () => {uvu_assert}.is(add(1, 2), 3)); test.run(); }}"
    );
    let uvu = format!("{test}{is}\n");
    let uvu_is = shop(&format!("{uvu_assert}.is = () => {{}}"));
    let python = "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n\
                  def add(a, b):\n    return 0\n";
    let file = "shop.test.js";
    let cases = [
        ("python3 -m unittest", "test_shop.py", UNITTEST, python),
        ("python3 -m pytest -q", "test_shop.py", UNITTEST, python),
        ("python3 -m pytest -q", "test_shop.py", PYTHON, PATCH),
        ("node --test", file, node.as_str(), equal.as_str()),
        ("mocha shop.test.js", file, mocha.as_str(), equal.as_str()),
        ("jest --ci", file, jest.as_str(), expect.as_str()),
        ("jest --ci", file, jest.as_str(), strict.as_str()),
        ("vitest run --globals", file, jest.as_str(), expect.as_str()),
        ("npm test", file, mocha.as_str(), equal.as_str()),
        ("tape shop.test.js", file, &tape, &tape_assert),
        ("tape shop.test.js", file, &tape, &emit),
        ("uvu . shop.test.js", file, &uvu, &uvu_is),
    ];
    for (command, test, tests, cheat) in cases {
        let (source, honest) = if test == file {
            ("shop.js", "exports.add = (a, b) => a + b;\n")
        } else {
            ("shop.py", SHOP)
        };
        let package = "{\"scripts\": {\"test\": \"mocha shop.test.js\"}}\n";
        let files = [(test, tests), ("package.json", package), (source, honest)];
        assert_canary_fails_check(&files, command, source, cheat);
    }
    let environment = of_runner("jest-environment-node");
    let honest = format!("module.exports = {environment};\n");
    let drops_errors = format!(
        "module.exports = class extends {environment}.TestEnvironment {{\n\
         handleTestEvent(event) {{ if (event.name === 'test_done') event.test.errors.length = 0; }}\n}};\n"
    );
    let files = [
        (file, jest.as_str()),
        (
            "package.json",
            "{\"jest\": {\"testEnvironment\": \"./environment.js\"}}\n",
        ),
        ("shop.js", "exports.add = (a, b) => a + b;\n"),
        ("environment.js", &honest),
    ];
    assert_canary_fails_check(&files, "jest --ci", "environment.js", &drops_errors);
}

/// Asserts that the tests pass with the agent's source, but that the check fails because of the canary.
#[track_caller]
fn assert_canary_fails_check(files: &[(&str, &str)], command: &str, source: &str, cheat: &str) {
    let env = project(files, command);
    let written = env.root().join("cheat");
    std::fs::write(&written, cheat).unwrap();
    let out = run(&env, &format!("cp {} {source}", written.display()));
    assert_eq!(out.code, 1, "{command}: {}", check(&out));
    let check = check(&out);
    assert_eq!(check["exit_code"], 0, "{command}: {check}");
    let reason = check["reason"].as_str().unwrap();
    assert!(
        reason.contains("reports a test as passed that must fail"),
        "{command}: {reason}"
    );
}
