//! Alcotest, OCaml's test runner: a list of results, and a box with the explanation of each failure,
//! or of the first alone.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "alcotest";
/// How many failures are remembered that were listed and not yet explained.
const LISTED: usize = 400;

/// Reads Alcotest's report.
#[derive(Debug, Default)]
pub(super) struct Alcotest {
    draft: Option<Draft>,
    expected: Option<String>,
    /// Listed as failed, and not yet explained.
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

impl Format for Alcotest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text.contains('[')
            && let Some(result) = RESULT.captures(line.text)
        {
            return self.result(&result, line, findings);
        }
        if let Some(totals) = TOTALS.captures(line.text) {
            self.totals(&totals, line, findings);
            return Claim::Evidence;
        }
        self.body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Alcotest {
    fn result(
        &mut self,
        result: &regex::Captures<'_>,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        let id = format!(
            "{} {} {}",
            &result["suite"], &result["index"], &result["name"]
        );
        match (&result["outcome"], line.text.starts_with('│')) {
            ("FAIL", true) => {
                self.close(findings);
                self.listed.retain(|listed| *listed != id);
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id);
                self.draft = Some(draft);
                return Claim::Evidence;
            }
            ("FAIL", false) => {
                if self.listed.len() < LISTED {
                    self.listed.push(id);
                }
            }
            ("SKIP", _) => {
                self.skipped += 1;
                findings.runs.test(TOOL, Outcome::Skipped, Some(&id));
            }
            _ => findings.runs.test(TOOL, Outcome::Passed, Some(&id)),
        }
        Claim::Noise
    }

    /// A line of the explanation below a box.
    fn body(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let body = line.body();
        if body.starts_with('─') || body.starts_with("Logs saved to") {
            self.close(findings);
            return Claim::Noise;
        }
        if let Some(frame) = FRAME.captures(line.text) {
            let file = &frame["file"];
            let foreign = file.starts_with("src/alcotest")
                || file == "stdlib.ml"
                || file.starts_with("stdlib/");
            if foreign {
                draft.skip(line);
            } else {
                let column = frame["column"]
                    .parse()
                    .ok()
                    .map(|column: u32| column.saturating_add(1));
                draft.place(file, frame["line"].parse().ok(), column);
                draft.excerpt(line);
            }
        } else if let Some(expected) = body.strip_prefix("Expected: ") {
            self.expected = Some(expected.to_owned());
            draft.message(body);
        } else if let Some(received) = body.strip_prefix("Received: ") {
            draft.message(body);
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
                draft.summary(&summary);
            }
        } else if !body.is_empty()
            && !body.starts_with(['└', '┌', '│'])
            && !body.starts_with("ASSERT ")
        {
            let said = body
                .strip_prefix("FAIL ")
                .or(body.strip_prefix("[failure] "));
            draft.message(said.or(body.strip_prefix("[exception] ")).unwrap_or(body));
            draft.excerpt(line);
        }
        Claim::Evidence
    }

    fn totals(&mut self, totals: &regex::Captures<'_>, line: &Line<'_>, findings: &mut Findings) {
        self.close(findings);
        findings.tool(TOOL);
        for id in std::mem::take(&mut self.listed) {
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(id);
            draft.message("failed");
            record(draft, findings);
        }
        let number = |name: &str| {
            totals
                .name(name)
                .map_or(0, |n| n.as_str().parse().unwrap_or(0_u64))
        };
        let failed = number("failed");
        findings.runs.close(
            TOOL,
            Totals {
                passed: number("run").saturating_sub(failed),
                failed,
                skipped: std::mem::take(&mut self.skipped),
            },
        );
    }

    fn close(&mut self, findings: &mut Findings) {
        self.expected = None;
        if let Some(draft) = self.draft.take() {
            record(draft, findings);
        }
    }
}

fn record(draft: Draft, findings: &mut Findings) {
    findings.tool(TOOL);
    findings.add_test(TOOL, draft);
}
