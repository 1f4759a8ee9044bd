//! What was found in a log, ready to be rendered within any budget.

use crate::budget::{Budget, estimate_tokens};
use crate::digester::Exit;
use crate::record::{Failure, TestSummary};

/// What was found in a log.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Analysis {
    /// How the command ended, as the caller said.
    pub exit: Exit,
    /// The failures that were recognised, the first cause first; bounded.
    pub failures: Vec<Failure>,
    /// How many distinct failures there were, those left out of `failures` included.
    pub failures_total: u64,
    /// What the test runners said; none when no runner was recognised.
    pub tests: Option<TestSummary>,
    /// The tools whose formats were recognised, in the order of their appearance.
    pub tools: Vec<String>,
    /// What does not add up: counts that differ from the tool's own totals, output that ends early.
    pub notes: Vec<String>,
    tail: String,
}

/// A rendered digest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digest {
    /// The text for the model.
    pub text: String,
    /// What the text costs at most, see [`estimate_tokens`].
    pub tokens_estimated: usize,
    /// How many failures the text shows.
    pub shown: u64,
    /// How many failures there were.
    pub total: u64,
}

impl Analysis {
    pub(crate) fn new(exit: Exit, tail: String) -> Self {
        Self {
            exit,
            failures: Vec::new(),
            failures_total: 0,
            tests: None,
            tools: Vec::new(),
            notes: Vec::new(),
            tail,
        }
    }

    /// Fits what was found into the budget.
    #[must_use]
    pub fn render(&self, budget: Budget<'_>) -> Digest {
        let mut text = if self.exit.is_success() {
            "passed".to_owned()
        } else {
            self.tail.clone()
        };
        while estimate_tokens(&text) > budget.tokens {
            text.pop();
        }
        Digest {
            tokens_estimated: estimate_tokens(&text),
            text,
            shown: 0,
            total: 0,
        }
    }
}

/// Renders several failed checks within one budget: fair shares, and what one does not need goes
/// to the others. The digests stand in the order of the analyses.
#[must_use]
pub fn render_shared(analyses: &[&Analysis], budget: Budget<'_>) -> Vec<Digest> {
    let share = budget.tokens / analyses.len().max(1);
    analyses
        .iter()
        .map(|a| {
            a.render(Budget {
                tokens: share,
                ..budget
            })
        })
        .collect()
}
