//! Alcotest, OCaml's test runner: a list of results, and a box with the explanation of each failure,
//! or of the first alone.

use super::prelude::*;

const TOOL: &str = "alcotest";
/// Maximum number of failures that are listed but not yet explained.
const LISTED: usize = 400;

/// Reads Alcotest's report.
#[derive(Debug, Default)]
pub(super) struct AlcotestFormat {
    expected: Option<String>,
    /// Failures that are listed but not yet explained.
    listed: Vec<String>,
    skipped: u64,
}

static RESULT: LinePattern = LinePattern::new(
    r"^(?:│ |> |  )\[(?P<outcome>OK|FAIL|SKIP)\] +(?P<suite>\S.*?) {2,}(?P<index>\d+) {3}(?P<name>.+?)\.?(?: +│)?$",
);
static TOTALS: LinePattern = LinePattern::new(
    r"^(?:(?P<failed>\d+) failures?!|Test Successful) in [\d.]+s\. (?P<run>\d+) tests? run\.$",
);
static FRAME: LinePattern = LinePattern::new(
    r#"^\s*(?:Raised|Called|Re-raised) (?:at|from) (?P<function>\S+) in file "(?P<file>[^"]+)", line (?P<line>\d+), characters (?P<column>\d+)-"#,
);

impl BlockFormat for AlcotestFormat {
    const IS_TEST: bool = true;
    const IS_CERTAIN: bool = false;

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        if let Some(result) = RESULT.captures_marked(line.text, "[") {
            return Some(self.parse_result(&result, line, findings));
        }
        let totals = TOTALS.captures(line.text)?;
        for id in std::mem::take(&mut self.listed) {
            let mut draft = FailureBuilder::test(TOOL, id, line);
            draft.push_message("failed");
            findings.add_test(draft);
        }
        let mut totals = TestTotals::captured(&totals);
        totals.skipped = std::mem::take(&mut self.skipped);
        Some(BlockStep::Totals(TOOL, totals))
    }

    /// A line of the explanation below a box.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let body = line.body();
        if body.starts_with('─') || body.starts_with("Logs saved to") {
            return BlockStep::End(LineClaim::Ignore);
        }
        if let Some(frame) = FRAME.captures(line.text) {
            let file = &frame["file"];
            let foreign = file.starts_with("src/alcotest")
                || file == "stdlib.ml"
                || file.starts_with("stdlib/");
            if !foreign {
                let column: Option<u32> = frame.number("column");
                let column = column.map(|column| column.saturating_add(1));
                draft.set_location(file, frame.number("line"), column);
                return BlockStep::Shown;
            }
        } else if let Some(expected) = body.strip_prefix("Expected: ") {
            self.expected = Some(expected.to_owned());
            draft.push_message(body);
        } else if let Some(received) = body.strip_prefix("Received: ") {
            draft.push_message(body);
            if let Some(expected) = self.expected.take() {
                let message = draft.failure.message.as_deref();
                let what = message
                    .and_then(|message| message.lines().next())
                    .filter(|what| !what.starts_with("Expected"))
                    .unwrap_or("check");
                let summary = format!("{what}: expected {expected}, received {received}");
                draft.set_summary(&summary);
            }
        } else if !body.is_empty()
            && !body.starts_with(['└', '┌', '│'])
            && !body.starts_with("ASSERT ")
        {
            let marks = ["FAIL ", "[failure] ", "[exception] "];
            let message = marks.iter().find_map(|mark| body.strip_prefix(mark));
            draft.push_message(message.unwrap_or(body));
            return BlockStep::Shown;
        }
        BlockStep::Taken
    }
}

impl AlcotestFormat {
    fn parse_result(
        &mut self,
        result: &Groups<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> BlockStep {
        let [suite, index, name] = ["suite", "index", "name"].map(|part| &result[part]);
        let id = format!("{suite} {index} {name}");
        match (&result["outcome"], line.text.starts_with('│')) {
            ("FAIL", true) => {
                self.expected = None;
                self.listed.retain(|listed| *listed != id);
                return BlockStep::Begin(FailureBuilder::test(TOOL, id, line));
            }
            ("FAIL", false) => {
                if self.listed.len() < LISTED {
                    self.listed.push(id);
                }
            }
            ("SKIP", _) => {
                self.skipped += 1;
                findings.record_test(TOOL, TestOutcome::Skipped, &id);
            }
            _ => findings.record_test(TOOL, TestOutcome::Passed, &id),
        }
        BlockStep::Claim(LineClaim::Ignore)
    }
}
