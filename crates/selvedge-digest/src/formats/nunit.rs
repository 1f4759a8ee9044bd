//! NUnit's console: its numbered list of errors and failures, and the totals before it.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "nunit";

/// Reads NUnit's report.
#[derive(Debug, Default)]
pub(super) struct NUnit {
    draft: Option<Draft>,
    /// The totals, until the tests that they count were read.
    totals: Option<Totals>,
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

impl Format for NUnit {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if let Some(totals) = TOTALS.captures(text) {
            self.finish(findings);
            let number = |name: &str| totals[name].parse().unwrap_or(0_u64);
            let failed = number("errors") + number("failures");
            self.totals = Some(Totals {
                passed: number("run").saturating_sub(failed),
                failed,
                skipped: 0,
            });
            findings.tool(TOOL);
            return Claim::Evidence;
        }
        if text.contains(") ")
            && let Some(heading) = HEADING.captures(text)
        {
            self.close(findings);
            findings.tool(TOOL);
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(heading["id"].to_owned());
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        if let (Some(totals), Some(not_run)) = (&mut self.totals, NOT_RUN.captures(text)) {
            totals.skipped = not_run["skipped"].parse().unwrap_or(0);
            return Claim::Noise;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if text.starts_with("Tests Not Run:") || text.starts_with("Run Settings") {
            self.close(findings);
            return Claim::Noise;
        }
        body(draft, line);
        Claim::Evidence
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

impl NUnit {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_test(TOOL, draft);
        }
    }
}

/// A line of the message, or a frame.
fn body(draft: &mut Draft, line: &Line<'_>) {
    let body = line.body();
    if body.starts_with("at ") {
        // Frames without a place are the runtime's.
        if let Some(frame) = FRAME.captures(line.text) {
            draft.place(&frame["file"], frame["line"].parse().ok(), None);
            draft.excerpt(line);
        } else {
            draft.skip(line);
        }
    } else if let (Some(message), Some(was)) =
        (&mut draft.failure.message, body.strip_prefix("But was:"))
    {
        message.push_str(", but was: ");
        message.push_str(was.trim());
        draft.skip(line);
    } else if !body.is_empty() {
        draft.message(body);
        draft.skip(line);
    }
}
