//! ava's own reporter: a list of results, then a section for each failure, headed by its name.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{is_foreign, parse_colon_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ava";
/// How many names of failed tests are remembered.
const LISTED: usize = 1000;

/// Reads ava's report.
#[derive(Debug, Default)]
pub(super) struct AvaParser {
    draft: Option<FailureBuilder>,
    /// The names of failed tests, each with its text in the list.
    listed: Vec<String>,
    /// Below the rule that ends the list.
    sections: bool,
    totals: Option<TestTotals>,
    begun: bool,
    /// A ruler was read before any other line of ava: totals of tests that all passed may follow.
    ruled: bool,
}

static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^  (?P<count>\d+) (?:known )?(?:tests? (?P<what>passed|failed|skipped|todo)|(?P<outside>uncaught exceptions?|unhandled rejections?))$",
    )
});
static CODE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*\d+:(?: |$)"));

impl FormatParser for AvaParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if let Some(name) = body.strip_prefix("✘ [fail]: ") {
            self.close(findings);
            findings.add_tool(TOOL);
            self.begun = true;
            if self.listed.len() < LISTED {
                self.listed.push(name.to_owned());
            }
            return LineClaim::Ignore;
        }
        if let Some(file) = body.strip_prefix("Uncaught exception in ") {
            self.begun = true;
            self.begin(file, line, findings);
            return LineClaim::Evidence;
        }
        if !self.begun {
            if body == "─" && line.indent() == 2 {
                self.ruled = true;
            } else if !line.is_blank() {
                self.begun = std::mem::take(&mut self.ruled) && TOTAL.is_match(line.text);
            }
            if !self.begun {
                return LineClaim::NotMine;
            }
            findings.add_tool(TOOL);
        }
        if body == "─" {
            self.close(findings);
            self.sections = true;
            return LineClaim::Ignore;
        }
        if line.indent() == 2 {
            if let Some(total) = TOTAL.captures(line.text) {
                self.parse_total(&total, findings);
                return LineClaim::Evidence;
            }
            if self.sections && self.is_listed(body) {
                self.begin(body, line, findings);
                return LineClaim::Evidence;
            }
            if body.starts_with("✘ ") || body.starts_with("✔ ") {
                self.close(findings);
                return LineClaim::Ignore;
            }
        }
        let Some(draft) = self
            .draft
            .as_mut()
            .filter(|_| line.is_blank() || line.indent() > 0)
        else {
            self.close(findings);
            return LineClaim::NotMine;
        };
        parse_body(draft, line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.begun || self.ruled
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        if let Some(totals) = self.totals.take() {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl AvaParser {
    fn begin(&mut self, id: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        self.close(findings);
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(id.to_owned());
        self.draft = Some(draft);
    }

    /// Whether the test is listed; the list has the message after the name.
    fn is_listed(&self, name: &str) -> bool {
        let told = |listed: &String| {
            let rest = listed.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        !name.is_empty() && self.listed.iter().any(told)
    }

    fn parse_total(&mut self, total: &regex::Captures<'_>, findings: &mut Findings) {
        self.close(findings);
        let count: u64 = total["count"].parse().unwrap_or(0);
        let totals = self.totals.get_or_insert_default();
        match total.name("what").map(|what| what.as_str()) {
            Some("passed") => totals.passed += count,
            Some("skipped" | "todo") => totals.skipped += count,
            _ => totals.failed += count,
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_test(TOOL, draft);
        }
    }
}

/// A line of a section: the place, source, the message with a diff, frames.
fn parse_body(draft: &mut FailureBuilder, line: &CleanLine<'_>) {
    let body = line.body();
    let frame = body.strip_prefix("› ").or(body.strip_prefix("at "));
    if let Some(place) = frame.and_then(parse_colon_frame) {
        let file = place.file.trim_start_matches("file://");
        if is_foreign(file) {
            draft.skip_line(line);
            return;
        }
        draft.set_location(file, place.line, place.column);
        draft.push_excerpt(line);
    } else if let Some(place) =
        parse_colon_frame(body).filter(|_| line.indent() == 2 && !body.contains(' '))
    {
        draft.set_location(place.file, place.line, None);
        draft.skip_line(line);
    } else if CODE.is_match(line.text) {
        draft.push_excerpt(line);
    } else if !body.is_empty() && frame.is_none() {
        if body
            .split(": ")
            .next()
            .is_some_and(|class| class.ends_with("Error"))
        {
            draft.set_summary(body);
        }
        draft.push_message(line.text.strip_prefix("  ").unwrap_or(body));
        draft.skip_line(line);
    } else {
        draft.skip_line(line);
    }
}
