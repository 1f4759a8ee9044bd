//! Catch2. Each failed assertion is below a header with the test case and its sections; the compact reporter
//! prints one line per assertion and names no test.

use super::location::is_c;
use super::prelude::*;

const TOOL: &str = "catch2";

/// Reads Catch2's console and compact reporters.
#[derive(Debug, Default)]
pub(super) struct Catch2Format {
    part: Catch2Section,
    /// The test case and its sections, the outermost first.
    names: Vec<String>,
    /// The last test case that was counted as failed.
    counted: String,
}

/// Section of a header and its failure.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Catch2Section {
    #[default]
    Outside,
    /// Below a wavy ruler, where Catch2 prints its own name.
    Banner,
    /// Between the two rulers of a header, where the names are.
    Names,
    /// Below the names.
    Body,
}

static FAILED: LinePattern = LinePattern::new(r"^(?P<file>\S.*?)[:(](?P<line>\d+)\)?: FAILED:$");
static COMPACT: LinePattern =
    LinePattern::new(r"^(?P<file>\S.*?)[:(](?P<line>\d+)\)?: failed: (?P<message>\S.*)$");
static GREEN: LinePattern =
    LinePattern::new(r"^(?:All tests passed|Passed all) .*?(?P<passed>\d+) test cases?\b");

impl BlockFormat for Catch2Format {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if is_rule(text) {
            return Some(self.handle_rule(text.starts_with('~'), findings));
        }
        match self.part {
            Catch2Section::Outside | Catch2Section::Body => {}
            Catch2Section::Banner => {
                self.part = Catch2Section::Outside;
                if text.contains(" is a Catch") {
                    findings.add_tool(TOOL);
                    return Some(BlockStep::Claim(LineClaim::Ignore));
                }
            }
            Catch2Section::Names if line.is_blank() || self.names.len() > 16 => {
                self.part = Catch2Section::Outside;
            }
            Catch2Section::Names => {
                self.names.push(line.body().to_owned());
                return Some(BlockStep::Claim(LineClaim::Ignore));
            }
        }
        let failing = line.signals.intersects(LineSignals::FAIL);
        if failing && text.ends_with(": FAILED:") {
            return Some(self.parse_failed_assertion(line, findings));
        }
        if failing && text.contains(": failed: ") {
            let found = COMPACT.captures(text).filter(|found| is_c(&found["file"]));
            return Some(found.map_or(BlockStep::Claim(LineClaim::NotMine), |found| {
                BlockStep::Whole(FailureBuilder::captured(
                    FailureKind::Test,
                    TOOL,
                    &found,
                    line,
                ))
            }));
        }
        if text.starts_with("==========") || self.parse_totals(text, findings) {
            self.part = Catch2Section::Outside;
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        None
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.is_blank() {
            return BlockStep::End(LineClaim::Ignore);
        }
        draft.push_message(line.body());
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.part != Catch2Section::Outside
    }
}

impl Catch2Format {
    /// Handles a ruler, which begins the banner, or begins or ends the header of a failure.
    fn handle_rule(&mut self, wavy: bool, findings: &Findings) -> BlockStep {
        self.part = match self.part {
            _ if wavy => Catch2Section::Banner,
            Catch2Section::Names => Catch2Section::Body,
            _ if findings.has_tool(TOOL) => Catch2Section::Names,
            _ => return BlockStep::OVER,
        };
        if self.part == Catch2Section::Names {
            self.names.clear();
        }
        BlockStep::End(LineClaim::Ignore)
    }

    fn parse_failed_assertion(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> BlockStep {
        let in_body = self.part == Catch2Section::Body;
        let Some(place) = FAILED.captures(line.text).filter(|_| in_body) else {
            return BlockStep::Claim(LineClaim::NotMine);
        };
        let mut draft = FailureBuilder::captured(FailureKind::Test, TOOL, &place, line);
        draft.failure.id = Some(self.names.join("/"));
        let test = self.names.first().map_or("", String::as_str);
        if self.counted != test {
            test.clone_into(&mut self.counted);
            findings.record_test(TOOL, TestOutcome::Failed, test);
        }
        BlockStep::Begin(draft)
    }

    /// Whether the line holds closing totals.
    fn parse_totals(&mut self, text: &str, findings: &mut Findings) -> bool {
        let totals = if text.starts_with("test cases:") {
            TestTotals::listed(text)
        } else if let Some(end) = GREEN.captures(text) {
            TestTotals::captured(&end)
        } else {
            return false;
        };
        findings.close_run(TOOL, totals);
        self.counted.clear();
        true
    }
}

/// Rulers are as wide as Catch2's console, 79 columns.
fn is_rule(text: &str) -> bool {
    text.len() == 79
        && text.starts_with(['-', '~'])
        && text.bytes().all(|byte| byte == text.as_bytes()[0])
}
