//! NUnit's console: its numbered list of errors and failures, and the totals before it.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "nunit";

/// Reads NUnit's report.
#[derive(Debug, Default)]
pub(super) struct NUnitParser {
    draft: Option<FailureBuilder>,
    /// The totals, until the tests that they count were read.
    totals: Option<TestTotals>,
}

static HEADING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\d+\) (?:Test )?(?:Failure|Error|Failed) : (?P<id>\S.*)$"));
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^Tests run: (?P<run>\d+), Errors: (?P<errors>\d+), Failures: (?P<failures>\d+), Inconclusive: \d+",
    )
});
static NOT_RUN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s+Not run: (?P<skipped>\d+), Invalid: "));
static FRAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*at .* in (?P<file>\S+\.\w+):(?:line )?(?P<line>\d+)\s*$"));

impl FormatParser for NUnitParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(totals) = TOTALS.captures(text) {
            self.finish(findings);
            let number = |name: &str| totals[name].parse().unwrap_or(0_u64);
            let failed = number("errors") + number("failures");
            self.totals = Some(TestTotals {
                passed: number("run").saturating_sub(failed),
                failed,
                skipped: 0,
            });
            findings.add_tool(TOOL);
            return LineClaim::Evidence;
        }
        if text.contains(") ")
            && let Some(heading) = HEADING.captures(text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(heading["id"].to_owned());
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        if let (Some(totals), Some(not_run)) = (&mut self.totals, NOT_RUN.captures(text)) {
            totals.skipped = not_run["skipped"].parse().unwrap_or(0);
            return LineClaim::Ignore;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if text.starts_with("Tests Not Run:") || text.starts_with("Run Settings") {
            self.close(findings);
            return LineClaim::Ignore;
        }
        parse_body(draft, line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.totals.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        if let Some(totals) = self.totals.take() {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl NUnitParser {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_test(TOOL, draft);
        }
    }
}

/// A line of the message, or a frame.
fn parse_body(draft: &mut FailureBuilder, line: &CleanLine<'_>) {
    let body = line.body();
    if body.starts_with("at ") {
        // Frames without a place are the runtime's.
        if let Some(frame) = FRAME.captures(line.text) {
            draft.set_location(&frame["file"], frame["line"].parse().ok(), None);
            draft.push_excerpt(line);
        } else {
            draft.skip_line(line);
        }
    } else if let (Some(message), Some(was)) =
        (&mut draft.failure.message, body.strip_prefix("But was:"))
    {
        message.push_str(", but was: ");
        message.push_str(was.trim());
        draft.skip_line(line);
    } else if !body.is_empty() {
        draft.push_message(body);
        draft.skip_line(line);
    }
}
