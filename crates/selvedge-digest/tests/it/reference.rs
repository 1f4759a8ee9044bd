//! The reference logs of the digest's quality target: six failed pytest tests amid any other output. The digest
//! names each of them and all three locations of failure.

use std::fmt::Write;

use selvedge_digest::{CommandStatus, DigestBudget, Hints, analyse};

use crate::recorded::log;

const FAILED: [&str; 6] = [
    "tests/test_shop.py::test_total[prices0]",
    "tests/test_shop.py::test_total[prices1]",
    "tests/test_shop.py::test_nothing",
    "tests/test_shop.py::test_till_is_closed",
    "tests/test_shop.py::TestStock::test_silk",
    "tests/test_shop.py::TestStock::test_wool",
];
const PLACES: [(&str, u32); 3] = [
    ("tests/test_shop.py", 12),
    ("shop/till.py", 4),
    ("shop/stock.py", 6),
];

/// The section of failures as it was recorded, ending in a newline.
fn failures() -> String {
    String::from_utf8(log("reference_failures.log")).unwrap()
}

/// The closing lines for these tests.
fn summary(passed: usize) -> String {
    let mut text = String::from(
        "=========================== short test summary info ============================\n",
    );
    for n in 0..passed {
        writeln!(text, "PASSED tests/test_shop.py::test_prints[{n}]").unwrap();
    }
    for id in FAILED {
        writeln!(text, "FAILED {id} - see above").unwrap();
    }
    text.push_str(
        "======================== 6 failed, 120 passed in 0.45s =========================\n",
    );
    text
}

/// Output of passed tests, as `-rA` prints it.
fn passes(tests: usize) -> String {
    let mut text = String::from(
        "==================================== PASSES ====================================\n",
    );
    for n in 0..tests {
        writeln!(
            text,
            "________________________________ test_prints[{n}] ________________________________"
        )
        .unwrap();
        text.push_str(
            "----------------------------- Captured stdout call -----------------------------\n",
        );
        for k in 0..34 {
            writeln!(
                text,
                "weaving thread {n}.{k} of the cloth, error margin 0.{k}"
            )
            .unwrap();
        }
    }
    text
}

/// The table of a coverage tool.
fn coverage() -> String {
    let mut text = String::from("Name                    Stmts   Miss  Cover   Missing\n");
    for n in 0..119 {
        writeln!(
            text,
            "shop/module_{n}.py    1{n}   {n}   9{}%   1{n}-2{n}, 3{n}",
            n % 10
        )
        .unwrap();
    }
    text.push_str("TOTAL                   14280   7021    51%\n");
    text
}

/// Asserts that all ids and locations are recorded and are in the digest.
fn check(log: &str) {
    let analysis = analyse(
        log.as_bytes(),
        Hints::command("pytest"),
        CommandStatus::Code(1),
    );
    let ids: Vec<_> = analysis
        .failures
        .iter()
        .filter_map(|f| f.id.as_deref())
        .collect();
    assert_eq!(ids, FAILED);
    let digest = analysis.render(DigestBudget::default());
    assert!(digest.tokens_estimated <= 500);
    for id in FAILED {
        // A group names the module of its members only once.
        let name = id.rsplit("::").next().unwrap();
        assert!(digest.text.contains(name), "{id} in {}", digest.text);
    }
    for (file, line) in PLACES {
        let recorded =
            |f: &selvedge_digest::Failure| f.file.as_deref() == Some(file) && f.line == Some(line);
        assert!(analysis.failures.iter().any(recorded), "{file}:{line}");
        let locations = [format!("{file}:{line}"), format!("(line {line})")];
        assert!(
            locations.iter().any(|it| digest.text.contains(it)),
            "{locations:?} in {}",
            digest.text
        );
    }
}

#[test]
fn reference_log_of_a_quiet_run() {
    let log = format!("{}FFFFFF\n{}{}", ".".repeat(120), failures(), summary(0));
    assert!((6_000..8_000).contains(&log.len()), "{}", log.len());
    check(&log);
}

#[test]
fn reference_log_with_every_passed_test() {
    let log = format!("{}{}{}", failures(), passes(120), summary(120));
    assert!((220_000..260_000).contains(&log.len()), "{}", log.len());
    check(&log);
}

#[test]
fn reference_log_with_a_coverage_table() {
    let table = coverage();
    assert_eq!(table.lines().count(), 121);
    check(&format!("{}{table}{}", failures(), summary(0)));
}
