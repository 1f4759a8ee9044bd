//! The findings of a log, ready to be rendered within any budget.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::DigestBudget;
use crate::digester::CommandStatus;
use crate::fallback::{KeptLines, RankedLine, rank};
use crate::findings::LogFindings;
use crate::record::{Failure, TestSummary};
use crate::render::{self, BudgetKind};

/// The findings of a log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[non_exhaustive]
pub struct Analysis {
    /// How the command ended, as passed by the caller.
    pub exit: CommandStatus,
    /// The recognised failures, first cause first; bounded.
    pub failures: Vec<Failure>,
    /// Number of distinct failures, including those omitted from `failures`.
    pub failures_total: u64,
    /// The results of test runners; `None` if no runner was recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// The recognised tools, in the order of their appearance.
    pub tools: Vec<String>,
    /// Inconsistencies: counts that differ from the tool's own totals, output that ends early.
    pub notes: Vec<String>,
    /// Number of lines of the cleaned log.
    pub lines: u64,
    /// Size of the raw log in bytes.
    pub bytes: u64,
    /// Number of lines that indicate a failure or a warning, by a known format or by general signals.
    #[serde(skip)]
    pub(crate) salient_count: u64,
    /// Number of unrecognised lines with a message about a place in a file.
    #[serde(skip)]
    pub(crate) located_count: u64,
    /// Whether the log begins like an XML document.
    #[serde(skip)]
    pub(crate) is_xml: bool,
    /// The cleaned log without noise, if it is small.
    #[serde(skip)]
    pub(crate) whole_log: Option<String>,
    /// Number of lines that are never shown: headers and progress of test runners.
    #[serde(skip)]
    pub(crate) noise_lines: u64,
    /// The failures are only warnings: the actual failure may be in other lines.
    pub warnings_only: bool,
    /// The most salient lines that belong to no recognised failure, in the order of the log.
    #[serde(skip)]
    pub(crate) ranked_lines: Vec<RankedLine>,
}

/// A rendered digest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digest {
    /// The text for the model.
    pub text: String,
    /// Upper bound of the text's tokens, see [`crate::estimate_tokens`].
    pub tokens_estimated: usize,
    /// Number of failures shown in the text.
    pub shown: u64,
    /// Number of all failures.
    pub total: u64,
}

impl Analysis {
    pub(crate) fn new(
        exit: CommandStatus,
        bytes: u64,
        whole: Option<String>,
        noise_lines: u64,
        found: LogFindings,
        lines: KeptLines,
    ) -> Self {
        let (tests, mut notes) = found.runs.finish();
        notes.extend(found.notes);
        if found.flooded {
            notes.push("a flood: only the failures in its first part were counted".to_owned());
        }
        if found.suppressed > 0 {
            let number = found.suppressed;
            let were = if number == 1 { " was" } else { "s were" };
            notes.push(format!(
                "{number} more report{were} already in the last output that passed"
            ));
        }
        let (total, salient, document) = (lines.total, lines.salient_count, lines.is_xml);
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
            salient_count: salient.max(found.total),
            located_count: placed,
            is_xml: document,
            whole_log: whole,
            noise_lines,
            warnings_only: found.warnings_only,
            ranked_lines: passages,
        }
    }

    /// Creates an analysis of failures that were found without a log and without a command.
    #[must_use]
    pub fn from_failures(failures: Vec<Failure>) -> Self {
        let total = u64::try_from(failures.len()).unwrap_or(u64::MAX);
        Self {
            exit: CommandStatus::Unknown,
            failures_total: total,
            failures,
            tests: None,
            tools: Vec::new(),
            notes: Vec::new(),
            lines: 0,
            bytes: 0,
            salient_count: total,
            located_count: 0,
            is_xml: false,
            whole_log: None,
            noise_lines: 0,
            warnings_only: false,
            ranked_lines: Vec::new(),
        }
    }

    /// Renders the findings within the budget.
    #[must_use]
    pub fn render(&self, budget: DigestBudget<'_>) -> Digest {
        render::render(self, budget, BudgetKind::Whole)
    }
}

/// Renders several failed checks within one budget, in fair shares: tokens that one check does not need go to
/// the others. In a share, the locations of all failures come before messages. The digests have the order of the analyses.
#[must_use]
pub fn render_shared(analyses: &[&Analysis], budget: DigestBudget<'_>) -> Vec<Digest> {
    // The size of each digest alone: the small ones are rendered first, and in full.
    let mut alone: Vec<(usize, Digest)> = analyses
        .iter()
        .map(|analysis| analysis.render(budget))
        .enumerate()
        .collect();
    alone.sort_by_key(|(_, digest)| digest.tokens_estimated);
    let mut left = budget.tokens;
    let mut remaining = alone.len();
    for (index, digest) in &mut alone {
        let share = left / remaining.max(1);
        if digest.tokens_estimated > share
            && let Some(analysis) = analyses.get(*index)
        {
            let budget = DigestBudget {
                tokens: share,
                ..budget
            };
            *digest = render::render(analysis, budget, BudgetKind::Share);
        }
        left = left.saturating_sub(digest.tokens_estimated);
        remaining -= 1;
    }
    alone.sort_by_key(|(index, _)| *index);
    alone.into_iter().map(|(_, digest)| digest).collect()
}
