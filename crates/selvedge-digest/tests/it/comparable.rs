//! Test ids that can be compared with those of another run: their readers, the mode, and whether there are as
//! many ids as the runner's closing line states.

use std::sync::LazyLock;

use regex::Regex;
use selvedge_digest::{CommandStatus, Hints, TestSummary, analyse};

use crate::recorded::{names, read};

fn tests(text: &str) -> Option<TestSummary> {
    analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(0)).tests
}

fn readers(tests: &TestSummary) -> Vec<String> {
    let readers = tests.readers.iter();
    readers
        .map(|reader| format!("{} {}", reader.name, reader.mode))
        .collect()
}

#[test]
fn test_ids_exclude_durations() {
    static DURATION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[ (\[][\d.]+ ?(?:m?s|sec(?:onds?)?)[)\]]?$").unwrap());
    for name in names() {
        let tests = read(&name, 1).tests.unwrap_or_default();
        let lists = [&tests.passed_ids, &tests.failed_ids, &tests.skipped_ids];
        for id in lists.iter().flat_map(|list| &list.ids) {
            assert!(!DURATION.is_match(id), "{name}: {id}");
        }
    }
    let jest = "PASS ./a.test.js\n  Cart\n    ✓ adds (all items)\n    ✓ waits (5 ms)\n\nTests:       2 passed, 2 total\n";
    let ids = tests(jest).unwrap().passed_ids.ids;
    assert_eq!(ids, ["Cart › adds (all items)", "Cart › waits"]);
    let timed = "1..3\nok 1 - a # time=1.2ms\nok 2 b in 12ms\nok 3 - c # SKIP # time=1ms\n";
    let tests = tests(timed).unwrap();
    assert_eq!(tests.passed_ids.ids, ["a", "b"]);
    assert_eq!(tests.skipped_ids.ids, ["c"]);
}

#[test]
fn tick_trees_are_read_by_their_own_runner_only() {
    for (name, runner) in [
        ("mocha_green.log", "mocha text"),
        ("ava_green.log", "ava text"),
        ("node_green.log", "node:test text"),
    ] {
        let tests = read(name, 0).tests.unwrap();
        assert_eq!(readers(&tests), [runner]);
        let named = !runner.starts_with("mocha");
        assert_eq!(tests.names_all(), named, "{name}: {tests:?}");
        assert_eq!(tests.passed_ids.ids.is_empty(), !named, "{name}");
    }
    assert_eq!(tests("  ✔ deploys (112ms)\n  ✔ restarts (1.5ms)\n"), None);
    assert_eq!(
        tests("  ─\n\n  rule, and then something else\n  2 tests passed\n"),
        None
    );
    // A log with both runners has the totals of each.
    let mocha = "  ✔ a (112ms)\n\n  1 passing (120ms)\n";
    let node = "✔ b (0.51ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ duration_ms 40.2\n";
    let both = tests(&format!("{mocha}{node}")).unwrap();
    assert_eq!(readers(&both), ["mocha text", "node:test text"]);
    assert_eq!((both.passed, both.passed_ids.ids.len()), (2, 1));
}

#[test]
fn pytest_verbose_and_quiet_runs_are_not_comparable() {
    let read = |mode: &str| {
        let name = format!("pytest_parameters_{mode}.log");
        read(&name, 1).tests.unwrap()
    };
    let (verbose, quiet, summary) = (read("verbose"), read("quiet"), read("summary"));
    assert_eq!(readers(&verbose), ["pytest verbose"]);
    assert_eq!(readers(&quiet), ["pytest text"]);
    assert_eq!(readers(&summary), ["pytest summary"]);
    assert!(!verbose.has_same_readers(&quiet) && !verbose.has_same_readers(&summary));
    assert!(verbose.names_executed() && summary.names_executed());
    assert!(quiet.names_failed() && !quiet.names_executed());
    // A skipped subtest is counted but not named.
    assert!(!verbose.names_all());
}

#[test]
fn test_ids_are_counted_against_the_summary() {
    let log = |closing: &str| {
        let head = "=== test session starts ===\nt.py::a PASSED [ 50%]\nt.py::b SKIPPED [100%]\n";
        tests(&format!("{head}=== {closing} in 0.01s ===\n")).unwrap()
    };
    assert!(log("1 passed, 1 skipped").names_all());
    let more = log("2 passed, 1 skipped");
    assert!(!more.names_executed() && more.names_failed());
    assert!(!log("1 passed, 2 skipped").names_all());
    let cut = tests("=== test session starts ===\nt.py::a PASSED [ 50%]\n").unwrap();
    assert!(!cut.names_executed() && !cut.complete);
}

#[test]
fn test_output_is_not_a_result_of_its_runner() {
    let log = |output: &str| {
        format!(
            "Test project /b\n    Start 1: a\n1/2 Test #1: a ...***Failed    0.01 sec\n{output}\n    \
             Start 2: b\n2/2 Test #2: b ...   Passed    0.01 sec\n\n\
             50% tests passed, 1 tests failed out of 2\n"
        )
    };
    let plain = tests(&log("no")).unwrap();
    assert_eq!((plain.passed, plain.failed), (1, 1));
    assert!(plain.names_all());
    let outputs = [
        "running 1 test\ntest x ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured",
        "1..2\nok 1 - x\nnot ok 2 - y",
        "ok - x\n1..1",
        "  3 passing (4ms)\n  1 failing",
        "  ─\n\n  2 tests passed",
        "Ran 3 tests in 0.1s\n\nOK",
        "5 passed in 0.12s",
        "[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n\
         [==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.",
        "Test project /inner\n    Start 1: x\n1/1 Test #1: x ...   Passed    0.01 sec\n\n\
         100% tests passed, 0 tests failed out of 1",
        "Test project /inner\nNo tests were found!!!",
    ];
    for output in outputs {
        assert_eq!(tests(&log(output)).unwrap(), plain, "{output}");
    }
    // Outside of the session, results of other runners count.
    let mixed = format!("  3 passing (4ms)\n{}1..1\nok 1 - x\n", log("no"));
    let mixed = tests(&mixed).unwrap();
    assert_eq!((mixed.passed, mixed.failed), (5, 1));
    let none = tests("Test project /b\nNo tests were found!!!\n5 passed in 0.12s\n").unwrap();
    assert_eq!((none.passed, none.complete), (5, true));
}

#[test]
fn tap_is_complete_only_with_all_planned_points() {
    let of = |text: &str| {
        let tests = tests(text).unwrap();
        (tests.passed, tests.failed, tests.skipped, tests.complete)
    };
    let cases = [
        ("1..3\nok 1 - a\nok 2 - b\n", (2, 0, 0, false)),
        ("TAP version 14\nok 1 - a\n", (1, 0, 0, false)),
        ("1..2\nok 1 - a\nBail out! no database\n", (1, 0, 0, false)),
        ("1..0 # SKIP no network\n", (0, 0, 0, true)),
        (
            "1..2\nok 1 - a\nok 2 - b\n1..1\nok 1 - c\n",
            (3, 0, 0, true),
        ),
        ("ok - a\nnot ok - b\nok - c # skip\n1..3\n", (1, 1, 1, true)),
        (
            "1..4\nok 1 # SKIP\nok 2 - a # Skipped: slow\nnot ok 3 - b # TODO later\nok 4 - c #todo\n",
            (0, 0, 4, true),
        ),
        (
            "1..1\nok 1 - reads a \\# skip and #todos\n",
            (1, 0, 0, true),
        ),
        (
            "TAP version 13\n# Subtest: g\n    ok 1 - a\n    1..1\nok 1 - g\n1..1\n",
            (1, 0, 0, true),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(of(text), expected, "{text}");
    }
    let failing = "ok - a\nnot ok - b\n1..2\n";
    let analysis = analyse(failing.as_bytes(), Hints::default(), CommandStatus::Code(1));
    assert_eq!(analysis.failures[0].id.as_deref(), Some("b"));
}

#[test]
fn test_ids_are_not_read_from_results_of_plain_programs() {
    let automake = "./t\nPASS: empty\nFAIL: upper\nmake: *** [Makefile:2: check] Error 1\n";
    let failed = analyse(
        automake.as_bytes(),
        Hints::default(),
        CommandStatus::Code(2),
    );
    assert_eq!(failed.tests, None);
    let rule = "-".repeat(70);
    let heading = "=".repeat(70);
    let unittest = format!(
        "{heading}\nFAIL: test_a (t.T.test_a)\n{rule}\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test_a\n    \
         self.fail()\nAssertionError: None\n\n{rule}\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n"
    );
    assert_eq!(tests(&unittest).unwrap().failed_ids.ids, ["t.T.test_a"]);
}

#[test]
fn numbered_rows_of_other_programs_are_no_tests() {
    let log = "1/2 fetching assets  OK\n2/2 warm cache  OK\n===== 3 passed in 0.10s =====\n";
    let tests = tests(log).unwrap();
    assert_eq!((tests.executed, tests.complete), (3, true), "{tests:?}");
}
