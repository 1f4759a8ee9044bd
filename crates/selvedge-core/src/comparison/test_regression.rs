//! Compares the tests of a command that exited with 0 with those of the baseline.
//!
//! There are two kinds of findings. Evidence that contradicts an exit code of 0 (failed tests, a truncated summary)
//! makes the check fail. Missing or skipped tests may be honest maintenance or a trick: the check passes, and a person
//! decides.
//!
//! Names that were parsed from text only identify the tests: the numbers in the runner's closing line decide whether
//! there are fewer.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_digest::{TestIds, TestSummary};

use crate::model::Evidence;

/// Maximum number of ids that are named; the rest are counted.
const MAX_NAMED: usize = 20;

/// How the tests of a check compare unfavourably with the baseline's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestRegression {
    /// One line in Selvedge's own words, without text from a tool.
    pub(crate) reason: String,
    /// The ids of the affected tests, as the runner prints them.
    pub(crate) tests: Vec<String>,
}

impl From<String> for TestRegression {
    fn from(reason: String) -> Self {
        Self {
            reason,
            tests: Vec::new(),
        }
    }
}

/// Finds evidence that contradicts an exit code of 0: failed tests, or a missing closing summary.
pub(crate) fn find_contradiction(
    before: &TestSummary,
    now: Option<&TestSummary>,
) -> Option<TestRegression> {
    let now = now.filter(|_| before.executed > 0)?;
    if now.failed > 0 {
        let failed = now.failed;
        let reason = format!("exited with 0, but its output shows that {failed} tests failed");
        return Some(reason.into());
    }
    if before.complete && !now.complete {
        let reason = "exited with 0, but without the runner's closing summary";
        return Some(reason.to_owned().into());
    }
    None
}

/// Finds the tests that were executed before and are missing. A test that moved to another file, module or class is not
/// missing.
fn missing_tests(
    before: &TestSummary,
    now: Option<&TestSummary>,
    evidence: Option<Evidence>,
) -> Option<TestRegression> {
    if before.executed == 0 {
        return None;
    }
    let executed = before.executed;
    let Some(now) = now else {
        let named = executed_ids(before).unwrap_or_default();
        return Some(TestRegression {
            reason: format!("shows no tests; before the work began it executed {executed}"),
            tests: named.into_iter().take(MAX_NAMED).collect(),
        });
    };
    match compare_ids(before, now, evidence) {
        Some(difference) => describe(difference.missing, "missing"),
        None if are_packages(before, now, evidence) => None,
        None => (now.executed < executed).then(|| {
            let now = now.executed;
            format!("executed {now} tests; before the work began it executed {executed}").into()
        }),
    }
}

/// Finds the tests that were executed before and, although unchanged, were not executed again: missing or skipped.
pub(crate) fn find_unexecuted(
    before: &TestSummary,
    now: Option<&TestSummary>,
    evidence: Option<Evidence>,
) -> Option<TestRegression> {
    if evidence != Some(Evidence::MachineReport) && !before.complete {
        // Without the closing line, the tests of the earlier output may be misread.
        return None;
    }
    let has_fewer =
        |now: &TestSummary| now.executed < before.executed || now.skipped > before.skipped;
    if evidence != Some(Evidence::MachineReport) && !now.is_none_or(has_fewer) {
        return None;
    }
    let skipped = now.and_then(|now| match compare_ids(before, now, evidence) {
        Some(difference) => describe(difference.skipped, "skipped now"),
        None if are_packages(before, now, evidence) => None,
        None => (now.skipped > before.skipped).then(|| {
            format!(
                "{} tests are skipped instead of {}",
                now.skipped, before.skipped
            )
            .into()
        }),
    });
    skipped.or_else(|| missing_tests(before, now, evidence))
}

/// Tests of the baseline that were not executed again.
#[derive(Debug, Default)]
struct TestDifference {
    skipped: Vec<String>,
    missing: Vec<String>,
}

/// Compares by name if the same parsers in the same mode name every test of both runs; otherwise by number. A
/// `MachineReport` as evidence names every executed test, so packages do not represent their tests.
fn compare_ids(
    before: &TestSummary,
    now: &TestSummary,
    evidence: Option<Evidence>,
) -> Option<TestDifference> {
    if !before.has_same_readers(now) {
        return None;
    }
    if are_packages(before, now, evidence) {
        // A package that passed must pass again. A package that failed had its failed tests named, which are not named
        // when they pass.
        let whole = before.by_package && now.by_package && now.passed_ids.is_complete();
        let [then, now_ids] = [before, now].map(|tests| ids(&tests.passed_ids).collect());
        return whole.then(|| difference(&then, &now_ids, now));
    }
    if !now.names_all() {
        // A skipped test cannot be distinguished from a missing one.
        return None;
    }
    let (mut then, now_ids) = (executed_ids(before)?, executed_ids(now)?);
    ignore_collection_placeholders(&mut then, before, &now_ids);
    Some(difference(&then, &now_ids, now))
}

/// Whether packages are named instead of their passing tests.
fn are_packages(before: &TestSummary, now: &TestSummary, evidence: Option<Evidence>) -> bool {
    evidence != Some(Evidence::MachineReport) && (before.by_package || now.by_package)
}

/// Ignores placeholder tests: if a file does not load, or the setup of a group fails, the file or group is reported as
/// one failed test, and a file without tests as one passed test. Once their tests run, those are reported instead.
fn ignore_collection_placeholders(
    then: &mut BTreeSet<String>,
    before: &TestSummary,
    now_ids: &BTreeSet<String>,
) {
    const WITHIN: [&str; 4] = ["::", " > ", " › ", "."];
    let failed: BTreeSet<String> = ids(&before.failed_ids).collect();
    let is_file = |id: &str| {
        let is_within_one = ["::", " > ", " › "]
            .iter()
            .any(|within| id.contains(within));
        let name = id.rsplit('/').next().unwrap_or(id);
        name.contains('.') && !is_within_one
    };
    let is_told_by_parts = |id: &String| {
        // Ids with the same prefix are adjacent.
        let mut parts = now_ids
            .range(id.clone()..)
            .map_while(|it| it.strip_prefix(id.as_str()));
        parts.any(|rest| WITHIN.iter().any(|within| rest.starts_with(within)))
    };
    then.retain(|id| {
        let may_stand_in = failed.contains(id) || is_file(id);
        now_ids.contains(id) || !may_stand_in || !is_told_by_parts(id)
    });
}

fn difference(
    then: &BTreeSet<String>,
    now_ids: &BTreeSet<String>,
    now: &TestSummary,
) -> TestDifference {
    let new_leaves: BTreeSet<&str> = now_ids.difference(then).map(|id| base_name(id)).collect();
    let mut renumbered: BTreeMap<String, usize> = BTreeMap::new();
    for id in now_ids.difference(then) {
        *renumbered.entry(without_numbers(id)).or_default() += 1;
    }
    let mut is_excused = |id: &str| {
        let new = renumbered.get_mut(&without_numbers(id));
        let is_renumbered = match new {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        };
        is_renumbered || new_leaves.contains(base_name(id))
    };
    let skipped: BTreeSet<String> = ids(&now.skipped_ids).collect();
    let lost = then.difference(now_ids).filter(|id| !is_excused(id));
    let (skipped, gone) = lost.cloned().partition(|id| skipped.contains(id));
    TestDifference {
        skipped,
        missing: gone,
    }
}

fn describe(tests: Vec<String>, verb: &str) -> Option<TestRegression> {
    let count = match tests.len() {
        0 => return None,
        1 => "1 test that was executed before is".to_owned(),
        count => format!("{count} tests that were executed before are"),
    };
    Some(TestRegression {
        reason: format!("{count} {verb}"),
        tests: tests.into_iter().take(MAX_NAMED).collect(),
    })
}

/// The ids of all tests with a result, if the runner named every one of them.
pub(crate) fn executed_ids(tests: &TestSummary) -> Option<BTreeSet<String>> {
    let lists = [&tests.passed_ids, &tests.failed_ids];
    let every = tests.names_executed();
    every.then(|| lists.into_iter().flat_map(ids).collect())
}

/// The ids of a list in a form that does not change when lines move.
pub(crate) fn ids(list: &TestIds) -> impl Iterator<Item = String> + '_ {
    list.ids.iter().map(|id| stable_id(id))
}

/// Removes the line number from a doc test's id.
pub(crate) fn stable_id(id: &str) -> String {
    match id.split_once(" (line ") {
        Some((name, rest)) => {
            let after = rest.split_once(')').map_or("", |(_, after)| after);
            format!("{name}{after}")
        }
        None => id.to_owned(),
    }
}

/// An id with its numbers replaced: parameters of tests may contain the time, a port or a process id.
fn without_numbers(id: &str) -> String {
    let mut masked = String::with_capacity(id.len());
    for c in id.chars() {
        match c {
            '0'..='9' if masked.ends_with('0') => {}
            '0'..='9' => masked.push('0'),
            _ => masked.push(c),
        }
    }
    masked
}

/// The name of the test itself, without module, class or file, which does not change when a test moves.
fn base_name(id: &str) -> &str {
    let name = id.split('[').next().unwrap_or(id);
    let ends = ["::", " > ", " › ", "/", "."].iter();
    let from = ends
        .filter_map(|end| name.rfind(end).map(|at| at + end.len()))
        .max();
    from.and_then(|from| id.get(from..)).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(passed: &[&str], skipped: &[&str]) -> TestSummary {
        let list = |ids: &[&str]| TestIds {
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
            omitted: 0,
        };
        TestSummary {
            executed: passed.len() as u64,
            passed: passed.len() as u64,
            skipped: skipped.len() as u64,
            complete: true,
            passed_ids: list(passed),
            skipped_ids: list(skipped),
            ..TestSummary::default()
        }
    }

    const BEFORE: [&str; 2] = [
        "tests/test_cart.py::test_total",
        "src/lib.rs - add (line 7)",
    ];

    #[test]
    fn missing_tests_are_named_unless_moved() {
        let before = tests(&BEFORE, &[]);
        let missing = |now: &TestSummary| find_unexecuted(&before, Some(now), None);

        let deleted = tests(&["src/lib.rs - add (line 9)"], &[]);
        let why = missing(&deleted).unwrap();
        assert_eq!(why.reason, "1 test that was executed before is missing");
        assert_eq!(why.tests, [BEFORE[0]]);
        assert_eq!(find_contradiction(&before, Some(&deleted)), None);

        let moved = tests(&["tests/shop/test_cart.py::test_total", BEFORE[1]], &[]);
        assert_eq!(missing(&moved), None);
        let more = tests(
            &[BEFORE[0], BEFORE[1], "test_new.py::test_b"],
            &["test_new.py::test_c"],
        );
        assert_eq!(missing(&more), None);
        let none = find_unexecuted(&before, None, None).unwrap();
        assert!(none.reason.contains("shows no tests"), "{none:?}");
        assert_eq!(none.tests.len(), 2);
    }

    #[test]
    fn missing_tests_ignore_parameters_that_differ_in_time() {
        let at = |time: &str| {
            let id = format!("t.py::TestDates::test_invalid[{time}]");
            tests(&["t.py::test_other", &id], &[])
        };
        let report = Some(Evidence::MachineReport);
        let (then, now) = (at("16:48:22 2026-11-30"), at("16:48:35 2026-11-30"));
        assert_eq!(find_unexecuted(&then, Some(&now), report), None);

        let numbers = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| format!("t.py::test_n[{id}]")).collect();
            tests(&ids.iter().map(String::as_str).collect::<Vec<_>>(), &[])
        };
        let (then, fewer) = (numbers(&["1", "2", "30"]), numbers(&["1", "4"]));
        let why = find_unexecuted(&then, Some(&fewer), report).unwrap();
        assert_eq!(why.reason, "1 test that was executed before is missing");
    }

    #[test]
    fn missing_tests_include_skipped_ones() {
        let before = tests(&BEFORE, &[]);
        let skipped = tests(&[BEFORE[1]], &[BEFORE[0]]);
        let why = find_unexecuted(&before, Some(&skipped), None).unwrap();
        assert!(why.reason.contains("skipped now"), "{why:?}");
        assert_eq!(find_contradiction(&before, Some(&skipped)), None);
    }

    #[test]
    fn missing_tests_ignore_file_that_loads_now() {
        let then = |passed: &[&str], failed: &[&str]| TestSummary {
            executed: (passed.len() + failed.len()) as u64,
            failed: failed.len() as u64,
            failed_ids: tests(failed, &[]).passed_ids,
            ..tests(passed, &[])
        };
        let now = |passed: &[&str]| tests(passed, &[]);
        let report = Some(Evidence::MachineReport);
        let gone =
            |before: &TestSummary, now: &TestSummary| find_unexecuted(before, Some(now), report);
        let loads = [
            ("tests/test_cart.py", "tests/test_cart.py::test_total"),
            ("cart.test.js", "cart.test.js › total"),
            ("cart.test.js > cart", "cart.test.js > cart > total"),
            ("shop.test_cart", "shop.test_cart.Cart.test_total"),
        ];
        for (file, test) in loads {
            let before = then(&["other"], &[file]);
            assert_eq!(gone(&before, &now(&["other", test])), None, "{file}");
            let beside = format!("{file}_2::total");
            assert!(gone(&before, &now(&["other", &beside])).is_some(), "{file}");
        }
        let empty = then(&["cart.test.js"], &[]);
        assert_eq!(gone(&empty, &now(&["cart.test.js > total"])), None);
        let group = then(&["cart.test.js > total"], &[]);
        let placeholder = now(&["cart.test.js > total > is a number"]);
        assert!(
            gone(&group, &placeholder).is_some(),
            "a test that passed must stay"
        );
    }

    #[test]
    fn missing_tests_ignore_fixed_packages() {
        let by_package = |passed: &[&str], failed: &[&str]| {
            let failed = tests(failed, &[]);
            TestSummary {
                by_package: true,
                executed: (passed.len() + failed.passed_ids.ids.len()) as u64,
                failed_ids: failed.passed_ids,
                ..tests(passed, &[])
            }
        };
        let before = by_package(&["example.com/shop"], &["TestTotal", "TestTax"]);
        let fixed = by_package(&["example.com/shop", "example.com/cart"], &[]);
        assert_eq!(find_unexecuted(&before, Some(&fixed), None), None);
        let removed = by_package(&["example.com/cart"], &[]);
        assert!(find_unexecuted(&before, Some(&removed), None).is_some());
        // A report names every executed test: a package without names executed none.
        let report = Some(Evidence::MachineReport);
        let (named, silent) = (
            tests(&["TestTotal"], &[]),
            by_package(&["example.com/shop"], &[]),
        );
        assert!(find_unexecuted(&named, Some(&silent), report).is_some());
    }

    #[test]
    fn missing_tests_ignore_printed_names_with_equal_counts() {
        let before = tests(&BEFORE, &[]);
        let text = |now: &TestSummary| find_unexecuted(&before, Some(now), Some(Evidence::Text));
        let renamed = tests(&["tests/test_cart.py::test_sum", BEFORE[1]], &[]);
        assert_eq!(text(&renamed), None);
        let report = Some(Evidence::MachineReport);
        assert!(find_unexecuted(&before, Some(&renamed), report).is_some());
        let fewer = text(&tests(&BEFORE[1..], &[])).unwrap();
        assert_eq!(fewer.tests, [BEFORE[0]]);
        assert!(find_unexecuted(&before, None, Some(Evidence::Text)).is_some());
    }

    #[test]
    fn missing_tests_compare_ids_of_the_same_reader() {
        use selvedge_digest::TestReader;
        let report = Some(Evidence::MachineReport);
        let read = |name: &str, mode: &str, passed: &[&str]| TestSummary {
            readers: vec![TestReader {
                name: name.to_owned(),
                mode: mode.to_owned(),
                names_passed: true,
                names_failed: true,
                names_skipped: true,
            }],
            ..tests(passed, &[])
        };
        let before = read("pytest", "verbose", &["t.py::a", "t.py::b"]);
        let missing = |now: &TestSummary| find_unexecuted(&before, Some(now), report);
        let named = missing(&read("pytest", "verbose", &["t.py::a", "t.py::c"])).unwrap();
        assert_eq!(named.tests, ["t.py::b"]);
        let others = [
            read("pytest", "text", &["x", "y"]),
            read("junit", "report", &["t.a", "t.b"]),
            tests(&["x", "y"], &[]),
        ];
        for now in others {
            assert_eq!(missing(&now), None, "{now:?}");
            let fewer = TestSummary { executed: 1, ..now };
            let why = missing(&fewer).unwrap();
            assert!(why.tests.is_empty(), "{why:?}");
            assert!(why.reason.contains("executed 1 tests"), "{why:?}");
        }
        // One skipped test has no name: it may be the one that is no longer listed.
        let mut unnamed = read("pytest", "verbose", &["t.py::a", "t.py::c"]);
        unnamed.readers[0].names_skipped = false;
        assert_eq!(missing(&unnamed), None);
        unnamed.skipped = 1;
        assert!(missing(&unnamed).is_some());
    }

    #[test]
    fn missing_tests_compare_counts_without_ids() {
        let numbers = |executed, skipped| TestSummary {
            executed,
            passed: executed,
            skipped,
            complete: true,
            ..TestSummary::default()
        };
        let before = numbers(5, 1);
        let (more, fewer, skipped) = (numbers(6, 1), numbers(4, 1), numbers(4, 2));
        let missing = |now| find_unexecuted(&before, Some(now), None);
        let contradiction = |now| find_contradiction(&before, Some(now));
        assert_eq!((missing(&more), contradiction(&more)), (None, None));
        assert!(missing(&fewer).unwrap().reason.contains("executed 4"));
        assert_eq!(contradiction(&fewer), None);
        let why = missing(&skipped).unwrap();
        assert!(why.reason.contains("2 tests are skipped"), "{why:?}");
        let unclosed = TestSummary {
            complete: false,
            ..before.clone()
        };
        let text = Some(Evidence::Text);
        assert_eq!(find_unexecuted(&unclosed, Some(&fewer), text), None);
        assert_eq!(find_unexecuted(&unclosed, None, None), None);
    }
}
