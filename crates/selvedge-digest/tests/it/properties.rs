//! For any bytes, exit and chunks: no panic, no exceeded budget, no false success.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use selvedge_digest::{CommandStatus, DigestBudget, Digester, Hints, analyse, formats};

use crate::promises::hold;
use crate::recorded;

/// Fragments that formats and cleaning search for, to reach more code than random bytes would.
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

fn exits() -> impl Strategy<Value = CommandStatus> {
    prop_oneof![
        any::<i32>().prop_map(CommandStatus::Code),
        (1..64).prop_map(CommandStatus::Signal),
        Just(CommandStatus::TimedOut),
        Just(CommandStatus::Unknown),
        Just(CommandStatus::Code(0)),
    ]
}

/// A recorded log with parts removed, repeated, or overwritten.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let names = recorded::names();
    let change = (
        any::<[u16; 3]>(),
        prop::sample::select(FRAGMENTS.as_slice()),
    );
    let changes = prop::collection::vec(change, 1..12);
    (prop::sample::select(names), changes).prop_map(|(name, changes)| {
        let mut log = recorded::log(&name);
        for ([kind, from, length], fragment) in changes {
            let from = usize::from(from) % log.len().max(1);
            let end = (from + usize::from(length) % 400).min(log.len());
            match kind % 4 {
                0 => drop(log.drain(from..end)),
                1 => log.extend_from_within(from..end),
                2 => drop(log.splice(from..from, fragment.bytes())),
                _ => log.truncate(end),
            }
        }
        log
    })
}

/// The same cases every time: this is the short form of the fuzz targets.
fn fixed() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(8),
        ..ProptestConfig::default()
    }
}

fn all() -> Digester {
    Digester::new(Hints::default())
}

proptest! {
    #[test]
    fn guarantees_hold_for_any_log(log in logs(), exit in exits(), chunk in 1_usize..50, tokens in 0_usize..600) {
        hold(all, &log, exit, chunk, tokens);
    }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn guarantees_hold_for_mutated_logs(log in mutated(), exit in exits(), chunk in 1_usize..5000, tokens in 0_usize..600) {
        hold(all, &log, exit, chunk, tokens);
    }

    #[test]
    fn guarantees_hold_for_each_format_alone(log in mutated(), exit in exits(), choice in any::<prop::sample::Index>()) {
        let names: Vec<_> = formats().collect();
        hold(|| Digester::with_format(names[choice.index(names.len())]), &log, exit, 100, 200);
    }
}

#[test]
fn guarantees_hold_for_hostile_logs() {
    let json = format!("{{\"a\":{}", "[{\"error\":\"x\",\"b\":".repeat(60_000));
    let hostile: [Vec<u8>; 9] = [
        b"x".repeat(3_000_000),
        b"error ".repeat(400_000),
        b"a.c:1:2: error: x\n".repeat(100_000),
        (0..60_000)
            .flat_map(|n| format!("e{n}: error: {n}\n").into_bytes())
            .collect(),
        b"\x1b[".repeat(200_000),
        b"\x1b]0;\x1b[31m".repeat(100_000),
        b"50%\r".repeat(200_000),
        b"\n".repeat(300_000),
        json.into_bytes(),
    ];
    for log in hostile {
        hold(all, &log, CommandStatus::Code(1), 65_537, 500);
    }
}

#[test]
fn error_anywhere_in_a_long_line_is_shown() {
    for before in [100, 5_000, 70_000, 1_000_000] {
        let filler = "lorem,ipsum,".repeat(before / 12);
        let log = format!("first\n{filler} TypeError: x is undefined {filler}\nlast\n");
        let analysis = analyse(log.as_bytes(), Hints::default(), CommandStatus::Code(1));
        let digest = analysis.render(DigestBudget::default()).text;
        assert!(
            digest.contains("TypeError: x is undefined"),
            "{before}: {digest}"
        );
    }
}
