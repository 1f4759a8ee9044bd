//! The guard: files that a person protects, and flags on sources that attack the test runner.
//!
//! An attempt's changes of tests and of the configuration of checks have no effect, because the checks run again with
//! the original ones (see [`crate::crossing`]). Three cases remain. A person may protect files by globs. A source may
//! attack the checks: end the process early, replace an assertion, or detect whether a test is running. And a lock file
//! may install another test runner. New lines and sources of this kind are flagged for a person to assess.
//!
//! The guard does not panic on any input, and its running time is linear.

mod diff;
mod flags;
mod mask;
mod pattern;
mod protection;
mod scripts;
mod text;

pub(crate) use mask::SourceViews;
pub(crate) use pattern::Pattern;
pub(crate) use scripts::{command_words, commands_of, program_of, scripts_of, words_of};
pub(crate) use text::{HELPER_NAME, SourceLanguage, is_test_path, language};

pub use flags::KnownDiagnostic;
pub use protection::{GlobError, Globs, Protection};
pub use text::is_scanned;

use crate::model::Finding;

/// A file that differs from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct ChangedFile<'a> {
    /// Relative to the workspace, with `/` between its parts.
    pub path: &'a str,
    /// Its content at the start; `None` if it did not exist.
    pub before: Option<&'a [u8]>,
    /// Its current content; `None` if it no longer exists.
    pub after: Option<&'a [u8]>,
}

/// Inspects all changes of an attempt: returns findings ordered by path and line. `diagnostics` are those that linters
/// and type checkers reported before the attempt.
///
/// All changes must be passed in one call, because a line that moved from one file to another is not new.
pub fn inspect(
    protection: &Protection,
    changes: &[ChangedFile<'_>],
    diagnostics: &[KnownDiagnostic],
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = changes
        .iter()
        .filter(|change| change.before != change.after)
        .filter_map(|change| protection.inspect(change))
        .collect();
    findings.extend(flags::inspect(changes, &findings, diagnostics));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    findings
}

#[cfg(test)]
mod tests;
