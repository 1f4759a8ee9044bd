//! Files that a person protects by globs.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;

use super::ChangedFile;
use super::finding::{Action, Finding, FindingKind, Policy, Rule, Strength};

/// A glob that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{glob}` is not a glob: {why}")]
pub struct BadGlob {
    /// As it was written.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

/// The globs that a person protects, each with its policy, and those that the task allows to change all the same.
#[derive(Debug, Clone)]
pub struct Protection {
    globs: GlobSet,
    policies: Vec<Policy>,
    allowed: GlobSet,
}

impl Protection {
    /// The last rule that fits a path holds.
    ///
    /// # Errors
    /// A glob does not parse.
    pub fn new(rules: &[Rule], allow: &[String]) -> Result<Self, BadGlob> {
        Ok(Self {
            globs: set(rules.iter().map(|rule| rule.glob.as_str()), Case::Ignored)?,
            policies: rules.iter().map(|rule| rule.policy).collect(),
            allowed: set(allow.iter().map(String::as_str), Case::Kept)?,
        })
    }

    /// Whether a changed file at this path fails the attempt, or is reverted.
    pub fn protects(&self, path: &str) -> bool {
        self.policy(path).is_some()
    }

    fn policy(&self, path: &str) -> Option<Policy> {
        if self.policies.is_empty() || self.allowed.is_match(path) {
            return None;
        }
        let matching = self.globs.matches(path.to_lowercase());
        let policy = matching
            .into_iter()
            .next_back()
            .map(|index| self.policies[index]);
        policy.filter(|policy| *policy != Policy::Allow)
    }

    /// What becomes of a changed file, if it is protected.
    pub(super) fn inspect(&self, change: &ChangedFile<'_>) -> Option<Finding> {
        let policy = self.policy(change.path)?;
        let (kind, what) = match (change.before, change.after) {
            (None, _) => (
                FindingKind::ProtectedPlanted,
                "a file was added to the protected ones",
            ),
            (_, None) => (
                FindingKind::ProtectedRemoved,
                "a protected file was removed",
            ),
            _ => (
                FindingKind::ProtectedChanged,
                "a protected file was changed",
            ),
        };
        let (action, consequence) = match (policy, change.before) {
            (Policy::Fail, _) => (Action::Fail, "it must not be changed"),
            (_, None) => (Action::Remove, "removed before the checks ran"),
            _ => (Action::PutBack, "reverted before the checks ran"),
        };
        Some(Finding {
            path: change.path.to_owned(),
            line: None,
            kind,
            strength: Strength::Offence,
            what: format!("{what}; {consequence}"),
            action,
        })
    }
}

/// Globs by themselves, read as those of a [`Protection`] are, and taken to the letter.
#[derive(Debug, Clone)]
pub struct Globs(GlobSet);

impl Globs {
    /// Refuses the first one that does not parse.
    pub fn new(globs: &[String]) -> Result<Self, BadGlob> {
        set(globs.iter().map(String::as_str), Case::Kept).map(Self)
    }

    /// Whether one of them fits a path, which has `/` between its parts.
    pub fn fit(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Whether a set of globs tells `Makefile` from `makefile`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Kept,
    /// The globs are held in lower case, and so must be the paths. The library's own way makes a
    /// regular expression of each glob, twenty times as slow to compile.
    Ignored,
}

/// A glob without a `/` holds in every directory, any other one from the workspace's root; one that
/// ends with `/` means all that is in that directory. Protection ignores case, as the file systems
/// of some machines do; what a task allows is taken to the letter.
fn set<'a>(globs: impl IntoIterator<Item = &'a str>, case: Case) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let mut pattern = glob.strip_prefix("./").unwrap_or(glob).to_owned();
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        if !pattern.contains('/') {
            pattern.insert_str(0, "**/");
        }
        if case == Case::Ignored {
            pattern = pattern.to_lowercase();
        }
        let built = GlobBuilder::new(pattern.trim_start_matches('/'))
            .literal_separator(true)
            .build();
        set.add(built.map_err(|error| BadGlob {
            glob: glob.to_owned(),
            why: error.kind().to_string(),
        })?);
    }
    set.build().map_err(|error| BadGlob {
        glob: error.glob().unwrap_or_default().to_owned(),
        why: error.kind().to_string(),
    })
}
