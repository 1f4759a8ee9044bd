//! PHPUnit's testdox: the name of each test as a sentence below the name of its class, and its failure in a
//! box below it. Its closing totals are those of [its other reports](super::numbered_list).

use super::location::{is_foreign, parse_colon_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome};
use crate::line::CleanLine;
use crate::record::FailureKind;

const TOOL: &str = "phpunit";

/// Reads testdox.
#[derive(Debug, Default)]
pub(super) struct TestdoxParser {
    draft: Option<FailureBuilder>,
    /// The first line of the box was read: the tree is not another runner's.
    boxed: bool,
}

impl FormatParser for TestdoxParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text.starts_with("PHPUnit ")
            && line
                .text
                .ends_with(" by Sebastian Bergmann and contributors.")
        {
            findings.add_tool(TOOL);
            return LineClaim::Ignore;
        }
        if let Some(draft) = &mut self.draft {
            if let Some(text) = line.body().strip_prefix('│') {
                self.boxed = true;
                parse_box_line(draft, text, line);
                return LineClaim::Evidence;
            }
            self.close(findings);
        }
        if line.indent() != 1 || !findings.has_tool(TOOL) {
            return LineClaim::NotMine;
        }
        let Some((mark, sentence)) = line.body().split_once(' ') else {
            return LineClaim::NotMine;
        };
        let id = format!("{} > {sentence}", line.heading);
        let outcome = match mark {
            "✘" => {
                let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id);
                self.draft = Some(draft);
                self.boxed = false;
                return LineClaim::Evidence;
            }
            "✔" | "☢" => TestOutcome::Passed,
            "↩" | "∅" => TestOutcome::Skipped,
            _ => return LineClaim::NotMine,
        };
        findings.runs.record_test(TOOL, outcome, Some(&id));
        LineClaim::Ignore
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl TestdoxParser {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take().filter(|_| self.boxed) {
            findings.add_test(TOOL, draft);
        }
    }
}

/// A line of the box: the message, a diff, or a frame.
fn parse_box_line(draft: &mut FailureBuilder, text: &str, line: &CleanLine<'_>) {
    let text = text.strip_prefix(' ').unwrap_or(text);
    match parse_colon_frame(text).filter(|_| text.starts_with('/')) {
        Some(place) if is_foreign(place.file) => {}
        Some(place) => draft.set_location(place.file, place.line, None),
        None => draft.push_message(text),
    }
    draft.skip_line(line);
}
