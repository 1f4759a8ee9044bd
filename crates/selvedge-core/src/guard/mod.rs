//! The guard: what notices that work passed by weakening the checks instead of by being right.
//!
//! Two looks at every changed file, both pure (bytes and paths in, findings out). `parts` holds
//! protected files (runner configuration, CI, build targets) against what they were, by the parts
//! that decide how checks run, so that adding a dependency or a fixture is no offence. `flags`
//! reads the added and removed lines of sources and tests for the known tricks; a flag is something
//! for a person or a higher tier to weigh, never a verdict. What leaves no trace in the files
//! (special-casing the tested inputs) cannot be seen here, and `docs/trust.md` says so.
//!
//! No bytes make this panic, and its work is linear in their number.

mod builtin;
mod diff;
mod finding;
mod flags;
mod inherited;
mod mask;
mod mention;
mod parts;
mod pattern;
mod protection;
mod scripts;
mod text;

pub(crate) use mention::Words;

pub use finding::{Action, Finding, FindingKind, Policy, Rule, Strength};
pub use inherited::files_to_restore;
pub use protection::{BadGlob, Globs, Protection};
pub use scripts::scripts_of;

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

/// Judges the changes of an attempt together: findings in the order of the paths, then the lines.
///
/// All changes are to be handed in at once, because a line that moved from one file to another is
/// no new line.
pub fn inspect(protection: &Protection, changes: &[ChangedFile<'_>]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = changes
        .iter()
        .filter(|change| change.before != change.after)
        .flat_map(|change| parts::inspect(protection, change))
        .collect();
    findings.extend(flags::inspect(protection, changes, &findings));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    findings
}

#[cfg(test)]
mod tests;
