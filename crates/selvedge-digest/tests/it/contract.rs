//! Guarantees of the digest that hold for any log.

use std::io::Write;

use selvedge_digest::{
    Analysis, CommandStatus, DigestBudget, Digester, Hints, PassingOutput, analyse, render_shared,
};

use crate::recorded::log;

fn fails(text: &str) -> Analysis {
    analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(1))
}

#[test]
fn a_failing_exit_is_never_told_as_success() {
    for text in ["", "all 12 tests passed\n", "0 errors\nBUILD SUCCESSFUL\n"] {
        for exit in [
            CommandStatus::Code(1),
            CommandStatus::Code(-1),
            CommandStatus::Signal(9),
            CommandStatus::TimedOut,
            CommandStatus::Unknown,
        ] {
            let digest =
                analyse(text.as_bytes(), Hints::default(), exit).render(DigestBudget::default());
            assert!(
                digest.text.starts_with("FAILED"),
                "{exit:?}: {}",
                digest.text
            );
        }
    }
}

#[test]
fn what_failed_goes_before_warnings() {
    let warnings: String = (0..80)
        .map(|n| format!("src/a{n}.c:{n}:7: warning: variable 'v{n}' is not used\n"))
        .collect();
    let digest = fails(&format!(
        "{warnings}loom: ERROR: the shuttle of row 7 is gone\n"
    ))
    .render(DigestBudget::default());
    assert!(
        digest.text.starts_with("FAILED (exit 1): 80 warnings\n"),
        "{}",
        digest.text
    );
    assert!(
        digest.text.contains("the shuttle of row 7 is gone"),
        "{}",
        digest.text
    );
}

#[test]
fn reports_that_stood_in_the_last_output_that_passed_are_no_failures() {
    let old = "src/old.c:3:7: error: ignored for years\n";
    let new = "src/new.c:9:1: error: expected ';'\n";
    let mut passed = PassingOutput::default();
    passed.write_all(old.as_bytes()).unwrap();
    let mut digester = Digester::new(Hints::default()).with_passing_output(passed);
    digester.write_all(old.as_bytes()).unwrap();
    digester.write_all(new.as_bytes()).unwrap();
    let analysis = digester.finish(CommandStatus::Code(1));
    let files: Vec<_> = analysis
        .failures
        .iter()
        .map(|f| f.file.as_deref())
        .collect();
    assert_eq!(files, [Some("src/new.c")]);
    assert_eq!(
        analysis.notes,
        ["1 more report stood in the last output that passed"]
    );
}

#[test]
fn the_output_of_a_command_begins_where_its_line_is_repeated() {
    let told = |hints| {
        let mut text: String = (0..90).map(|n| format!("error: old {n}\n")).collect();
        text.push_str("> loom weave --all\nthe shuttle is stuck\nloom: exited with code 3\n");
        let analysis = analyse(text.as_bytes(), hints, CommandStatus::Code(3));
        analysis.render(DigestBudget::tokens(60)).text
    };
    assert!(told(Hints::command("loom weave --all")).contains("the shuttle is stuck"));
    assert!(!told(Hints::default()).contains("the shuttle is stuck"));
}

#[test]
fn output_without_text_is_not_told_as_no_output() {
    let text = |bytes: &[u8]| {
        let analysis = analyse(bytes, Hints::default(), CommandStatus::Code(1));
        analysis.render(DigestBudget::default()).text
    };
    assert_eq!(text(b""), "FAILED (exit 1)\nno output\n");
    assert_eq!(
        text(&vec![0; 70_000]),
        "FAILED (exit 1)\nno readable text in 70000 bytes of output\n"
    );
}

#[test]
fn tap_is_read_with_its_diagnostics() {
    let text = "TAP version 14\n1..3\nok 1 - loads\n\
        not ok 2 - adds up\n  ---\n  message: \"expected 4, got 3\"\n  severity: fail\n  \
        at: src/sum.js:7\n  ...\n\
        not ok 3 - rounds\n#   Failed test 'rounds'\n#   at t/sum.t line 12.\n";
    let analysis = fails(text);
    let told: Vec<_> = analysis
        .failures
        .iter()
        .map(|f| {
            (
                f.id.as_deref(),
                f.file.as_deref(),
                f.line,
                f.summary.as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                Some("adds up"),
                Some("src/sum.js"),
                Some(7),
                "expected 4, got 3"
            ),
            (
                Some("rounds"),
                Some("t/sum.t"),
                Some(12),
                "Failed test 'rounds'"
            ),
        ]
    );
}

#[test]
fn pending_examples_are_no_failures() {
    let analysis = fails(
        "Pending: (Failures listed here are expected)\n\n  1) Loom weaves silk\n     \
         # Not yet implemented\n     # ./spec/loom_spec.rb:3\n\nFailures:\n\n  \
         1) Mill::Loom weaves wool\n     Failure/Error: @yarn = Wool[]\n\n     NameError:\n       \
         uninitialized constant Mill::Wool\n     # ./lib/mill/loom.rb:9:in 'yarn'\n\n\
         2 examples, 1 failure, 1 pending\n",
    );
    let told: Vec<_> = analysis
        .failures
        .iter()
        .map(|f| (f.id.as_deref(), f.summary.as_str()))
        .collect();
    let summary = "NameError: uninitialized constant Mill::Wool";
    assert_eq!(told, [(Some("Mill::Loom weaves wool"), summary)]);
}

#[test]
fn a_small_log_is_shown_whole_and_clean() {
    let digest = fails("\x1b[31mone\x1b[0m\r\n50%\r100%\rtwo\n").render(DigestBudget::default());
    assert_eq!(digest.text, "FAILED (exit 1)\none\ntwo\n");
}

#[test]
fn an_unknown_tool_is_told_by_its_most_telling_lines_and_the_cut_is_stated() {
    let mut text: String = (0..3000)
        .map(|n| format!("weaving thread number {n} of the cloth\n"))
        .collect();
    text.push_str("loom: cannot weave: the shuttle is stuck at row 7\n");
    text.extend((0..3000).map(|n| format!("folding sheet {n}\n")));
    let digest = fails(&text).render(DigestBudget::default().with_full_output("out.log"));
    assert!(
        digest.text.contains("the shuttle is stuck at row 7"),
        "{}",
        digest.text
    );
    assert!(
        digest.text.contains("of 6001 lines shown; all: out.log]"),
        "{}",
        digest.text
    );
}

#[test]
fn the_count_is_told_when_not_every_failure_fits() {
    let text: String = (0..300)
        .map(|n| format!("src/a{n}.c:{n}:7: error: no number {n} in sight\n"))
        .collect();
    let analysis = fails(&text);
    assert_eq!(analysis.failures_total, 300);
    let digest = analysis.render(DigestBudget::default());
    assert_eq!(digest.total, 300);
    assert!(digest.shown < 300);
    assert!(
        digest
            .text
            .contains(&format!("{} of 300 failures", digest.shown)),
        "{}",
        digest.text
    );
}

#[test]
fn a_mixed_log_tells_the_failures_of_every_tool() {
    let mut mixed = log("eslint.log");
    mixed.extend(log("go_test.log"));
    mixed.extend(log("pytest.log"));
    mixed.extend(log("rustc.log"));
    let analysis = analyse(&mixed, Hints::default(), CommandStatus::Code(2));
    let digest = analysis.render(DigestBudget::default());
    for needle in [
        "src/lint.js",
        "TestName/basket",
        "test_shop.py::test_total",
        "E0277",
    ] {
        assert!(digest.text.contains(needle), "{needle} in {}", digest.text);
    }
}

#[test]
fn a_budget_is_shared_fairly_and_what_is_left_goes_to_the_others() {
    let small = fails("no such loom\n");
    let large = fails(
        &(0..500)
            .map(|n| format!("f{n}.c:1:1: error: bad {n}\n"))
            .collect::<String>(),
    );
    let alone = large.render(DigestBudget::tokens(250));
    let digests = render_shared(&[&small, &large], DigestBudget::tokens(500));
    assert!(digests[0].text.contains("no such loom"));
    assert!(digests[1].tokens_estimated > alone.tokens_estimated);
    let sum: usize = digests.iter().map(|digest| digest.tokens_estimated).sum();
    assert!(sum <= 500, "{sum}");
}

#[test]
fn a_runner_without_its_closing_summary_is_incomplete() {
    let text = "running 2 tests\ntest a ... ok\n";
    let tests = fails(text).tests.unwrap();
    assert!(!tests.complete);
    assert_eq!((tests.executed, tests.passed), (1, 1));
}

#[test]
fn a_report_on_one_endless_line_is_read_entry_by_entry() {
    let entry = format!(
        r#"{{"filePath":"src/a.js","messages":[],"source":"{}"}},"#,
        "x".repeat(100_000)
    );
    let last = r#"{"filePath":"src/b.js","messages":[{"ruleId":"eqeqeq","severity":2,"message":"no","line":7}]}]"#;
    let mut digester = Digester::new(Hints::default());
    digester.write_all(b"[").unwrap();
    for _ in 0..300 {
        digester.write_all(entry.as_bytes()).unwrap();
    }
    digester.write_all(last.as_bytes()).unwrap();
    let analysis = digester.finish(CommandStatus::Code(1));
    let failure = &analysis.failures[0];
    let told = (
        failure.file.as_deref(),
        failure.line,
        failure.code.as_deref(),
    );
    assert_eq!(told, (Some("src/b.js"), Some(7), Some("eqeqeq")));
    assert_eq!(analysis.notes, Vec::<String>::new());
}

#[test]
fn a_report_that_ends_early_tells_what_it_has_and_is_incomplete() {
    for (name, cut) in [
        ("junit_nextest.log", "<testcase name=\"tests::of_none\""),
        ("jest_json.log", "\"endTime\""),
    ] {
        let log = String::from_utf8(log(name)).unwrap();
        let whole = fails(&log);
        let early = fails(&log[..log.rfind(cut).unwrap()]);
        assert_eq!(early.failures[0], whole.failures[0], "{name}");
        assert!(early.failures.len() < whole.failures.len(), "{name}");
        assert!(!early.tests.unwrap().complete, "{name}");
        assert!(
            early.notes.iter().any(|note| note.contains("ends early")),
            "{name}"
        );
    }
}

#[test]
fn a_runner_that_counts_more_failures_than_were_read_is_told() {
    let log = |failed: u32| {
        format!(
            "===== test session starts =====\n\
             ===== FAILURES =====\n\
             _____ test_total _____\n\
             E   assert 1 == 2\n\
             tests/test_cart.py:7: AssertionError\n\
             ===== short test summary info =====\n\
             FAILED tests/test_cart.py::test_total - assert 1 == 2\n\
             ===== {failed} failed, 9 passed in 0.12s =====\n"
        )
    };
    let more = fails(&log(3));
    assert_eq!(more.notes, ["pytest counts 3 failed, but 1 were read"]);
    let text = more.render(DigestBudget::tokens(60)).text;
    assert!(text.contains(&more.notes[0]), "{text}");
    assert_eq!(fails(&log(1)).notes, Vec::<String>::new());
}

#[test]
fn failures_too_many_to_be_held_are_counted() {
    let each = |line: fn(u32) -> String| (0..1500).map(line).collect::<String>();
    let sections = each(|n| {
        format!("_____ test_{n} _____\nE   assert {n}\ntests/test_cart.py:{n}: AssertionError\n")
    });
    let summary = each(|n| format!("FAILED tests/test_cart.py::test_{n} - assert {n}\n"));
    let log = format!(
        "===== test session starts =====\n===== FAILURES =====\n{sections}\
         ===== short test summary info =====\n{summary}===== 1500 failed in 0.12s =====\n"
    );
    let analysis = fails(&log);
    assert_eq!(analysis.notes, Vec::<String>::new());
    let text = analysis.render(DigestBudget::default()).text;
    assert!(text.contains("1500 failures"), "{text}");
}

#[test]
fn a_suite_that_failed_outside_of_its_tests_is_a_failure() {
    let analysis = fails(
        "<testsuite name=\"till\" tests=\"1\" failures=\"0\" errors=\"1\" file=\"till.js\">\n\
         <testcase name=\"opens\"/>\n</testsuite>\n",
    );
    let failure = &analysis.failures[0];
    assert_eq!(
        (failure.id.as_deref(), failure.file.as_deref()),
        (Some("till"), Some("till.js"))
    );
    assert_eq!(analysis.tests.unwrap().failed, 1);
}

#[test]
fn memory_is_bounded_however_long_the_log_is() {
    let mut digester = Digester::new(Hints::default());
    let line =
        b"error: thread 'x' could not be woven at src/loom.rs:12:7 into the cloth\n".repeat(1000);
    for _ in 0..50 {
        digester.write_all(&line).unwrap();
    }
    digester.write_all(&b"x".repeat(5_000_000)).unwrap();
    let analysis = digester.finish(CommandStatus::Code(1));
    assert!(serde_json::to_vec(&analysis.failures).unwrap().len() < 4 << 20);
    assert_eq!(analysis.lines, 50_001);
}

#[test]
fn a_digester_may_be_moved_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Digester>();
    is_send::<Analysis>();
}
