//! What was found in a log, ready to be rendered within any budget.

use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::Budget;
use crate::digester::Exit;
use crate::fallback::{Lines, Passage, rank};
use crate::findings::Outcomes;
use crate::record::{Failure, TestSummary};
use crate::render;

/// What was found in a log.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// How many lines the cleaned log has.
    pub lines: u64,
    /// How many bytes the raw log has.
    pub bytes: u64,
    /// How many lines tell of a failure or a warning, by a known format or by general signals.
    #[serde(skip)]
    pub(crate) telling: u64,
    /// How many unrecognised lines say something of a place in a file.
    #[serde(skip)]
    pub(crate) placed: u64,
    /// The log begins as an XML document does.
    #[serde(skip)]
    pub(crate) document: bool,
    /// The whole cleaned log, if it is small.
    #[serde(skip)]
    pub(crate) whole: Option<String>,
    /// The failures are mere warnings: what failed may be told elsewhere.
    pub warnings_only: bool,
    /// The most telling lines that belong to no recognised failure, in the order of the log.
    #[serde(skip)]
    pub(crate) passages: Vec<Passage>,
}

/// A rendered digest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digest {
    /// The text for the model.
    pub text: String,
    /// What the text costs at most, see [`crate::estimate_tokens`].
    pub tokens_estimated: usize,
    /// How many failures the text shows.
    pub shown: u64,
    /// How many failures there were.
    pub total: u64,
}

impl Analysis {
    pub(crate) fn new(
        exit: Exit,
        bytes: u64,
        whole: Option<String>,
        found: Outcomes,
        lines: Lines,
    ) -> Self {
        let (tests, mut notes) = found.runs.finish();
        notes.extend(found.notes);
        if found.flooded {
            notes.push("a flood: only the failures in its first part were counted".to_owned());
        }
        if found.stood_before > 0 {
            let number = found.stood_before;
            let plural = if number == 1 { "" } else { "s" };
            notes.push(format!(
                "{number} more report{plural} stood in the last output that passed"
            ));
        }
        let (total, telling, document) = (lines.total, lines.telling, lines.document);
        let (passages, placed) = rank(lines, &found.claimed);
        Self {
            exit,
            failures: found.failures,
            failures_total: found.total,
            tests,
            tools: found.tools,
            notes,
            lines: total,
            bytes,
            telling: telling.max(found.total),
            placed,
            document,
            whole,
            warnings_only: found.warnings_only,
            passages,
        }
    }

    /// Of failures that were found without a log and without a program that exited.
    #[must_use]
    pub fn of_failures(failures: Vec<Failure>) -> Self {
        let total = u64::try_from(failures.len()).unwrap_or(u64::MAX);
        Self {
            exit: Exit::Unknown,
            failures_total: total,
            failures,
            tests: None,
            tools: Vec::new(),
            notes: Vec::new(),
            lines: 0,
            bytes: 0,
            telling: total,
            placed: 0,
            document: false,
            whole: None,
            warnings_only: false,
            passages: Vec::new(),
        }
    }

    /// Fits what was found into the budget.
    #[must_use]
    pub fn render(&self, budget: Budget<'_>) -> Digest {
        render::render(self, budget)
    }
}

/// Renders several failed checks within one budget: fair shares, and what one does not need goes
/// to the others. The digests stand in the order of the analyses.
#[must_use]
pub fn render_shared(analyses: &[&Analysis], budget: Budget<'_>) -> Vec<Digest> {
    // What each would take if it had the budget alone: the modest are served first, and whole.
    let mut alone: Vec<(usize, Digest)> = analyses
        .iter()
        .map(|analysis| analysis.render(budget))
        .enumerate()
        .collect();
    alone.sort_by_key(|(_, digest)| digest.tokens_estimated);
    let mut left = budget.tokens;
    let mut unserved = alone.len();
    for (index, digest) in &mut alone {
        let share = left / unserved.max(1);
        if digest.tokens_estimated > share
            && let Some(analysis) = analyses.get(*index)
        {
            *digest = analysis.render(Budget {
                tokens: share,
                ..budget
            });
        }
        left = left.saturating_sub(digest.tokens_estimated);
        unserved -= 1;
    }
    alone.sort_by_key(|(index, _)| *index);
    alone.into_iter().map(|(_, digest)| digest).collect()
}
