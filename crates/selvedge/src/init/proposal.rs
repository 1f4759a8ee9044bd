//! A check that detection proposes, and the ecosystems that propose them.

use selvedge_core::model::{Step, StepKind};

use super::ecosystems;
use super::files::{RepositoryDirectory, RepositoryFiles};

/// What a check is for. In the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckRole {
    /// Runs the tests.
    Test,
    /// Checks types.
    Types,
    /// Looks for mistakes.
    Lint,
    /// Looks at the format.
    Format,
}

/// A check that fits the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// What it is for.
    pub(crate) role: CheckRole,
    /// The check.
    pub(crate) step: Step,
    /// The file that it was concluded from, from the root.
    pub(crate) found_in: String,
}

/// A family of tools that belong together.
pub(super) struct Ecosystem {
    /// The checks that fit a directory, if it is a project of this kind.
    pub(super) detect: fn(&RepositoryDirectory<'_>) -> Vec<Proposal>,
    /// Whether a project (first argument) sees to another further down itself, so that nothing need
    /// be proposed for that one.
    pub(super) covers: fn(&RepositoryDirectory<'_>, &RepositoryDirectory<'_>) -> bool,
    /// Whether it is only asked for what the others have no check for: a task `test` mostly runs
    /// the very tests that were found already.
    pub(super) fills_gaps: bool,
}

impl Proposal {
    /// A check that runs `command` in a directory.
    pub(super) fn new(
        at: &RepositoryDirectory<'_>,
        role: CheckRole,
        name: &str,
        command: impl Into<String>,
        found_in: &str,
    ) -> Self {
        let kind = if role == CheckRole::Test {
            StepKind::TestPasses
        } else {
            StepKind::Command
        };
        let mut step = Step::new(kind, command);
        let found_in = if at.path.is_empty() {
            step.name = Some(name.to_owned());
            found_in.to_owned()
        } else {
            step.name = Some(format!("{}: {name}", at.path));
            step.directory = Some(at.path.to_owned());
            format!("{}/{found_in}", at.path)
        };
        Self {
            role,
            step,
            found_in,
        }
    }
}

/// The checks that fit a repository: directory by directory, tests before types before lints.
pub(super) fn propose_checks(files: &RepositoryFiles) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for path in files.directories() {
        let directory = files.directory(path);
        let mut here: Vec<Proposal> = Vec::new();
        for ecosystem in &ecosystems::ALL {
            if directory
                .ancestors()
                .any(|above| (ecosystem.covers)(&above, &directory))
            {
                continue;
            }
            let mut found = (ecosystem.detect)(&directory);
            if ecosystem.fills_gaps {
                found.retain(|proposal| here.iter().all(|other| other.role != proposal.role));
            }
            here.append(&mut found);
        }
        here.sort_by_key(|proposal| proposal.role);
        proposals.append(&mut here);
    }
    proposals
}
