//! What a passing test command must still show, held against the baseline: the tests that were
//! executed before the agent began are still executed, and no more of them are skipped. Deleting a
//! test, renaming it away or skipping it makes a command exit with 0; it does not make it pass.

use std::collections::BTreeSet;

use selvedge_digest::{TestIds, TestSummary};

use crate::guard::Words;
use crate::model::Evidence;

/// Ids that are named; the rest are counted.
const NAMED: usize = 20;

/// Why an exit code of 0 is no pass.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// In our own words alone.
    pub(super) reason: String,
    /// The ids of the tests in question, as the runner writes them.
    pub(super) tests: Vec<String>,
}

impl From<String> for Broken {
    fn from(reason: String) -> Self {
        Self {
            reason,
            tests: Vec::new(),
        }
    }
}

/// Why an exit code of 0 is no pass, if it is none, given what was seen before. A test that the task
/// itself asks to remove, rename or skip may go. What is told by the runner's own `evidence` names
/// every test that was executed: then no package stands for its tests.
pub(super) fn broken(
    before: &TestSummary,
    now: Option<&TestSummary>,
    evidence: Option<Evidence>,
    task: &str,
) -> Option<Broken> {
    if before.executed == 0 {
        return None;
    }
    let executed = before.executed;
    let told = match now {
        None => Some(format!(
            "exited with 0, but shows no tests: {executed} were executed before the work began"
        )),
        Some(now) if now.failed > 0 => {
            let failed = now.failed;
            Some(format!(
                "exited with 0, but its output says that {failed} tests failed"
            ))
        }
        Some(now) if before.complete && !now.complete => {
            Some("exited with 0, but without the runner's closing summary".to_owned())
        }
        Some(_) => None,
    };
    if let Some(reason) = told {
        return Some(reason.into());
    }
    let now = now?;
    let names_all = evidence == Some(Evidence::MachineReport);
    if !names_all && (before.by_package || now.by_package) {
        return packages_gone(before, now, task);
    }
    match (executed_ids(before), executed_ids(now)) {
        (Some(mut then), Some(now_ids)) => {
            forget_stand_ins(&mut then, before, &now_ids);
            gone(&then, &now_ids, now, task)
        }
        _ => fewer(before, now).map(Broken::from),
    }
}

/// Where a package stands for the tests that pass in it: a package that passed must pass still. One
/// that failed had its failed tests named, which are not when they pass.
fn packages_gone(before: &TestSummary, now: &TestSummary, task: &str) -> Option<Broken> {
    let whole = before.by_package && now.by_package && now.passed_ids.is_whole();
    let [then, now_ids] = [before, now].map(|tests| ids(&tests.passed_ids).collect());
    whole.then(|| gone(&then, &now_ids, now, task)).flatten()
}

/// Where a file does not load, or what goes before a group of tests fails, the file or the group is
/// told as one test that failed; a file without tests as one that passed. Once its tests run, they
/// are told instead.
fn forget_stand_ins(then: &mut BTreeSet<String>, before: &TestSummary, now_ids: &BTreeSet<String>) {
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
        // All that begins with the id stands together.
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

/// By name: the sure way.
fn gone(
    then: &BTreeSet<String>,
    now_ids: &BTreeSet<String>,
    now: &TestSummary,
    task: &str,
) -> Option<Broken> {
    let new_leaves: BTreeSet<&str> = now_ids.difference(then).map(|id| leaf(id)).collect();
    let words = Words::of(task);
    let is_excused = |id: &str| new_leaves.contains(leaf(id)) || words.let_go_of(leaf(id));
    let gone: Vec<&String> = then
        .difference(now_ids)
        .filter(|id| !is_excused(id))
        .collect();
    if gone.is_empty() {
        return None;
    }
    let skipped: BTreeSet<String> = now.skipped_ids.ids.iter().map(|id| stable(id)).collect();
    let verb = if gone.iter().all(|id| skipped.contains(*id)) {
        "skipped now"
    } else {
        "gone"
    };
    let tests = match gone.len() {
        1 => "1 test that was executed before is".to_owned(),
        count => format!("{count} tests that were executed before are"),
    };
    Some(Broken {
        reason: format!("{tests} {verb}"),
        tests: gone.into_iter().take(NAMED).cloned().collect(),
    })
}

/// By number, where the runner prints no names.
fn fewer(before: &TestSummary, now: &TestSummary) -> Option<String> {
    if now.executed < before.executed {
        return Some(format!(
            "executed {} tests; before the work began it was {}",
            now.executed, before.executed
        ));
    }
    (now.skipped > before.skipped).then(|| {
        format!(
            "skipped {} tests; before the work began it was {}",
            now.skipped, before.skipped
        )
    })
}

/// The ids of all tests that ran to a result, where the runner named every one of them.
pub(super) fn executed_ids(tests: &TestSummary) -> Option<BTreeSet<String>> {
    let lists = [&tests.passed_ids, &tests.failed_ids];
    let whole = lists.iter().all(|list| list.is_whole());
    // A list shorter than the count is one that the runner prints only a part of.
    let listed = u64::try_from(lists.iter().map(|list| list.ids.len()).sum::<usize>());
    let complete = whole && listed.is_ok_and(|listed| listed >= tests.executed);
    complete.then(|| lists.into_iter().flat_map(ids).collect())
}

/// The ids of a list in a form that does not change when lines move.
pub(super) fn ids(list: &TestIds) -> impl Iterator<Item = String> + '_ {
    list.ids.iter().map(|id| stable(id))
}

/// A doc test's id holds the line it stands on.
fn stable(id: &str) -> String {
    match id.split_once(" (line ") {
        Some((name, rest)) => {
            let after = rest.split_once(')').map_or("", |(_, after)| after);
            format!("{name}{after}")
        }
        None => id.to_owned(),
    }
}

/// The name of the test itself, without module, class or file: what stays when a test moves.
fn leaf(id: &str) -> &str {
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
    fn what_was_executed_before_must_be_executed_now() {
        let before = tests(&BEFORE, &[]);
        let reason = |now: &TestSummary, task| broken(&before, Some(now), None, task);

        let deleted = tests(&["src/lib.rs - add (line 9)"], &[]);
        let why = reason(&deleted, "mend the cart").unwrap();
        assert_eq!(why.reason, "1 test that was executed before is gone");
        assert_eq!(why.tests, [BEFORE[0]]);
        assert_eq!(reason(&deleted, "remove the obsolete `test_total`"), None);
        assert!(reason(&deleted, "make test_total pass").is_some());

        let skipped = tests(&[BEFORE[1]], &[BEFORE[0]]);
        assert!(reason(&skipped, "").unwrap().reason.contains("skipped now"));

        let moved = tests(&["tests/shop/test_cart.py::test_total", BEFORE[1]], &[]);
        assert_eq!(reason(&moved, ""), None);
        let more = tests(
            &[BEFORE[0], BEFORE[1], "test_new.py::test_b"],
            &["test_new.py::test_c"],
        );
        assert_eq!(reason(&more, ""), None);
        assert!(
            broken(&before, None, None, "")
                .unwrap()
                .reason
                .contains("shows no tests")
        );
    }

    #[test]
    fn a_file_that_loads_now_is_told_by_its_tests() {
        let then = |passed: &[&str], failed: &[&str]| TestSummary {
            executed: (passed.len() + failed.len()) as u64,
            failed_ids: tests(failed, &[]).passed_ids,
            ..tests(passed, &[])
        };
        let now = |passed: &[&str]| tests(passed, &[]);
        let gone = |before: &TestSummary, now: &TestSummary| broken(before, Some(now), None, "");
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
        let hollow = now(&["cart.test.js > total > is a number"]);
        assert!(
            gone(&group, &hollow).is_some(),
            "a test that passed must stay"
        );
    }

    #[test]
    fn where_packages_stand_for_their_tests_a_mended_one_is_no_loss() {
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
        let mended = by_package(&["example.com/shop", "example.com/cart"], &[]);
        assert_eq!(broken(&before, Some(&mended), None, ""), None);
        let removed = by_package(&["example.com/cart"], &[]);
        assert!(broken(&before, Some(&removed), None, "").is_some());
        // A report names every test that ran: a package that names none ran none.
        let report = Some(Evidence::MachineReport);
        let (named, silent) = (
            tests(&["TestTotal"], &[]),
            by_package(&["example.com/shop"], &[]),
        );
        assert!(broken(&named, Some(&silent), report, "").is_some());
    }

    #[test]
    fn where_no_names_are_known_numbers_count() {
        let numbers = |executed, skipped| TestSummary {
            executed,
            passed: executed,
            skipped,
            complete: true,
            ..TestSummary::default()
        };
        let before = numbers(5, 1);
        assert_eq!(broken(&before, Some(&numbers(6, 1)), None, ""), None);
        assert!(
            broken(&before, Some(&numbers(4, 1)), None, "")
                .unwrap()
                .reason
                .contains("executed 4")
        );
        assert!(
            broken(&before, Some(&numbers(5, 2)), None, "")
                .unwrap()
                .reason
                .contains("skipped 2")
        );
    }
}
