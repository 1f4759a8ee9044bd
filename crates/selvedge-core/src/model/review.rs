//! A person's review: the reviewed work, and the decision.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::TreeId;

/// The work that a review decides on. Absent parts are unknown, or were not named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewTarget {
    /// The attempt, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The tree that the attempt left, after protected files were reverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
}

/// The work that is awaiting review is not what the reviewer named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{named} was reviewed, but {current} is awaiting review now; nothing was recorded")]
pub struct StaleReviewError {
    /// The work that the reviewer named.
    pub named: ReviewTarget,
    /// The work that is awaiting review.
    pub current: ReviewTarget,
}

impl ReviewTarget {
    /// Accepts a review of this work: every part that the reviewer named must be the same.
    pub fn check(&self, named: &Self) -> Result<(), StaleReviewError> {
        let attempt = named.attempt.is_none() || named.attempt == self.attempt;
        let tree = named.tree.is_none() || named.tree == self.tree;
        if attempt && tree {
            return Ok(());
        }
        Err(StaleReviewError {
            named: named.clone(),
            current: self.clone(),
        })
    }
}

impl fmt::Display for ReviewTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.attempt, &self.tree) {
            (Some(attempt), Some(tree)) => write!(f, "attempt {attempt} (tree {tree})"),
            (Some(attempt), None) => write!(f, "attempt {attempt}"),
            (None, Some(tree)) => write!(f, "tree {tree}"),
            (None, None) => f.write_str("work without a known tree"),
        }
    }
}

/// A person's decision on work that was awaiting review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRecord {
    /// Whether the work was accepted.
    #[serde(default)]
    pub accepted: bool,
    /// The reviewer: on a hub the name of their token, otherwise the user of the machine.
    pub by: String,
    /// The name that the request gave; not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_by: Option<String>,
    /// The reason that they gave.
    #[serde(default)]
    pub reason: String,
    /// The work that was decided on.
    #[serde(flatten)]
    pub target: ReviewTarget,
}

impl ReviewRecord {
    /// The decision in one line, as the reason of an outcome.
    pub fn summary(&self) -> String {
        let verb = if self.accepted {
            "accepted"
        } else {
            "rejected"
        };
        match self.reason.trim() {
            "" => format!("{verb} by {}", self.by),
            reason => format!("{verb} by {}: {reason}", self.by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(attempt: Option<u32>, tree: Option<&str>) -> ReviewTarget {
        ReviewTarget {
            attempt,
            tree: tree.map(TreeId::of_name),
        }
    }

    #[test]
    fn review_target_accepts_only_what_is_named_and_equal() {
        let current = target(Some(2), Some("bb"));
        for named in [
            target(None, None),
            target(Some(2), None),
            target(None, Some("bb")),
            target(Some(2), Some("bb")),
        ] {
            assert_eq!(current.check(&named), Ok(()), "{named}");
        }
        for named in [
            target(Some(1), None),
            target(Some(2), Some("aa")),
            target(Some(1), Some("bb")),
        ] {
            current.check(&named).unwrap_err();
        }
        target(Some(1), None)
            .check(&target(None, Some("aa")))
            .unwrap_err();
    }
}
