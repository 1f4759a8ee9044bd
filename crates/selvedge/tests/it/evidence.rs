//! The evidence of verdicts on test runners that write machine-readable reports. The runner is a shell script
//! called `pytest`; the end-to-end suite tests real runners.

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::{agent, make_executable};

/// Defines shell functions to report and print results of `tests.py::a` and `tests.py::b`. `$out` is the
/// requested report file, or empty.
const PYTEST: &str = r#"#!/bin/sh
out=; for word; do case $word in --junitxml=*) out=${word#*=};; esac; done
report() { echo "<testsuites><testsuite name='pytest' tests='$#'>"
           for name; do echo "<testcase classname='tests' name='$name' file='tests.py'/>"; done
           echo "</testsuite></testsuites>"; }
said() { echo "============ $1 in 0.01s ============"; }
"#;

/// Judges an agent's work with a runner that ends with these commands.
fn judged(ends: &str) -> (TestEnv, CommandOutput) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    make_executable(&env.write("bin/pytest", format!("{PYTEST}{ends}\n")));
    env.write(
        "selvedge.toml",
        "[[checks]]\ntype = \"test_passes\"\nrun = \"bin/pytest -k 'a or b'\"\n",
    );
    env.create_repo();
    let works = agent(&env, "echo work > work");
    let run = ["run", "do it", "--retries", "0", "--format", "json"];
    let out = env
        .selvedge(run.iter().chain(&["--agent-cmd", &works]))
        .run();
    (env, out)
}

fn check(out: &CommandOutput) -> serde_json::Value {
    out.json()["verification_report"]["checks"][0].clone()
}

#[track_caller]
fn fails_because(ends: &str, why: &str) {
    let (_env, out) = judged(ends);
    out.assert_code(1);
    let check = check(&out);
    assert_eq!(check["exit_code"], 0);
    let reason = check["reason"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
    assert!(
        check["digest"].is_null(),
        "no digest says that all is well: {check}"
    );
}

#[test]
fn report_takes_precedence_over_printed_output() {
    let (env, out) = judged("report a b > \"$out\"; said '2 passed'");
    out.assert_code(0);
    let check = check(&out);
    assert_eq!(check["evidence"], "machine_report");
    let ids = serde_json::json!(["tests.py::a", "tests.py::b"]);
    assert_eq!(check["tests"]["passed_ids"]["ids"], ids);
    let shown = env.selvedge(["show"]).run().stdout;
    assert!(shown.contains("2 tests passed, 0 failed, 0 skipped, from the test runner's report"));
}

/// A runner that exits with 0 although a test failed: the digest names the test, and does not begin with success.
#[test]
fn failed_test_of_a_successful_exit_is_in_the_digest() {
    let (_env, out) = judged(
        "report a b | sed \"s,name='a' file='tests.py'/,name='a' file='tests.py'><failure message='wrong'/></testcase,\" \
         > \"$out\"; echo '===== short test summary info ====='; echo 'FAILED tests.py::a - wrong'; said '1 failed, 1 passed'",
    );
    out.assert_code(1);
    let check = check(&out);
    assert_eq!(check["exit_code"], 0);
    let digest = check["digest"].to_string();
    assert!(digest.contains("FAILED: 1 failure"), "{check}");
    assert!(digest.contains("tests.py::a"), "{check}");
}

#[test]
fn report_missing_broken_or_empty_is_not_a_pass() {
    fails_because(
        "said '2 passed'",
        "pytest did not write the requested report",
    );
    fails_because(
        "report a | head -2 > \"$out\"; said '2 passed'",
        "is incomplete",
    );
    fails_because("report > \"$out\"; said '2 passed'", "executed no test");
    fails_because(
        "ln -s /etc/passwd \"$out\"; said '2 passed'",
        "cannot be read",
    );
}

#[test]
fn report_without_printed_failures_is_not_trusted() {
    let (_env, out) = judged("report a b > \"$out\"; said '1 failed, 1 passed'");
    out.assert_code(1);
    let reason = check(&out)["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("but the report of pytest does not contain them"),
        "{reason}"
    );
}

#[test]
fn report_option_is_dropped_if_runner_rejects_it() {
    let old = "[ -z \"$out\" ] || { echo 'unrecognized arguments: --junitxml'; exit 4; }";
    let (env, out) = judged(&format!("{old}\nsaid '2 passed'"));
    out.assert_code(0);
    assert_eq!(check(&out)["evidence"], "text");
    let shown = env.selvedge(["show"]).run().stdout;
    assert!(shown.contains("from the test runner's output"), "{shown}");
}

#[test]
fn infrastructure_error_of_runner_is_infra_failed() {
    let (_env, out) = judged("echo 'OSError: [Errno 28] No space left on device'; exit 1");
    out.assert_code(9);
    assert_eq!(out.json()["outcome"], "infra_failed");
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("no space left on the disk"), "{reason}");
}

/// Judges an agent's work with a script that ends with these commands, as a wrapper of a runner would.
fn wrapped(ends: &str) -> CommandOutput {
    wrapped_after("echo work > work", ends)
}

fn wrapped_after(work: &str, ends: &str) -> CommandOutput {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    make_executable(&env.write(
        "tests.sh",
        format!("{PYTEST}out=$SELVEDGE_REPORTS\n{ends}\n"),
    ));
    env.write(
        "selvedge.toml",
        "[[checks]]\ntype = \"test_passes\"\nrun = \"./tests.sh\"\n",
    );
    env.create_repo();
    let agent = agent(&env, work);
    let run = ["run", "do it", "--retries", "0", "--format", "json"];
    env.selvedge(run.iter().chain(&["--agent-cmd", &agent]))
        .run()
}

#[test]
fn report_of_wrapped_runner_is_requested_by_environment() {
    let starts = ": > $out/started-pytest-7; said '2 passed'";
    let out = wrapped(&format!("{starts}; report a b > $out/report-pytest-7"));
    out.assert_code(0);
    assert_eq!(check(&out)["evidence"], "machine_report");

    let plain = wrapped("said '2 passed'");
    plain.assert_code(0);
    assert_eq!(check(&plain)["evidence"], "text");

    let refused = [
        (starts, "pytest was started but did not write one"),
        (
            "echo passed expect.toBe > $out/canary; said '2 passed'",
            "must fail (expect.toBe)",
        ),
    ];
    for (ends, why) in refused {
        let out = wrapped(ends);
        out.assert_code(1);
        let reason = check(&out)["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn report_variables_are_dropped_if_runner_rejects_them() {
    let old = "[ -z \"$PYTEST_ADDOPTS\" ] || { echo 'No module named selvedge_canary'; exit 4; }";
    let out = wrapped(&format!("{old}\nsaid '2 passed'"));
    out.assert_code(0);
    assert_eq!(check(&out)["evidence"], "text");
}

#[test]
fn runner_loaded_from_workspace_waits_for_review() {
    let ends = ": > $out/started-pytest-7; report a b > $out/report-pytest-7
        [ ! -e fake.py ] || printf 'unittest\\t%s/fake.py\\n' \"$PWD\" > $out/origins
        said '2 passed'";
    wrapped_after("echo 'x = 1' > other.py", ends).assert_code(0);
    let out = wrapped_after("echo 'x = 1' > fake.py", ends);
    out.assert_code(7);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("unittest from fake.py"), "{reason}");
}
