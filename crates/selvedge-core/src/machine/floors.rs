//! What a passing test command must still show, held against the baseline: the tests that were
//! executed before the agent began are still executed, and no more of them are skipped. Deleting a
//! test, renaming it away or skipping it makes a command exit with 0; it does not make it pass.

use std::collections::BTreeSet;

use selvedge_digest::{TestIds, TestSummary};

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

/// Why an exit code of 0 is no pass, if it is none, given what was seen before. A test whose name
/// the task itself mentions may go.
pub(super) fn broken(
    before: &TestSummary,
    now: Option<&TestSummary>,
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
    match (executed_ids(before), executed_ids(now)) {
        (Some(then), Some(now_ids)) => gone(&then, &now_ids, now, task),
        _ => fewer(before, now).map(Broken::from),
    }
}

/// By name: the sure way.
fn gone(
    then: &BTreeSet<String>,
    now_ids: &BTreeSet<String>,
    now: &TestSummary,
    task: &str,
) -> Option<Broken> {
    let new_leaves: BTreeSet<&str> = now_ids.difference(then).map(|id| leaf(id)).collect();
    let is_excused = |id: &str| new_leaves.contains(leaf(id)) || names(task, leaf(id));
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

/// Whether a text mentions a test by its name. A name that is a plain word must stand in quotes:
/// "fix total()" is about a function, and says nothing of a test that is called `total`.
fn names(text: &str, name: &str) -> bool {
    let name = name.split('[').next().unwrap_or(name);
    let is_plain = name.chars().all(char::is_alphanumeric) && !name.to_lowercase().contains("test");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_quote = |c: char| matches!(c, '`' | '"' | '\'');
    let may_stand_beside = |beside: Option<char>| match beside {
        Some(c) if is_plain => is_quote(c),
        Some(c) => !is_part(c),
        None => !is_plain,
    };
    !name.is_empty()
        && text.match_indices(name).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            may_stand_beside(before) && may_stand_beside(after)
        })
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
        let reason = |now: &TestSummary, task| broken(&before, Some(now), task);

        let deleted = tests(&["src/lib.rs - add (line 9)"], &[]);
        let why = reason(&deleted, "mend the cart").unwrap();
        assert_eq!(why.reason, "1 test that was executed before is gone");
        assert_eq!(why.tests, [BEFORE[0]]);
        assert_eq!(reason(&deleted, "remove the obsolete `test_total`"), None);

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
            broken(&before, None, "")
                .unwrap()
                .reason
                .contains("shows no tests")
        );
    }

    #[test]
    fn a_plain_word_names_a_test_in_quotes_alone() {
        for task in ["fix total() in calc.js", "the total is wrong", "total"] {
            assert!(!names(task, "total"), "{task}");
        }
        assert!(names("drop the test `total`", "total"));
        assert!(names("drop test_total, it is obsolete", "test_total"));
        assert!(names("the test that adds up may go", "adds up"));
        assert!(!names("drop test_totals", "test_total"));
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
        assert_eq!(broken(&before, Some(&numbers(6, 1)), ""), None);
        assert!(
            broken(&before, Some(&numbers(4, 1)), "")
                .unwrap()
                .reason
                .contains("executed 4")
        );
        assert!(
            broken(&before, Some(&numbers(5, 2)), "")
                .unwrap()
                .reason
                .contains("skipped 2")
        );
    }
}
