//! Files that a person protects by globs.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;

use super::ChangedFile;
use crate::model::{
    Finding, FindingAction, FindingKind, FindingSeverity, ProtectionPolicy, ProtectionRule,
};

/// A glob that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid glob `{glob}`: {why}")]
pub struct GlobError {
    /// The glob as written.
    pub glob: String,
    /// The problem.
    pub why: String,
}

/// Protected globs with their policies, and globs of files that the task allows to be changed.
#[derive(Debug, Clone)]
pub struct Protection {
    globs: GlobSet,
    policies: Vec<ProtectionPolicy>,
    allowed: GlobSet,
}

impl Protection {
    /// The last rule that matches a path applies.
    ///
    /// # Errors
    /// A glob does not parse.
    pub fn new(rules: &[ProtectionRule], allow: &[String]) -> Result<Self, GlobError> {
        Ok(Self {
            globs: build_glob_set(
                rules.iter().map(|rule| rule.glob.as_str()),
                GlobCase::Insensitive,
            )?,
            policies: rules.iter().map(|rule| rule.policy).collect(),
            allowed: build_glob_set(allow.iter().map(String::as_str), GlobCase::Sensitive)?,
        })
    }

    /// Whether a changed file at this path makes the attempt fail, or is reverted.
    pub fn protects(&self, path: &str) -> bool {
        self.policy(path).is_some()
    }

    fn policy(&self, path: &str) -> Option<ProtectionPolicy> {
        if self.policies.is_empty() || self.allowed.is_match(path) {
            return None;
        }
        let matching = self.globs.matches(path.to_lowercase());
        let policy = matching
            .into_iter()
            .next_back()
            .map(|index| self.policies[index]);
        policy.filter(|policy| *policy != ProtectionPolicy::Allow)
    }

    /// The finding for a changed file, if it is protected.
    pub fn inspect(&self, change: &ChangedFile<'_>) -> Option<Finding> {
        let policy = self.policy(change.path)?;
        let (kind, what) = match (change.before, change.after) {
            (None, _) => (FindingKind::ProtectedAdded, "a protected file was added"),
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
            (ProtectionPolicy::Fail, _) => (FindingAction::Fail, "it must not be changed"),
            (_, None) => (FindingAction::Remove, "removed before the checks ran"),
            _ => (FindingAction::Revert, "reverted before the checks ran"),
        };
        Some(Finding {
            path: change.path.to_owned(),
            line: None,
            kind,
            strength: FindingSeverity::Violation,
            what: format!("{what}; {consequence}"),
            action,
        })
    }
}

/// Globs with the syntax of [`Protection`], matched case-sensitively.
#[derive(Debug, Clone)]
pub struct Globs(GlobSet);

impl Globs {
    /// Fails at the first glob that does not parse.
    pub fn new(globs: &[String]) -> Result<Self, GlobError> {
        build_glob_set(globs.iter().map(String::as_str), GlobCase::Sensitive).map(Self)
    }

    /// Whether one of them matches a path, which has `/` between its parts.
    pub fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Whether globs distinguish `Makefile` from `makefile`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GlobCase {
    Sensitive,
    /// Globs and paths are converted to lower case. The library's own option turns each glob into a regular expression,
    /// which is twenty times slower to compile.
    Insensitive,
}

/// A glob without a `/` applies in every directory, others from the workspace's root; one that ends with `/` matches
/// everything in that directory. Protection ignores case, as some file systems do; the task's permissions are
/// case-sensitive.
fn build_glob_set<'a>(
    globs: impl IntoIterator<Item = &'a str>,
    case: GlobCase,
) -> Result<GlobSet, GlobError> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let mut pattern = glob.strip_prefix("./").unwrap_or(glob).to_owned();
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        if !pattern.contains('/') {
            pattern.insert_str(0, "**/");
        }
        if case == GlobCase::Insensitive {
            pattern = pattern.to_lowercase();
        }
        let built = GlobBuilder::new(pattern.trim_start_matches('/'))
            .literal_separator(true)
            .build();
        set.add(built.map_err(|error| GlobError {
            glob: glob.to_owned(),
            why: error.kind().to_string(),
        })?);
    }
    set.build().map_err(|error| GlobError {
        glob: error.glob().unwrap_or_default().to_owned(),
        why: error.kind().to_string(),
    })
}
