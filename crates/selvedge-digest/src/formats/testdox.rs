//! PHPUnit's testdox: the name of each test as a sentence below the name of its class, and its failure in a
//! box below it. Its closing totals are those of [its other reports](super::numbered_list).

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

const TOOL: &str = "phpunit";

/// Reads testdox.
#[derive(Debug, Default)]
pub(super) struct TestdoxFormat {
    /// Below the heading of the list that repeats the failed tests.
    repeated: bool,
}

/// Heads that list.
const SUMMARY: &str = "Summary of non-successful tests:";

impl BlockFormat for TestdoxFormat {
    const IS_TEST: bool = true;

    fn is_detail(&self, line: &CleanLine<'_>) -> bool {
        line.body().starts_with('│')
    }

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if text.starts_with("PHPUnit ")
            && text.ends_with(" by Sebastian Bergmann and contributors.")
        {
            findings.add_tool(TOOL);
            self.repeated = false;
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if text == SUMMARY && findings.has_tool(TOOL) {
            self.repeated = true;
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if self.repeated
            && ["ERRORS!", "FAILURES!", "Tests: "]
                .iter()
                .any(|it| text.starts_with(it))
        {
            self.repeated = false;
        }
        if self.repeated {
            let is_repeated = line.body().starts_with(['✘', '│', '☢', '↩', '∅']);
            return is_repeated.then_some(BlockStep::End(LineClaim::Suppress));
        }
        if line.indent() != 1 || !findings.has_tool(TOOL) {
            return None;
        }
        let (mark, sentence) = line.body().split_once(' ')?;
        let id = format!("{} > {sentence}", line.heading);
        let outcome = match mark {
            "✘" => return Some(BlockStep::Begin(FailureBuilder::test(TOOL, id, line))),
            "✔" | "☢" => TestOutcome::Passed,
            "↩" | "∅" => TestOutcome::Skipped,
            _ => return None,
        };
        findings.record_test(TOOL, outcome, &id);
        Some(BlockStep::End(LineClaim::Ignore))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let Some(text) = line.body().strip_prefix('│') else {
            return BlockStep::OVER;
        };
        let text = text.strip_prefix(' ').unwrap_or(text);
        match parse_colon_frame(text).filter(|_| text.starts_with('/')) {
            Some(place) if is_foreign(place.file) => {}
            Some(place) => draft.set_location(place.file, place.line, None),
            None => draft.push_message(text),
        }
        BlockStep::Taken
    }

    fn is_waiting(&self) -> bool {
        self.repeated
    }

    /// Without a box, the tree is another runner's.
    fn complete(&mut self, draft: FailureBuilder) -> Option<FailureBuilder> {
        let lines = draft.lines();
        (lines.start() != lines.end()).then_some(draft)
    }
}
