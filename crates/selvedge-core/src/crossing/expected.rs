//! Test changes that a task declares as expected.

use std::collections::BTreeSet;

use crate::comparison::test_regression;
use crate::format::counted;
use crate::guard::{GlobError, Globs};
use crate::machine::find_stop_reason;
use crate::model::{CheckReport, CheckStatus, CrossedReport};

use super::sides::CrossedFile;

/// Files and tests whose changes are accepted because the task declares them. No other change is.
#[derive(Debug, Clone, Default)]
pub struct ExpectedChanges<'a> {
    /// Globs of files and ids of tests; each entry matches as either.
    entries: &'a [String],
}

impl<'a> ExpectedChanges<'a> {
    /// Creates it from a task's declaration.
    pub fn new(entries: &'a [String]) -> Self {
        Self { entries }
    }

    /// Rejects an entry that can be neither a glob nor the id of a test: it would have no effect.
    pub fn check(entries: &[String]) -> Result<(), GlobError> {
        for entry in entries {
            if entry.trim().is_empty() {
                let (glob, why) = (entry.clone(), "it is empty".to_owned());
                return Err(GlobError { glob, why });
            }
            Globs::new(std::slice::from_ref(entry))
                .map(drop)
                .or_else(|bad| is_id(entry).then_some(()).ok_or(bad))?;
        }
        Ok(())
    }

    /// The entries that had no effect on work that passed its checks. `crossed` is the result of the original tests;
    /// `None` if nothing on the test side differs. With a result, test ids are left out: they may apply to tests that
    /// did not run.
    pub fn unmatched(&self, crossed: Option<&CrossedReport>) -> Vec<&'a str> {
        let is_matched = |entry: &String| {
            let Some(crossed) = crossed else {
                return false;
            };
            let is_cut = crossed.expected_files.len() >= CrossedReport::MAX_LISTED;
            let fits = Globs::new(std::slice::from_ref(entry)).is_ok_and(|glob| {
                crossed
                    .expected_files
                    .iter()
                    .any(|path| glob.is_match(path))
            });
            is_cut || fits || is_id(entry) || {
                let failed = crossed.checks.iter().filter_map(named_failures);
                let one = ExpectedChanges::new(std::slice::from_ref(entry));
                failed.flatten().any(|id| one.has_test(&id))
            }
        };
        let unmatched = self.entries.iter().filter(|entry| !is_matched(entry));
        unmatched.map(String::as_str).collect()
    }

    /// Removes the files that the task expects to change, and returns their paths.
    pub fn extract_files(&self, files: &mut Vec<CrossedFile>) -> Vec<String> {
        // An id of a test need not parse as a glob.
        let globs: Vec<Globs> = self
            .entries
            .iter()
            .filter_map(|entry| Globs::new(std::slice::from_ref(entry)).ok())
            .collect();
        let taken = files.extract_if(.., |file| {
            globs.iter().any(|glob| glob.is_match(&file.path))
        });
        taken.map(|file| file.path).collect()
    }

    /// Whether the task declares this test, or the parametrized test that it is a case of.
    pub fn has_test(&self, id: &str) -> bool {
        let ends = |rest: &str| {
            rest.is_empty()
                || ["[", "::", "/", " > ", " › "]
                    .iter()
                    .any(|it| rest.starts_with(it))
        };
        let mut entries = self.entries.iter().filter(|entry| !entry.is_empty());
        entries.any(|entry| id.strip_prefix(entry.as_str()).is_some_and(ends))
    }

    /// Lets a check pass if all of its failures are tests that the task expects to change.
    pub fn excuse(&self, check: &mut CheckReport) {
        let Some(failed) = named_failures(check).filter(|_| check.status == CheckStatus::Fail)
        else {
            return;
        };
        if failed.iter().all(|id| self.has_test(id)) && find_stop_reason(check).is_none() {
            let count = counted(failed.len() as u64, "test");
            check.status = CheckStatus::Pass;
            check.reason = Some(format!("{count} failed that the task expects to change"));
            check.digest = None;
        }
    }
}

/// Whether an entry looks like a test id of some runner, which need not parse as a glob.
fn is_id(entry: &str) -> bool {
    entry.contains(char::is_whitespace) || ["::", "#", "›"].iter().any(|it| entry.contains(it))
}

/// The ids of the failed tests, if the check names all of them and has no other failure.
pub(super) fn named_failures(check: &CheckReport) -> Option<BTreeSet<String>> {
    let tests = check.tests.as_ref()?;
    let fails_by_tests = tests.failed > 0 && tests.complete && tests.names_failed();
    fails_by_tests.then(|| test_regression::ids(&tests.failed_ids).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossing::report_all_expected;

    fn entries(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|&entry| entry.to_owned()).collect()
    }

    #[test]
    fn expected_changes_reject_invalid_entries() {
        let good = entries(&[
            "tests/*.py",
            "tests/test_a.py::test_b[x-[1]",
            "suite › handles a [ in its input",
            "test_greet",
        ]);
        ExpectedChanges::check(&good).unwrap();
        for bad in ["tests/[a-.py", "tests/{a,b.py", "", " "] {
            let refused = ExpectedChanges::check(&entries(&["tests/*", bad]));
            assert_eq!(refused.unwrap_err().glob, bad);
        }
    }

    #[test]
    fn expected_changes_name_unmatched_entries() {
        let declared = entries(&["tests/*_a.py", "tests/*_b.py", "tests/test_c.py::test_d"]);
        let declared = ExpectedChanges::new(&declared);
        assert_eq!(declared.unmatched(None).len(), 3);
        let crossed = report_all_expected(entries(&["tests/test_a.py"]));
        assert_eq!(declared.unmatched(Some(&crossed)), ["tests/*_b.py"]);
    }
}
