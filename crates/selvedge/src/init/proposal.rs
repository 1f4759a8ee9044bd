//! Proposed checks, and the ecosystems that propose them.

use selvedge_core::model::{Step, StepKind};

use super::ecosystems;
use super::files::{RepositoryDirectory, RepositoryFiles};

/// The purpose of a check, in the order in which checks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckRole {
    Test,
    Types,
    Lint,
    Format,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) role: CheckRole,
    pub(crate) step: Step,
    /// The file that suggests the check, relative to the root.
    pub(crate) found_in: String,
    /// The command that installs what the check needs, if it may have to be run first.
    pub(crate) install: Option<String>,
    /// Assignments of the environment variables that CI sets for it, to be put before the command if that fails without
    /// them.
    pub(crate) variables: Option<String>,
    /// Other commands for the same purpose: each is tried if none before it can be used.
    pub(crate) alternatives: Vec<Proposal>,
    /// Whether nothing in the repository asks for the check: it is only common for projects of this kind.
    pub(crate) is_guess: bool,
    /// The commands of other proposals that run this one, too.
    pub(crate) contained_in: Vec<String>,
}

/// A family of tools that belong together.
pub(super) struct Ecosystem {
    /// Proposes checks for a directory; empty if it is not a project of this kind.
    pub(super) detect: fn(&RepositoryDirectory<'_>) -> Vec<Proposal>,
    /// Whether a project (first argument) already checks a directory below it (second argument), so that nothing is
    /// proposed for the latter.
    pub(super) covers: fn(&RepositoryDirectory<'_>, &RepositoryDirectory<'_>) -> bool,
    /// Whether to propose only checks with roles that no other ecosystem covers: a task named `test` usually runs tests
    /// that were already found.
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
            install: None,
            variables: None,
            alternatives: Vec::new(),
            is_guess: false,
            contained_in: Vec::new(),
        }
    }

    /// Marks a check that nothing in the repository asks for.
    pub(super) fn guessed(self) -> Self {
        Self {
            is_guess: true,
            ..self
        }
    }

    /// The first of these proposals, with the others as its alternatives.
    pub(super) fn first_usable(proposals: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut proposals = proposals.into_iter();
        let mut first = proposals.next()?;
        for other in proposals {
            first.add_alternative(other);
        }
        Some(first)
    }

    /// Adds a proposal for the same purpose, to be tried after the existing ones, unless its command is among them.
    pub(super) fn add_alternative(&mut self, mut other: Self) {
        let further = std::mem::take(&mut other.alternatives);
        for other in std::iter::once(other).chain(further) {
            let mut known = std::iter::once(&*self).chain(&self.alternatives);
            if known.all(|known| !known.is_same_command(&other)) {
                self.alternatives.push(other);
            }
        }
    }

    /// Whether both run the same command: `npm run test` is `npm test`.
    fn is_same_command(&self, other: &Self) -> bool {
        let short = |proposal: &Self| proposal.step.target.replace(" run test", " test");
        short(self) == short(other)
    }

    /// Adds the command that installs what the check needs.
    pub(super) fn with_install(self, install: Option<String>) -> Self {
        Self { install, ..self }
    }
}

/// Proposes checks for a repository: by directory, then in the order of their roles.
pub(super) fn propose_checks(files: &RepositoryFiles) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for path in files.directories() {
        let directory = files.directory(path);
        let mut directory_proposals: Vec<Proposal> = Vec::new();
        for ecosystem in &ecosystems::ALL {
            if directory
                .ancestors()
                .any(|above| (ecosystem.covers)(&above, &directory))
            {
                continue;
            }
            let mut detected = (ecosystem.detect)(&directory);
            if ecosystem.fills_gaps {
                detected.retain(|proposal| {
                    directory_proposals
                        .iter()
                        .all(|other| other.role != proposal.role)
                });
            }
            directory_proposals.append(&mut detected);
        }
        directory_proposals.sort_by_key(|proposal| proposal.role);
        proposals.append(&mut directory_proposals);
    }
    proposals
}
