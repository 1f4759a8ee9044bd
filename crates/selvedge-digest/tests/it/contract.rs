//! Guarantees of the digest that hold for any log.

use std::io::Write;

use selvedge_digest::{
    Analysis, CommandStatus, DigestBudget, Digester, Hints, PassingOutput, analyse, render_shared,
};

use crate::recorded::{log, read};

fn fails(text: &str) -> Analysis {
    analyse(text.as_bytes(), Hints::default(), CommandStatus::Code(1))
}

#[test]
fn failing_exit_is_never_reported_as_success() {
    for text in ["", "all 12 tests passed\n", "0 errors\nBUILD SUCCESSFUL\n"] {
        for exit in [
            CommandStatus::Code(1),
            CommandStatus::Code(-1),
            CommandStatus::Signal(9),
            CommandStatus::TimedOut,
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
fn failures_come_before_warnings() {
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
fn passing_output_excludes_known_reports() {
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
        ["1 more report was already in the last output that passed"]
    );
}

#[test]
fn command_output_starts_where_its_line_is_repeated() {
    let digest_text = |hints| {
        let mut text: String = (0..90).map(|n| format!("error: old {n}\n")).collect();
        text.push_str("> loom weave --all\nthe shuttle is stuck\nloom: exited with code 3\n");
        let analysis = analyse(text.as_bytes(), hints, CommandStatus::Code(3));
        analysis.render(DigestBudget::tokens(60)).text
    };
    assert!(digest_text(Hints::command("loom weave --all")).contains("the shuttle is stuck"));
    assert!(!digest_text(Hints::default()).contains("the shuttle is stuck"));
}

#[test]
fn output_without_text_is_not_reported_as_no_output() {
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
fn empty_output_alone_is_neither_success_nor_failure() {
    let text = |bytes: &[u8], exit| {
        let analysis = analyse(bytes, Hints::default(), exit);
        analysis.render(DigestBudget::default()).text
    };
    let unknown = CommandStatus::Unknown;
    assert_eq!(
        text(b"", unknown),
        "no output; the exit code is not known\n"
    );
    assert_eq!(
        text(b"\n \n", unknown),
        "no readable text in 3 bytes of output; the exit code is not known\n"
    );
    assert_eq!(text(b"", CommandStatus::Code(0)), "exit 0, no output\n");
}

#[test]
fn log_without_exit_is_a_failure_only_if_one_is_read() {
    let digest = |text: &str| {
        let analysis = analyse(text.as_bytes(), Hints::default(), CommandStatus::Unknown);
        let json = serde_json::to_value(&analysis).unwrap();
        assert_eq!(json.get("tests").is_some(), analysis.tests.is_some());
        assert!(!analysis.warnings_only || analysis.failures_total > 0);
        analysis.render(DigestBudget::default()).text
    };
    let passed = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n";
    assert_eq!(
        digest(passed),
        format!("exit code unknown: 3 tests passed, 1 skipped, no failure found\n{passed}")
    );
    assert_eq!(
        digest("one\n"),
        "exit code unknown: no failure found\none\n"
    );
    let warning = "a.c:3:7: warning: unused variable 'v'\n";
    assert_eq!(
        digest(warning),
        format!("exit code unknown: 1 warning, no failure found\n{warning}")
    );
    let failed = [
        "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured\n",
        "a.c:3:7: error: expected ';'\n",
    ];
    for text in failed {
        assert!(digest(text).starts_with("FAILED"), "{}", digest(text));
    }
}

#[test]
fn header_and_progress_of_a_runner_are_never_shown() {
    for name in ["pytest_report.log", "pytest_report_quiet.log"] {
        for tokens in [100, 220, 500, 3000] {
            let digest = read(name, 1).render(DigestBudget::tokens(tokens)).text;
            let noise = [
                "generated xml file",
                "runs/01K",
                "platform linux",
                "rootdir",
                "collected",
                "session starts",
                "[ 97%]",
                "[100%]",
                "slowest",
                "0.02s call",
            ];
            for text in noise {
                assert!(!digest.contains(text), "{name}, {tokens}: {text}: {digest}");
            }
            assert!(digest.contains("test_total"), "{digest}");
        }
    }
    let lines = [".....F..\n", "..F.s.  [ 12%]\n", "the loom is stuck\n"].concat();
    let digest = fails(&lines).render(DigestBudget::default()).text;
    assert_eq!(digest, "FAILED (exit 1)\nthe loom is stuck\n");
}

#[test]
fn five_failures_of_five_checks_keep_every_location() {
    let text = String::from_utf8(log("pytest_five.log")).unwrap();
    let analyses: Vec<Analysis> = (1..=5)
        .map(|check| fails(&text.replace("shop_1", &format!("shop_{check}"))))
        .collect();
    let all: Vec<&Analysis> = analyses.iter().collect();
    let digests = render_shared(&all, DigestBudget::default());
    let tokens: usize = digests.iter().map(|digest| digest.tokens_estimated).sum();
    assert!(tokens <= DigestBudget::default().tokens, "{digests:?}");
    for (check, digest) in (1..).zip(&digests) {
        let text = &digest.text;
        assert!(text.contains(&format!("test_shop_{check}.py")), "{text}");
        assert!(text.contains("(line 3)"), "{text}");
        for line in [8, 13, 18, 23] {
            let place = format!(":{line}");
            assert!(
                text.contains(&place) || text.contains(&format!("(line {line})")),
                "{line}: {text}"
            );
        }
        assert_eq!(digest.shown, 5, "{text}");
    }
}

#[test]
fn id_does_not_repeat_the_suite_that_ends_its_class() {
    let report = "<?xml version=\"1.0\"?>\n<testsuite name=\"Chrome 120\" tests=\"1\" failures=\"1\">\n\
        <testcase name=\"cart sums\" classname=\"Chrome_120.cart\"><failure>no</failure></testcase>\n\
        </testsuite>\n";
    let id = fails(report).failures.first().and_then(|it| it.id.clone());
    assert_eq!(id.as_deref(), Some("Chrome_120.cart sums"));
}

#[test]
fn heading_of_one_word_is_a_go_package_only_above_errors() {
    let failures = |text: &str| fails(text).failures.len();
    assert_eq!(failures("# shop\n./a.go:4:13: undefined: c\n"), 1);
    assert_eq!(
        failures("# command-line-arguments\nvet: ./a.go:4:13: undeclared name: c\n"),
        1
    );
    let digest = fails("# Error\nthe loom is stuck\n").render(DigestBudget::default());
    assert_eq!(digest.text, "FAILED (exit 1)\n# Error\nthe loom is stuck\n");
}

#[test]
fn tap_is_read_with_its_diagnostics() {
    let text = "TAP version 14\n1..3\nok 1 - loads\n\
        not ok 2 - adds up\n  ---\n  message: \"expected 4, got 3\"\n  severity: fail\n  \
        at: src/sum.js:7\n  ...\n\
        not ok 3 - rounds\n#   Failed test 'rounds'\n#   at t/sum.t line 12.\n";
    let analysis = fails(text);
    let failures: Vec<_> = analysis
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
        failures,
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
fn pending_examples_are_not_failures() {
    let analysis = fails(
        "Pending: (Failures listed here are expected)\n\n  1) Loom weaves silk\n     \
         # Not yet implemented\n     # ./spec/loom_spec.rb:3\n\nFailures:\n\n  \
         1) Mill::Loom weaves wool\n     Failure/Error: @yarn = Wool[]\n\n     NameError:\n       \
         uninitialized constant Mill::Wool\n     # ./lib/mill/loom.rb:9:in 'yarn'\n\n\
         2 examples, 1 failure, 1 pending\n",
    );
    let failures: Vec<_> = analysis
        .failures
        .iter()
        .map(|f| (f.id.as_deref(), f.summary.as_str()))
        .collect();
    let summary = "NameError: uninitialized constant Mill::Wool";
    assert_eq!(failures, [(Some("Mill::Loom weaves wool"), summary)]);
}

#[test]
fn small_log_is_shown_in_full_without_control_codes() {
    let digest = fails("\x1b[31mone\x1b[0m\r\n50%\r100%\rtwo\n").render(DigestBudget::default());
    assert_eq!(digest.text, "FAILED (exit 1)\none\ntwo\n");
}

#[test]
fn unknown_tool_is_shown_by_its_most_salient_lines() {
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
fn failure_count_is_shown_when_not_all_fit() {
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
fn mixed_log_shows_failures_of_every_tool() {
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
fn budget_is_shared_and_unused_tokens_are_redistributed() {
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
fn runner_without_closing_summary_is_incomplete() {
    let text = "running 2 tests\ntest a ... ok\n";
    let tests = fails(text).tests.unwrap();
    assert!(!tests.complete);
    assert_eq!((tests.executed, tests.passed), (1, 1));
}

#[test]
fn report_on_one_long_line_is_read_entry_by_entry() {
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
    let actual = (
        failure.file.as_deref(),
        failure.line,
        failure.code.as_deref(),
    );
    assert_eq!(actual, (Some("src/b.js"), Some(7), Some("eqeqeq")));
    assert_eq!(analysis.notes, Vec::<String>::new());
}

#[test]
fn report_that_ends_early_is_incomplete() {
    for (name, cut) in [
        ("junit_nextest.log", "<testcase name=\"tests::of_none\""),
        ("jest_json.log", "\"endTime\""),
    ] {
        let log = String::from_utf8(log(name)).unwrap();
        let full = fails(&log);
        let early = fails(&log[..log.rfind(cut).unwrap()]);
        assert_eq!(early.failures[0], full.failures[0], "{name}");
        assert!(early.failures.len() < full.failures.len(), "{name}");
        assert!(!early.tests.unwrap().complete, "{name}");
        assert!(
            early.notes.iter().any(|note| note.contains("ends early")),
            "{name}"
        );
    }
}

#[test]
fn runner_that_counts_more_failures_is_noted() {
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
fn failures_over_the_limit_are_counted() {
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
fn suite_failure_outside_of_tests_is_a_failure() {
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
fn memory_is_bounded_for_any_log() {
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
fn digester_is_send() {
    fn is_send<T: Send>() {}
    is_send::<Digester>();
    is_send::<Analysis>();
}
