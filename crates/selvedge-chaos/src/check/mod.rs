//! The twelve invariants. Each one is a function from a history to its violations.

mod budget;
mod cancels;
mod costs;
mod endings;
mod epochs;
mod fencing;
mod logs;
mod overlaps;
mod reports;
mod runs;
mod submits;
mod terminals;

use std::fmt;

use crate::history::History;

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Number of the invariant, 1 to 12.
    pub invariant: u8,
    /// Description of the violation, with the ids concerned.
    pub description: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, statement, _) = INVARIANTS[usize::from(self.invariant) - 1];
        write!(
            f,
            "invariant {} ({statement}): {}",
            self.invariant, self.description
        )
    }
}

type InvariantCheck = fn(&History) -> Vec<String>;

/// Number, statement and check function of each invariant.
pub const INVARIANTS: [(u8, &str, InvariantCheck); 12] = [
    (
        1,
        "acknowledged submits exist, one task per key",
        submits::check,
    ),
    (2, "every task ends after faults stop", endings::check),
    (
        3,
        "at most one live lease per task; epochs increase",
        epochs::check,
    ),
    (
        4,
        "no two workers run one task at the same time",
        overlaps::check,
    ),
    (5, "an earlier epoch changes nothing", fencing::check),
    (6, "terminal states never change", terminals::check),
    (
        7,
        "attempts are numbered 1..n; every agent session belongs to one",
        runs::check,
    ),
    (
        8,
        "one immutable report per finished attempt",
        reports::check,
    ),
    (
        9,
        "only reports count against the retry limit",
        budget::check,
    ),
    (10, "the recorded cost is the provider's", costs::check),
    (
        11,
        "the log is append-only and reproduces the state",
        logs::check,
    ),
    (
        12,
        "a cancelled task starts nothing; slots and priorities are respected",
        cancels::check,
    ),
];

/// Returns all violations in a history.
pub fn check(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (invariant, _, check) in INVARIANTS {
        let descriptions = check(history);
        violations.extend(descriptions.into_iter().map(|description| Violation {
            invariant,
            description,
        }));
    }
    violations
}
