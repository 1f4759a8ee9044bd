//! Alcotest, OCaml's test runner: a list of results, and a box with the explanation of each failure,
//! or of the first alone.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "alcotest";
/// Maximum number of failures that are listed but not yet explained.
const LISTED: usize = 400;

/// Reads Alcotest's report.
#[derive(Debug, Default)]
pub(super) struct AlcotestParser {
    draft: Option<FailureBuilder>,
    expected: Option<String>,
    /// Failures that are listed but not yet explained.
    listed: Vec<String>,
    skipped: u64,
}

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:│ |> |  )\[(?P<outcome>OK|FAIL|SKIP)\] +(?P<suite>\S.*?) {2,}(?P<index>\d+) {3}(?P<name>.+?)\.?(?: +│)?$",
    )
});
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?P<failed>\d+) failures?!|Test Successful) in [\d.]+s\. (?P<run>\d+) tests? run\.$",
    )
});
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^\s*(?:Raised|Called|Re-raised) (?:at|from) (?P<function>\S+) in file "(?P<file>[^"]+)", line (?P<line>\d+), characters (?P<column>\d+)-"#,
    )
});

impl FormatParser for AlcotestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text.contains('[')
            && let Some(result) = RESULT.captures(line.text)
        {
            return self.parse_result(&result, line, findings);
        }
        if let Some(totals) = TOTALS.captures(line.text) {
            self.parse_totals(&totals, line, findings);
            return LineClaim::Evidence;
        }
        self.parse_body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl AlcotestParser {
    fn parse_result(
        &mut self,
        result: &regex::Captures<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let id = format!(
            "{} {} {}",
            &result["suite"], &result["index"], &result["name"]
        );
        match (&result["outcome"], line.text.starts_with('│')) {
            ("FAIL", true) => {
                self.close(findings);
                self.listed.retain(|listed| *listed != id);
                let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id);
                self.draft = Some(draft);
                return LineClaim::Evidence;
            }
            ("FAIL", false) => {
                if self.listed.len() < LISTED {
                    self.listed.push(id);
                }
            }
            ("SKIP", _) => {
                self.skipped += 1;
                findings
                    .runs
                    .record_test(TOOL, TestOutcome::Skipped, Some(&id));
            }
            _ => findings
                .runs
                .record_test(TOOL, TestOutcome::Passed, Some(&id)),
        }
        LineClaim::Ignore
    }

    /// A line of the explanation below a box.
    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let body = line.body();
        if body.starts_with('─') || body.starts_with("Logs saved to") {
            self.close(findings);
            return LineClaim::Ignore;
        }
        if let Some(frame) = FRAME.captures(line.text) {
            let file = &frame["file"];
            let foreign = file.starts_with("src/alcotest")
                || file == "stdlib.ml"
                || file.starts_with("stdlib/");
            if foreign {
                draft.skip_line(line);
            } else {
                let column = frame["column"]
                    .parse()
                    .ok()
                    .map(|column: u32| column.saturating_add(1));
                draft.set_location(file, frame["line"].parse().ok(), column);
                draft.push_excerpt(line);
            }
        } else if let Some(expected) = body.strip_prefix("Expected: ") {
            self.expected = Some(expected.to_owned());
            draft.push_message(body);
        } else if let Some(received) = body.strip_prefix("Received: ") {
            draft.push_message(body);
            if let Some(expected) = self.expected.take() {
                let what = draft
                    .failure
                    .message
                    .as_deref()
                    .and_then(|told| told.lines().next());
                let what = what
                    .filter(|what| !what.starts_with("Expected"))
                    .unwrap_or("check");
                let summary = format!("{what}: expected {expected}, received {received}");
                draft.set_summary(&summary);
            }
        } else if !body.is_empty()
            && !body.starts_with(['└', '┌', '│'])
            && !body.starts_with("ASSERT ")
        {
            let said = body
                .strip_prefix("FAIL ")
                .or(body.strip_prefix("[failure] "));
            draft.push_message(said.or(body.strip_prefix("[exception] ")).unwrap_or(body));
            draft.push_excerpt(line);
        }
        LineClaim::Evidence
    }

    fn parse_totals(
        &mut self,
        totals: &regex::Captures<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        self.close(findings);
        findings.add_tool(TOOL);
        for id in std::mem::take(&mut self.listed) {
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(id);
            draft.push_message("failed");
            record_failure(draft, findings);
        }
        let number = |name: &str| {
            totals
                .name(name)
                .map_or(0, |n| n.as_str().parse().unwrap_or(0_u64))
        };
        let failed = number("failed");
        findings.runs.close(
            TOOL,
            TestTotals {
                passed: number("run").saturating_sub(failed),
                failed,
                skipped: std::mem::take(&mut self.skipped),
            },
        );
    }

    fn close(&mut self, findings: &mut Findings) {
        self.expected = None;
        if let Some(draft) = self.draft.take() {
            record_failure(draft, findings);
        }
    }
}

fn record_failure(draft: FailureBuilder, findings: &mut Findings) {
    findings.add_tool(TOOL);
    findings.add_test(TOOL, draft);
}
