//! `verify --base`: existing changes are compared with an earlier revision, and nothing is written to the
//! directory or its repository.

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::env_with_repo;

/// A repository with a test script and a commit that passes it.
fn tested() -> TestEnv {
    let env = env_with_repo();
    env.write("app.txt", "good\n");
    env.write("tests.py", TESTS);
    let check = "[[checks]]\ntype = \"test_passes\"\nrun = \"python3 -m unittest tests\"\n";
    env.write("selvedge.toml", check);
    env.write(".gitignore", "__pycache__/\n");
    env.commit("Right");
    env
}

const TESTS: &str = "import unittest


class App(unittest.TestCase):
    def test_good(self):
        self.assertIn('good', open('app.txt').read())

    def test_read(self):
        open('app.txt').close()
";

fn verify(env: &TestEnv, more: &[&str]) -> CommandOutput {
    let verify = ["verify", "--base", "HEAD", "--format", "json"];
    env.selvedge(verify.iter().chain(more)).run()
}

fn check(out: &CommandOutput) -> serde_json::Value {
    out.json()["checks"][0].clone()
}

#[test]
fn verify_base_passes_honest_work_and_names_fixes() {
    let env = tested();
    env.write("more.txt", "more\n");
    let out = verify(&env, &[]);
    out.assert_code(0);
    assert_eq!(out.json()["guard"]["status"], "clean");

    env.write("app.txt", "bad\n");
    env.commit("Wrong");
    env.write("app.txt", "good again\n");
    let out = verify(&env, &[]);
    out.assert_code(0);
    let fixed = serde_json::json!(["tests.App.test_good"]);
    assert_eq!(check(&out)["fixed_tests"], fixed);
}

#[test]
fn verify_base_distinguishes_old_and_new_failures() {
    let env = tested();
    env.write("app.txt", "bad\n");
    let out = verify(&env, &[]);
    out.assert_code(1);
    assert_eq!(check(&out)["regression"], true, "{}", check(&out));
    env.commit("Wrong");
    let out = verify(&env, &[]);
    out.assert_code(1);
    assert_eq!(check(&out)["preexisting"], true, "{}", check(&out));
}

#[test]
fn verify_base_runs_the_tests_of_the_revision() {
    let env = tested();
    env.write("app.txt", "bad\n");
    env.write("tests.py", TESTS.replace("test_good", "_good"));
    let out = verify(&env, &[]);
    out.assert_code(7);
    assert_eq!(check(&out)["status"], "pass");
    let crossed = out.json()["crossed"].clone();
    assert_eq!(crossed["result"], "undecided", "{crossed}");
    let broken = serde_json::json!(["tests.App.test_good"]);
    assert_eq!(crossed["undecided_tests"], broken);
    // The same without a baseline.
    let verify = ["verify", "--base", "HEAD"];
    let out = env
        .selvedge(verify)
        .env("SELVEDGE_VERIFICATION_BASELINE", "off");
    let out = out.run();
    out.assert_code(7);
    let name = "digest of python3 -m unittest tests with the original tests:";
    assert_eq!(out.stdout.matches(name).count(), 1, "{out}");
    assert!(
        out.stdout.contains("FAIL: test_good (tests.App.test_good)"),
        "{out}"
    );
    let place = env.work_dir().join("tests.py").display().to_string();
    assert!(out.stdout.contains(&place), "{out}");
    // Renamed tests are harmless if the work is correct.
    env.write("app.txt", "still good\n");
    env.selvedge(verify).run().assert_code(0);
}

#[test]
fn verify_base_keeps_installed_tools_for_those_tests() {
    let env = env_with_repo();
    env.write(
        "tests/check.sh",
        "test -e node_modules/tool && grep -q good app.txt\n",
    );
    env.write("app.txt", "bad\n");
    // The rule matches folders, not links to them.
    env.write(".gitignore", "node_modules/\n");
    env.commit("Wrong");
    env.write("node_modules/tool", "");
    env.write("app.txt", "good\n");
    env.write("tests/check.sh", "grep -q good app.txt\n");
    let check = ["--check", "sh tests/check.sh"];
    let out = verify(&env, &check);
    out.assert_code(0);
    assert_eq!(out.json()["crossed"]["result"], "passed");
}

#[test]
fn verify_base_uses_the_checks_of_the_revision() {
    let env = tested();
    env.write("app.txt", "bad\n");
    env.write("selvedge.toml", "[[checks]]\nrun = \"true\"\n");
    let out = verify(&env, &[]);
    out.assert_code(1);
    assert_eq!(check(&out)["status"], "fail", "its own checks were run");
}

#[test]
fn verify_base_with_unknown_revision_is_a_usage_error() {
    let env = tested();
    for revision in ["no-such", "--help", "HEAD~9"] {
        let out = env
            .selvedge(["verify", &format!("--base={revision}")])
            .run();
        out.assert_code(2);
        assert!(out.stderr.contains("cannot check out"), "{}", out.stderr);
    }
}

#[test]
fn verify_base_writes_nothing_to_the_repository() {
    let env = tested();
    env.write("app.txt", "changed, good\n");
    let git = |args: &[&str]| env.git(args.iter());
    let state = || {
        let queries: [&[&str]; 4] = [
            &["rev-parse", "HEAD"],
            &["for-each-ref"],
            &["worktree", "list"],
            &["status", "--porcelain"],
        ];
        queries.map(git)
    };
    let before = state();
    verify(&env, &[]).assert_code(0);
    assert_eq!(state(), before);
}

#[test]
fn verify_base_checks_syntax_of_changed_files() {
    let env = tested();
    env.write("old.json", "{\"a\": \n");
    env.write("full.txt", "full\n");
    env.commit("One that never parsed");
    env.write("new.json", "{\"a\": }\n");
    env.write("old.json", "{\"a\": {\n");
    env.write("full.txt", "");
    let before = env.git(["status", "--porcelain"]);
    let out = verify(&env, &[]);
    out.assert_code(1);
    let checks = out.json()["checks"].clone();
    let syntax = checks
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["type"] == "syntax");
    let syntax = syntax.unwrap_or_else(|| panic!("{checks}"));
    assert_eq!(syntax["status"], "fail", "{syntax}");
    let failures = syntax["failures"].as_array().unwrap();
    let files: Vec<&str> = failures
        .iter()
        .filter_map(|it| it["file"].as_str())
        .collect();
    assert_eq!(files, ["full.txt", "new.json"], "{syntax}");
    assert_eq!(failures[1]["line"], 1);
    assert_eq!(env.git(["status", "--porcelain"]), before);

    env.write("new.json", "{\"a\": 1}\n");
    env.write("full.txt", "fuller\n");
    verify(&env, &[]).assert_code(0);
}
