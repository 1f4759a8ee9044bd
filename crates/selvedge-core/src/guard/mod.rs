//! The guard: files that a person protects, and flags on sources that attack the test runner.
//!
//! What an attempt does to tests and to the configuration of checks makes no difference, because the checks run again
//! with the original ones (see [`crate::crossing`]). Two things are left. A person may protect files by globs. And a
//! source may attack what judges it: end the process early, replace an assertion, ask whether a test is running. Such
//! lines, where they are new, are flags for a person to weigh.
//!
//! No bytes make this panic, and its work is linear in their number.

mod diff;
mod finding;
mod flags;
mod mask;
mod pattern;
mod protection;
mod scripts;
mod text;

pub(crate) use mask::SourceViews;
pub(crate) use pattern::Pattern;
pub(crate) use scripts::{scripts_of, words_of};
pub(crate) use text::{HELPER_NAME, SourceLanguage, is_test_path, language};

pub use finding::{
    Finding, FindingAction, FindingKind, FindingSeverity, ProtectionPolicy, ProtectionRule,
};
pub use flags::KnownDiagnostic;
pub use protection::{GlobError, Globs, Protection};
pub use text::is_scanned;

/// A file that differs from the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct ChangedFile<'a> {
    /// Relative to the workspace, with `/` between its parts.
    pub path: &'a str,
    /// Its bytes at the start; `None` when it was not there.
    pub before: Option<&'a [u8]>,
    /// Its bytes now; `None` when it is gone.
    pub after: Option<&'a [u8]>,
}

/// Judges the changes of an attempt together: findings in the order of the paths, then the lines. `diagnostics` are
/// what linters and type checkers reported before the attempt.
///
/// All changes are to be handed in at once, because a line that moved from one file to another is not a new line.
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
