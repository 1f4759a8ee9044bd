//! Attempts that repeat the failures of earlier ones.

use super::state::{Attempt, Run};
use crate::comparison::signature::has_same_failures;

impl Run {
    /// Whether the last two reports show the same failures on the same tree. Always false without snapshots, as the
    /// trees are unknown, and when a different agent takes over.
    pub(crate) fn is_stuck(&self) -> bool {
        let mut latest = self.verified_attempts().rev();
        let (Some((one, last)), Some((two, before))) = (latest.next(), latest.next()) else {
            return false;
        };
        let spec = &self.spec;
        let passes_on = spec.agent_of(one.retry) != spec.agent_of(one.retry + 1);
        let is_same = one.tree.is_some() && one.tree == two.tree;
        is_same && !passes_on && has_same_failures(last, before)
    }

    /// The latest earlier attempt with exactly the same failures as now and other failures in between: the work
    /// oscillates.
    pub(crate) fn oscillates_with(&self) -> Option<&Attempt> {
        let mut latest = self.verified_attempts().rev();
        let (_, last) = latest.next()?;
        let mut between = false;
        for (attempt, report) in latest {
            if !has_same_failures(report, last) {
                between = true;
            } else if between {
                return Some(attempt);
            } else {
                return None;
            }
        }
        None
    }
}
