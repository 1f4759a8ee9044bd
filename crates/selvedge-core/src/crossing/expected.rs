//! Changes of tests that the task says are to be expected.

use std::collections::BTreeSet;

use crate::guard::Globs;
use crate::machine::floors;
use crate::model::{CheckReport, CheckStatus};
use crate::words::counted;

use super::sides::CrossedFile;

/// Files and tests whose changes count, because the task declares them. Nothing else is excused.
#[derive(Debug, Clone, Default)]
pub struct ExpectedChanges<'a> {
    /// Globs of files, and ids of tests: one of the two fits.
    entries: &'a [String],
}

impl<'a> ExpectedChanges<'a> {
    /// Reads what a task declares.
    pub fn new(entries: &'a [String]) -> Self {
        Self { entries }
    }

    /// Takes the files out that the task expects to change; gives back their paths.
    pub fn take_files(&self, files: &mut Vec<CrossedFile>) -> Vec<String> {
        // An id of a test need not parse as a glob.
        let globs: Vec<Globs> = self
            .entries
            .iter()
            .filter_map(|entry| Globs::new(std::slice::from_ref(entry)).ok())
            .collect();
        let taken = files.extract_if(.., |file| globs.iter().any(|glob| glob.fit(&file.path)));
        taken.map(|file| file.path).collect()
    }

    /// Whether a test is one of those, or a case of one.
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

    /// Lets a check pass that fails by nothing but tests that the task expects to change.
    pub fn excuse(&self, check: &mut CheckReport) {
        let Some(failed) = named_failures(check).filter(|_| check.status == CheckStatus::Fail)
        else {
            return;
        };
        if failed.iter().all(|id| self.has_test(id)) {
            let count = counted(failed.len() as u64, "test");
            check.status = CheckStatus::Pass;
            check.reason = Some(format!("{count} failed that the task expects to change"));
            check.digest = None;
        }
    }
}

/// The ids of the tests that failed, where the check names all of them and fails by nothing else.
pub(super) fn named_failures(check: &CheckReport) -> Option<BTreeSet<String>> {
    let tests = check.tests.as_ref()?;
    let fails_by_tests = tests.failed > 0 && tests.complete && tests.names_failed();
    fails_by_tests.then(|| floors::ids(&tests.failed_ids).collect())
}
