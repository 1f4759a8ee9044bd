//! Known failures, which are excused.

use std::collections::BTreeSet;

use selvedge_digest::Failure;

use super::unrun_tests::find_unrun_reason;
use crate::comparison::message::{fails_alike, is_about};
use crate::comparison::signature::is_within;
use crate::comparison::test_regression;
use crate::format::counted;
use crate::model::{CheckReport, CheckStatus, KnownFailures, StepKind};

/// The known failures of a check whose test or location is in one of these files: they are not excused.
pub fn find_touched(known: &KnownFailures, changed: &[String], check: &CheckReport) -> Vec<String> {
    if !check.status.is_failure() || known.ids().is_empty() {
        return Vec::new();
    }
    let is_changed = |place: &str| changed.iter().any(|path| names_file(place, path));
    let is_touched = |id: &String| {
        let records = check.failures.iter().filter(|record| is_about(record, id));
        is_changed(id) || records.filter_map(|it| it.file.as_deref()).any(is_changed)
    };
    if let Some(failed) = failed_ids(check) {
        let listed = failed.into_iter().filter(|id| known.contains(id));
        return listed.filter(is_touched).collect();
    }
    let label = check.label();
    let mut files = check.failures.iter().filter_map(|it| it.file.as_deref());
    let is_touched = known.contains(label) && files.any(is_changed);
    is_touched.then(|| label.to_owned()).into_iter().collect()
}

/// The failures of a check as a list of known failures names them: its failed tests, or its label if it executes none.
/// An error is the reason why listing them would have no effect.
pub fn list_failures(check: &CheckReport) -> Result<Vec<String>, &'static str> {
    let failed = check.tests.as_ref().filter(|tests| tests.failed > 0);
    match failed {
        Some(tests) if !tests.names_failed() => {
            return Err("the test runner does not name all failed tests");
        }
        None if !executes_tests(check) => return Ok(vec![check.label().to_owned()]),
        _ => {}
    }
    if let Some(reason) = find_unrun_reason(check) {
        return Err(reason);
    }
    Ok(match failed {
        Some(tests) => tests.failed_ids.ids.clone(),
        None => vec![check.label().to_owned()],
    })
}

/// Lists the known failures of a check, and lets it pass if it has no other failures and its other tests were executed.
pub fn excuse_known_failures(
    known: &KnownFailures,
    before: Option<&CheckReport>,
    check: &mut CheckReport,
) {
    let may_be_known = check.status == CheckStatus::Fail && !check.marks.weakened;
    if !may_be_known || known.ids().is_empty() {
        return;
    }
    let is_listed = |id: &str| known.contains(id) && !check.touched_tests.iter().any(|it| it == id);
    let Some(failed) = failed_ids(check) else {
        let label = check.label().to_owned();
        let fails_alike = before.is_some_and(|before| {
            let says_what = !check.failures.is_empty();
            before.status.is_failure() && says_what && is_within(check, before)
        });
        if !is_listed(&label) || !fails_alike {
            return;
        }
        if let Err(reason) = list_failures(check) {
            explain_blocking(check, reason);
            return;
        }
        check.known_tests = vec![label];
        mark_passed(check, "a known failure");
        return;
    };
    let failed_before = before.map(|before| {
        let comparable = before.tests.as_ref().zip(check.tests.as_ref());
        let comparable = comparable.is_some_and(|(then, now)| then.has_same_readers(now));
        let ids = failed_ids(before).filter(|_| comparable);
        (before, ids.unwrap_or_default())
    });
    let is_excused = |id: &&String| {
        let fails_alike = failed_before
            .as_ref()
            .is_none_or(|(before, ids)| ids.contains(*id) && fails_alike(before, check, id));
        is_listed(id) && fails_alike
    };
    let excused: Vec<String> = failed.iter().filter(is_excused).cloned().collect();
    if !excused.is_empty()
        && let Some(reason) = find_unrun_reason(check)
    {
        explain_blocking(check, reason);
        return;
    }
    let by_tests_alone = excused.len() == failed.len()
        && check.failures.iter().all(|record| {
            let is_of_test = excused.iter().any(|id| is_about(record, id));
            is_of_test
                || before
                    .is_some_and(|it| it.failures.iter().any(|old| has_same_message(old, record)))
        });
    check.known_tests = excused;
    if by_tests_alone {
        let count = counted(check.known_tests.len() as u64, "known failure");
        mark_passed(check, &format!("fails only with {count}"));
    }
}

/// Whether a check shows tests, or must.
fn executes_tests(check: &CheckReport) -> bool {
    check.kind == StepKind::TestPasses || check.tests.is_some()
}

fn explain_blocking(check: &mut CheckReport, reason: &str) {
    let why = format!("a known failure is not excused: {reason}");
    match &mut check.reason {
        Some(reason) if reason.contains(&why) => {}
        Some(reason) => *reason = format!("{reason}; {why}"),
        None => check.reason = Some(why),
    }
}

fn mark_passed(check: &mut CheckReport, reason: &str) {
    check.status = CheckStatus::Pass;
    check.marks.preexisting = true;
    check.reason = Some(reason.to_owned());
    check.digest = None;
}

fn has_same_message(one: &Failure, other: &Failure) -> bool {
    (&one.id, &one.file, &one.code, &one.summary)
        == (&other.id, &other.file, &other.code, &other.summary)
}

/// The failed tests, if the check names all of them.
fn failed_ids(check: &CheckReport) -> Option<BTreeSet<String>> {
    let tests = check.tests.as_ref()?;
    (tests.failed > 0 && tests.names_failed())
        .then(|| test_regression::ids(&tests.failed_ids).collect())
}

/// Whether an id or a path refers to a file: `tests/a.py::test`, `./tests/a.py`, `tests.a.Test.test` and
/// `a::tests::test` refer to `tests/a.py`, `a.rs` and the like.
fn names_file(place: &str, path: &str) -> bool {
    let place = place.strip_prefix("./").unwrap_or(place);
    let follows =
        |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    let is_path = |from: usize| {
        let rest = place.get(from..).and_then(|it| it.strip_prefix(path));
        rest.is_some_and(follows)
    };
    let mut begins = std::iter::once(0).chain(place.match_indices('/').map(|(at, _)| at + 1));
    if begins.any(is_path) {
        return true;
    }
    let is_end_of_path = path
        .strip_suffix(place)
        .is_some_and(|folder| folder.ends_with('/'));
    if is_end_of_path {
        return true;
    }
    let Some((stem, _)) = path.rsplit_once('.') else {
        return false;
    };
    let module = stem.replace('/', ".");
    let dotted = place.replace("::", ".");
    let mut ends = dotted.match_indices('.').map(|(at, _)| &dotted[..at]);
    let is_module = |prefix: &str| {
        let rest = module.strip_suffix(prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    ends.any(is_module) || is_module(&dotted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_test_from_id_or_location() {
        for (place, path) in [
            ("tests/test_cart.py::test_total", "tests/test_cart.py"),
            ("/home/me/app/tests/test_cart.py", "tests/test_cart.py"),
            ("./spec/cart_spec.rb[1:2]", "spec/cart_spec.rb"),
            ("src/cart.test.js › cart › total", "src/cart.test.js"),
            ("tests.test_cart.Cart.test_total", "tests/test_cart.py"),
            (
                "com.acme.CartTest.total",
                "src/test/java/com/acme/CartTest.java",
            ),
            ("cart::tests::total", "src/cart.rs"),
            ("cart_test.go", "shop/cart_test.go"),
        ] {
            assert!(names_file(place, path), "{place} {path}");
        }
        for (place, path) in [
            ("tests/test_cart.py::test_total", "test_cart.py.orig"),
            ("tests/test_cart.py::test_total", "tests/test_cart"),
            ("tests/test_cart.py::test_total", "cart.py"),
            ("tests.test_cart.Cart.test_total", "src/cart.py"),
            ("cart::tests::total", "src/shop/wish.rs"),
            ("subcart_test.go", "shop/cart_test.go"),
        ] {
            assert!(!names_file(place, path), "{place} {path}");
        }
    }
}
