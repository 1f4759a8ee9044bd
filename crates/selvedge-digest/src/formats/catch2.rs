//! Catch2. Each failed assertion is below a header with the test case and its sections; the compact reporter
//! prints one line per assertion and names no test.

use std::sync::LazyLock;

use regex::Regex;

use super::location::is_c;
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::{CleanLine, LineSignals};
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "catch2";

/// Reads Catch2's console and compact reporters.
#[derive(Debug, Default)]
pub(super) struct Catch2Parser {
    part: Catch2Section,
    /// The test case and its sections, the outermost first.
    names: Vec<String>,
    draft: Option<FailureBuilder>,
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

static FAILED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S.*?)[:(](?P<line>\d+)\)?: FAILED:$"));
static COMPACT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S.*?)[:(](?P<line>\d+)\)?: failed: (?P<message>\S.*)$"));
static COUNT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d+) (passed|failed|skipped)"));
static GREEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:All tests passed|Passed all) .*?(?P<passed>\d+) test cases?\b"));

impl FormatParser for Catch2Parser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if is_rule(text) {
            return self.handle_rule(text.starts_with('~'), findings);
        }
        match self.part {
            Catch2Section::Outside | Catch2Section::Body => {}
            Catch2Section::Banner => {
                self.part = Catch2Section::Outside;
                if text.contains(" is a Catch") {
                    findings.add_tool(TOOL);
                    return LineClaim::Ignore;
                }
            }
            Catch2Section::Names if line.is_blank() || self.names.len() > 16 => {
                self.part = Catch2Section::Outside;
            }
            Catch2Section::Names => {
                self.names.push(line.body().to_owned());
                return LineClaim::Ignore;
            }
        }
        let failing = line.signals.intersects(LineSignals::FAIL);
        if failing && text.ends_with(": FAILED:") {
            return self.parse_failed_assertion(line, findings);
        }
        if failing && text.contains(": failed: ") {
            return parse_compact_assertion(line, findings);
        }
        if text.starts_with("==========") || self.parse_totals(text, findings) {
            self.close(findings);
            self.part = Catch2Section::Outside;
            return LineClaim::Ignore;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if line.is_blank() {
            self.close(findings);
            return LineClaim::Ignore;
        }
        draft.push_message(line.body());
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.part != Catch2Section::Outside
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Catch2Parser {
    /// Handles a ruler, which begins the banner, or begins or ends the header of a failure.
    fn handle_rule(&mut self, wavy: bool, findings: &mut Findings) -> LineClaim {
        self.close(findings);
        self.part = match self.part {
            _ if wavy => Catch2Section::Banner,
            Catch2Section::Names => Catch2Section::Body,
            _ if findings.has_tool(TOOL) => Catch2Section::Names,
            _ => return LineClaim::NotMine,
        };
        if self.part == Catch2Section::Names {
            self.names.clear();
        }
        LineClaim::Ignore
    }

    fn parse_failed_assertion(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let Some(place) = FAILED
            .captures(line.text)
            .filter(|_| self.part == Catch2Section::Body)
        else {
            return LineClaim::NotMine;
        };
        self.close(findings);
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(self.names.join("/"));
        draft.set_location(&place["file"], place["line"].parse().ok(), None);
        draft.push_excerpt(line);
        self.draft = Some(draft);
        let test = self.names.first().map_or("", String::as_str);
        if self.counted != test {
            test.clone_into(&mut self.counted);
            findings
                .runs
                .record_test(TOOL, TestOutcome::Failed, Some(test));
        }
        LineClaim::Evidence
    }

    /// Whether the line holds closing totals.
    fn parse_totals(&mut self, text: &str, findings: &mut Findings) -> bool {
        let mut totals = TestTotals::default();
        if text.starts_with("test cases:") {
            for count in COUNT.captures_iter(text) {
                let number = count[1].parse().unwrap_or(0);
                match &count[2] {
                    "passed" => totals.passed = number,
                    "failed" => totals.failed = number,
                    _ => totals.skipped = number,
                }
            }
        } else if let Some(end) = GREEN.captures(text) {
            totals.passed = end["passed"].parse().unwrap_or(0);
        } else {
            return false;
        }
        findings.add_tool(TOOL);
        findings.runs.close(TOOL, totals);
        self.counted.clear();
        true
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

/// Reads a failed assertion of the compact reporter.
fn parse_compact_assertion(line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
    let found = COMPACT.captures(line.text).filter(|f| is_c(&f["file"]));
    let Some(found) = found else {
        return LineClaim::NotMine;
    };
    findings.add_tool(TOOL);
    let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
    draft.set_location(&found["file"], found["line"].parse().ok(), None);
    draft.push_message(&found["message"]);
    draft.push_excerpt(line);
    findings.add(draft.build());
    LineClaim::Evidence
}

/// Rulers are as wide as Catch2's console, 79 columns.
fn is_rule(text: &str) -> bool {
    text.len() == 79
        && text.starts_with(['-', '~'])
        && text.bytes().all(|byte| byte == text.as_bytes()[0])
}
