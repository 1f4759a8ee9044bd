//! Digests of output that reports success, in a whole log or in a part of one.

use selvedge_digest::{CommandStatus, DigestBudget, Hints, analyse};

use crate::recorded::read;

#[test]
fn success_is_one_short_line() {
    let digest = read("cargo_test_green.log", 0).render(DigestBudget::default());
    assert_eq!(digest.text, "ok: exit 0, 4 tests passed, 1 skipped\n");
    let digest = analyse(b"a\nb\n", Hints::default(), CommandStatus::Code(0))
        .render(DigestBudget::default());
    assert_eq!(digest.text, "ok: exit 0, 2 lines of output\n");
}

#[test]
fn success_with_linter_report_shows_it() {
    let passes = |text: &str| {
        let analysis = analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(0));
        analysis.render(DigestBudget::default()).text
    };
    let warning = "a.c:3:7: warning: unused variable 'x' [-Wunused-variable]\n";
    assert_eq!(
        passes(warning),
        format!("exit 0, 1 warning in 1 line of output\n{warning}")
    );
    let mut long: String = (0..200).map(|n| format!("[{n}/200] weaving\n")).collect();
    assert_eq!(passes(&long), "ok: exit 0, 200 lines of output\n");
    long.push_str(warning);
    let digest = passes(&long);
    assert!(
        digest.starts_with("exit 0, 1 warning in 201 lines") && digest.contains(warning.trim()),
        "{digest}"
    );
    let runner = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    assert_eq!(
        passes(&format!("{warning}running 3 tests\n{runner}\n")),
        "ok: exit 0, 3 tests passed, 1 warning\n"
    );
}

#[test]
fn passed_tests_with_a_word_of_failure_in_their_names_are_no_trouble() {
    let lines = [
        "    ok 1 - reports error: x",
        "reports error: fatal ... ok (12ms)",
        "(pass) cart > error [0.20ms]",
        "t/error.t .. ok",
        "√ returns error",
        "  Passed Shop.Tests.ErrorTest.Fails [1 ms]",
        "TestCart#test_error = 0.00 s = .",
    ];
    for line in lines {
        let analysis = analyse(line.as_bytes(), Hints::default(), CommandStatus::Code(0));
        let digest = analysis.render(DigestBudget::default()).text;
        assert_eq!(digest, "ok: exit 0, 1 line of output\n", "{line}");
        assert_eq!(analysis.failures_total, 0, "{line}");
    }
}

#[test]
fn success_does_not_hide_failed_tests() {
    let text = "running 3 tests\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n";
    let digest = analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(0));
    assert_eq!(
        digest.render(DigestBudget::default()).text,
        "ok: exit 0, 1 test passed; the output shows 2 that failed\n"
    );
}

#[test]
fn success_of_tests_lowers_salience_of_their_output() {
    let mut text: String = (0..60)
        .map(|n| {
            format!(
                "Thread-{n}: java.io.IOException: expected by test {}\n",
                "x".repeat(n)
            )
        })
        .collect();
    text.push_str("Tests run: 60, Failures: 0, Errors: 0, Skipped: 0\n");
    text.push_str("loom: cannot weave row 7\n");
    text.extend((0..60).map(|n| format!("folding sheet {n}\n")));
    let failing = analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(1));
    let digest = failing.render(DigestBudget::tokens(200)).text;
    assert!(digest.contains("cannot weave row 7"), "{digest}");
}

/// Without `-v`, go reports only the failed tests of a package.
#[test]
fn runner_that_reports_packages_only_is_detected() {
    let tests = |text: &str| {
        let analysis = analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(1));
        analysis.tests.unwrap()
    };
    let failed = "--- FAIL: TestTotal (0.00s)\n    calc_test.go:7: got 0\nFAIL\n";
    let quiet = tests(&format!("{failed}FAIL\texample.com/calc\t0.004s\n"));
    assert!(quiet.by_package, "{quiet:?}");
    let verbose = format!("=== RUN   TestTotal\n{failed}FAIL\texample.com/calc\t0.004s\n");
    assert!(!tests(&verbose).by_package);
}

#[test]
fn tap_needs_a_version_or_a_plan() {
    let tests = |text: &str| {
        let analysis = analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(0));
        analysis
            .tests
            .map(|tests| (tests.passed, tests.failed, tests.complete))
    };
    let none = [
        "ok checked 12 files\n",
        "ok 12 files checked\nok\n",
        "not ok 3 files are stale\n1..2 of them are new\n",
        "TAP version unknown\nok 1 - a\n",
    ];
    for text in none {
        assert_eq!(tests(text), None, "{text}");
    }
    let some = [
        "TAP version 14\nok 1 - a\nok 2 - b\n1..2\n",
        "1..2\nok 1 - a\nok 2 - b\n",
        "ok 1 - a\nok 2 - b\n1..2\n",
        "ok - a\nok - b\n1..2 # done\n",
        "ok a\nok b\n1..2\n",
    ];
    for text in some {
        assert_eq!(tests(text), Some((2, 0, true)), "{text}");
    }
    assert_eq!(tests("ok 1 - a\nnot ok 2 - b\n1..2\n"), Some((1, 1, true)));
    assert_eq!(tests("ok - a\nnot ok - b\n1..2\n"), Some((1, 1, true)));
}

/// A test that ends the program: the titles and results of the tests before it explain nothing.
#[test]
fn tap_that_ends_early_is_explained_by_its_end() {
    let mut log = "TAP version 13\n".to_owned();
    for number in 1..1000 {
        log.push_str(&format!(
            "# errors on property {number}\nok {number} should throw\n"
        ));
    }
    log.push_str(
        "# parse string\nx.js:3\nSyntaxError: Unexpected token\n    at parse (x.js:3:7)\n",
    );
    let analysis = analyse(log.as_bytes(), Hints::default(), CommandStatus::Code(1));
    let digest = analysis.render(DigestBudget::default()).text;
    assert!(digest.contains("# parse string"), "{digest}");
    assert!(digest.contains("SyntaxError: Unexpected token"), "{digest}");
    assert!(!digest.contains("property 500"), "{digest}");
}

/// Adds passed tests: a short log is shown whole.
fn long(log: &str) -> String {
    let passed = (100..300).map(|number| format!("ok {number} a test that passes as before\n"));
    passed.fold(log.to_owned(), |log, line| log + &line)
}

/// bats explains a failure in comments: its place, the line that failed, and the output.
#[test]
fn bats_failures_have_their_places_and_messages() {
    let log = "1..3\nnot ok 1 first sum\n\
               # (from function `check' in file test/sum.bats, line 1,\n\
               #  in test file test/sum.bats, line 4)\n#   `check 2 \"$((1+2))\"' failed\n\
               # expected 2, got 3\nok 2 fine\nnot ok 3 second product\n\
               # (in test file test/product.bats, line 9)\n#   `check 2 \"$((1+2))\"' failed\n\
               # expected 12, got 15\n";
    let analysis = analyse(
        long(log).as_bytes(),
        Hints::default(),
        CommandStatus::Code(1),
    );
    let places: Vec<_> = analysis
        .failures
        .iter()
        .map(|it| (it.file.as_deref(), it.line))
        .collect();
    let expected = [
        (Some("test/sum.bats"), Some(4)),
        (Some("test/product.bats"), Some(9)),
    ];
    assert_eq!(places, expected);
    let digest = analysis.render(DigestBudget::default()).text;
    assert!(digest.contains("expected 2, got 3"), "{digest}");
    assert!(!digest.contains("from function"), "{digest}");
}

/// Failures are grouped by their messages, not by the line that only begins a value.
#[test]
fn failures_with_different_values_are_shown_one_by_one() {
    let failure = |number: u32, name: &str, value: &str| {
        format!(
            "not ok {number} - f > ends('{name}') is '' on Windows\n  ---\n  message: |-\n    Difference: [\n      {value}\n    ]\n  ...\n"
        )
    };
    let log = [
        "TAP version 13\n1..3\n".to_owned(),
        failure(1, "a", "one"),
        failure(2, "..", "two"),
        failure(3, "...", "two"),
    ];
    let analysis = analyse(
        long(&log.concat()).as_bytes(),
        Hints::default(),
        CommandStatus::Code(1),
    );
    let digest = analysis.render(DigestBudget::default()).text;
    assert!(digest.contains("one") && digest.contains("two"), "{digest}");
    assert!(
        digest.contains("also ends('...') is '' on Windows"),
        "{digest}"
    );
}

/// The actual value looks like the expected one, and titles of passed tests explain nothing.
#[test]
fn equal_looking_values_of_tape_are_both_shown() {
    let log = "TAP version 13\n# passes\nok 1 is 1\n# copies\nnot ok 2 is another\n  ---\n    operator: notEqual\n\
               \x20   expected: |-\n      { key: 'yup' }\n    actual: |-\n      { key: 'yup' }\n\
               \x20   at: Test.<anonymous> (/a/x.js:3:4)\n  ...\n# goes on\nok 3 is 3\n\n1..3\n# tests 3\n\
               # pass  2\n# fail  1\n";
    let analysis = analyse(
        long(log).as_bytes(),
        Hints::default(),
        CommandStatus::Code(1),
    );
    let digest = analysis.render(DigestBudget::default()).text;
    assert_eq!(digest.matches("{ key: 'yup' }").count(), 2, "{digest}");
    assert!(
        !digest.contains("# passes") && !digest.contains("# tests"),
        "{digest}"
    );
}

/// tape prints a title for each test, and messages for its assertions, which may contain actual values.
#[test]
fn tap_tests_with_titles_are_named_by_them() {
    let log = "TAP version 13\n# parses\nok 1 is 1\nnot ok 2 is 3, not 2\n  ---\n    operator: equal\n\
               \x20   at: Test.<anonymous> (/a/x.js:3:4)\n  ...\n# writes\nok 3 should be truthy\n\
               # SKIP sends\n\n1..3\n# tests 3\n# pass  2\n# fail  1\n";
    let analysis = analyse(log.as_bytes(), Hints::default(), CommandStatus::Code(1));
    let tests = analysis.tests.unwrap();
    assert_eq!(tests.failed_ids.ids, ["parses"]);
    assert_eq!(tests.passed_ids.ids, ["writes"]);
    assert_eq!(tests.skipped_ids.ids, ["sends"]);
    assert!(tests.complete && tests.names_all(), "{tests:?}");
    let failure = &analysis.failures[0];
    assert_eq!(failure.id.as_deref(), Some("parses"));
    assert!(
        failure.summary.starts_with("is 3, not 2"),
        "{}",
        failure.summary
    );
}

/// Totals of a program that is not a known test runner.
#[test]
fn totals_are_not_names_of_tests() {
    let log = b"./test/test_strict\nPASSED: 16\nFAILED: 0\n";
    let analysis = analyse(log, Hints::default(), CommandStatus::Code(0));
    assert!(analysis.tests.is_none(), "{:?}", analysis.tests);
}

/// A line like a runner's totals is not its closing line: without the lines that the runner prints before and below it,
/// nothing was counted.
#[test]
fn totals_need_the_other_lines_of_their_runner() {
    let tests = |text: &str| {
        let analysis = analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(0));
        let tests = analysis.tests.filter(|tests| tests.complete);
        tests.map(|tests| (tests.passed, tests.failed))
    };
    let closing = [
        ("prove_green.log", "Result: PASS"),
        ("bun_green.log", "Ran 5 tests across 2 files. [54.00ms]"),
        (
            "deno_green.log",
            "ok | 3 passed (2 steps) | 0 failed | 1 ignored (148ms)",
        ),
        ("uvu_green.log", "  Duration:  0.69ms"),
        ("automake_green.log", "# ERROR: 0"),
        (
            "meson_green.log",
            "Full log written to /home/user/shop/meson/b/meson-logs/testlog.txt",
        ),
    ];
    for (name, line) in closing {
        let text = String::from_utf8(crate::recorded::log(name)).unwrap();
        assert!(
            tests(&text).is_some_and(|(passed, failed)| passed > 0 && failed == 0),
            "{name}"
        );
        assert!(text.contains(line), "{name}");
        assert_eq!(tests(&text.replace(line, "")), None, "{name}");
        assert_eq!(
            tests(&format!("printed: {}", text.replace('\n', "\nprinted: "))),
            None,
            "{name}"
        );
    }
    let forged = [
        "All tests successful.\n",
        "Files=1, Tests=101,  0 wallclock secs\n",
        "the end: Files=1, Tests=101,\nResult: PASS\n",
        " 3 pass\n 0 fail\nRan 3 tests across 1 file. [5.00ms]\n",
        "bun test v1.4.5\n 3 pass\n 0 fail\nRan 4 tests across 1 file. [5.00ms]\n",
        "passed: ok | 3 passed | 0 failed (5ms)\n",
        "# TOTAL: 3\n# PASS: 3\n# FAIL: 0\n",
        "Ok: 3\nFail: 0\nFull log written to a.txt\n",
        "1/2 a OK 0.01s\n2/2 b OK 0.01s\nOk: 3\nFail: 0\nFull log written to a.txt\n",
        "  Total:     3\n  Passed:    3\n",
    ];
    for text in forged {
        assert_eq!(tests(text), None, "{text}");
    }
}
