//! Reader of formats whose failures are blocks: a first line that identifies a failure, and lines below it that belong
//! to it. The [formats](BlockFormat) only classify each line.

use std::fmt::Debug;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestTotals};
use crate::line::CleanLine;

/// Meaning of a line for a block format.
#[derive(Debug)]
pub(super) enum BlockStep {
    /// The first line of a block; ends the block before it.
    Begin(FailureBuilder),
    /// A whole failure; ends the block before it.
    Whole(FailureBuilder),
    /// The closing totals of a runner; they end the block.
    Totals(&'static str, TestTotals),
    /// A line of the block.
    Taken,
    /// A line of the block that its excerpt shows.
    Shown,
    /// A line that leaves the block open, if there is one.
    Claim(LineClaim),
    /// Ends the block.
    End(LineClaim),
    /// Shows that the block is not a failure of this format.
    Discard(LineClaim),
}

impl BlockStep {
    /// The block has ended before this line.
    pub(super) const OVER: Self = Self::End(LineClaim::NotMine);
}

/// One tool's blocks.
pub(super) trait BlockFormat: Debug + Default + Send {
    /// Whether a block is a failed test, which counts in the runner's results.
    const IS_TEST: bool = false;
    /// Whether the first line of a block identifies the tool; otherwise its end does.
    const IS_CERTAIN: bool = true;
    /// The claim on the first line of a block.
    const HEAD_CLAIM: LineClaim = LineClaim::Evidence;

    /// Whether a line belongs to the open block even if it looks like the first line of another one.
    fn is_detail(&self, _line: &CleanLine<'_>) -> bool {
        false
    }

    /// Reads a line that does not depend on the open block: the first line of the next one, or a total.
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep>;

    /// Reads any other line while a block is open.
    fn parse_body(&mut self, _draft: &mut FailureBuilder, _line: &CleanLine<'_>) -> BlockStep {
        BlockStep::OVER
    }

    /// Completes a block before it is recorded; none if it is not a failure. It may follow the head of the next
    /// block, so it must not depend on state that `parse_head` sets for a block.
    fn complete(&mut self, draft: FailureBuilder) -> Option<FailureBuilder> {
        Some(draft)
    }

    /// Whether it must see the next line although no block is open.
    fn is_waiting(&self) -> bool {
        false
    }

    /// The log has ended, or a test runner's session begins or ends.
    fn finish(&mut self, _findings: &mut Findings) {}
}

/// Reads a block format.
#[derive(Debug, Default)]
pub(super) struct BlockParser<F> {
    format: F,
    draft: Option<FailureBuilder>,
}

impl<F: BlockFormat> FormatParser for BlockParser<F> {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let is_detail = self.draft.is_some() && self.format.is_detail(line);
        let head = (!is_detail)
            .then(|| self.format.parse_head(line, findings))
            .flatten();
        let step = match (head, &mut self.draft) {
            (Some(step), _) => step,
            (None, Some(draft)) => self.format.parse_body(draft, line),
            (None, None) => return LineClaim::NotMine,
        };
        match step {
            BlockStep::Begin(draft) => {
                self.close(findings);
                if F::IS_CERTAIN {
                    findings.add_tool(draft.tool);
                }
                self.draft = Some(draft);
                F::HEAD_CLAIM
            }
            BlockStep::Whole(draft) => {
                self.close(findings);
                self.draft = Some(draft);
                self.close(findings);
                LineClaim::Evidence
            }
            BlockStep::Totals(tool, totals) => {
                self.close(findings);
                findings.close_run(tool, totals);
                LineClaim::Evidence
            }
            BlockStep::Taken | BlockStep::Shown => {
                if let Some(draft) = &mut self.draft {
                    draft.skip_line(line);
                    if matches!(step, BlockStep::Shown) {
                        draft.push_excerpt(line);
                    }
                }
                LineClaim::Evidence
            }
            BlockStep::Claim(claim) => claim,
            BlockStep::End(claim) => {
                self.close(findings);
                claim
            }
            BlockStep::Discard(claim) => {
                self.draft = None;
                claim
            }
        }
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.format.is_waiting()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.format.finish(findings);
    }
}

impl<F: BlockFormat> BlockParser<F> {
    fn close(&mut self, findings: &mut Findings) {
        let draft = self.draft.take();
        let Some(draft) = draft.and_then(|draft| self.format.complete(draft)) else {
            return;
        };
        findings.add_tool(draft.tool);
        if F::IS_TEST {
            findings.add_test(draft);
        } else {
            findings.add(draft.build());
        }
    }
}
