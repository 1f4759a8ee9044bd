//! Whatever the bytes, the exit and the chunks: no panic, no overrun, no false success.

use std::io::Write;

use proptest::prelude::*;
use selvedge_digest::{Budget, Digester, Exit, Hints, analyse};

/// Fragments that formats and cleaning look for, to reach further than random bytes would.
const FRAGMENTS: [&str; 64] = [
    "\n",
    "\n",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "  ",
    "    ",
    "\x1b[31m",
    "\x1b]0;t\x07",
    "\x1b[",
    "é×✗ ",
    "error: ",
    "error[E0308]: ",
    "warning: ",
    "  --> src/a.rs:1:2",
    "running 2 tests",
    "test a ... FAILED",
    "---- a stdout ----",
    "thread 'a' panicked at src/a.rs:1:2:",
    "test result: FAILED. 1 passed; 2 failed; 0 ignored;",
    "=== FAILURES ===",
    "___ test_a ___",
    "E   assert 1 == 2",
    "a.py:3: AssertionError",
    "FAILED a.py::b - c",
    "=== 1 failed in 0.1s ===",
    "FAIL: a (b.C.a)",
    "Ran 3 tests in 0.1s",
    "FAILED (failures=1)",
    "--- FAIL: TestA/b (0.00s)",
    "    a_test.go:1: x",
    "FAIL\tpkg\t0.1s",
    "panic: x",
    "not ok 1 - a",
    "1..2",
    "FAIL src/a.test.js",
    "● a › b",
    " FAIL  a.test.ts > b",
    "❯ a.ts:1:2",
    "  1) a",
    "       b:",
    "a.ts(1,2): error TS1: x",
    "  1:2  error  x  y",
    "a.c:1:2: error: x",
    "2024-05-06T07:08:09.0123456Z ",
    "web-1  | ",
    "make: *** [a] Error 1",
    "{",
    "[",
    "{\"numTotalTestSuites\":1,\"success\":false,\"testResults\":[",
    "{\"assertionResults\":[{\"title\":\"a\",\"status\":\"failed\"}],\"name\":\"b\",\"status\":\"failed\"}",
    "{\"runs\":[{\"results\":[",
    "{\"message\":{\"text\":\"a\"},\"ruleId\":\"b\"}",
    "[{\"filePath\":\"a\",\"messages\":[{\"message\":\"b\",\"line\":3}]}",
    "\"",
    ",",
    "]",
    "}",
    "<?xml version=\"1.0\"?>",
    "<testsuite name=\"a\" failures=\"2\" tests=\"3\">",
    "<testcase name=\"b\" classname=\"c\"><failure message=\"d&#10;\">",
    "<![CDATA[a.py:3: E]]></failure></testcase>",
    "</testsuite>",
];

fn logs() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        6 => prop::sample::select(FRAGMENTS.as_slice()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(fragment, 0..200).prop_map(|parts| parts.concat())
}

fn exits() -> impl Strategy<Value = Exit> {
    prop_oneof![
        any::<i32>().prop_map(Exit::Code),
        (1..64).prop_map(Exit::Signal),
        Just(Exit::TimedOut),
        Just(Exit::Unknown),
        Just(Exit::Code(0)),
    ]
}

proptest! {
    #[test]
    fn within_the_budget_and_honest(log in logs(), exit in exits(), tokens in 0_usize..600) {
        let analysis = analyse(&log, Hints::default(), exit);
        let digest = analysis.render(Budget::tokens(tokens));
        prop_assert!(digest.tokens_estimated <= tokens);
        prop_assert!(digest.shown <= digest.total);
        if !exit.is_success() && tokens >= 40 {
            prop_assert!(digest.text.starts_with("FAILED"), "{}", digest.text);
        }
        for failure in &analysis.failures {
            prop_assert!(failure.summary.chars().count() <= 100);
            prop_assert!(failure.count >= 1);
        }
    }

    #[test]
    fn chunks_make_no_difference(log in logs(), sizes in prop::collection::vec(1_usize..50, 1..20)) {
        let whole = analyse(&log, Hints::default(), Exit::Code(1));
        let mut digester = Digester::new(Hints::default());
        let mut rest = log.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            digester.write_all(chunk).unwrap();
            rest = tail;
        }
        prop_assert_eq!(digester.finish(Exit::Code(1)), whole);
    }
}
