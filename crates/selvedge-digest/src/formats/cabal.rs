//! cabal: unresolved dependencies, missing modules, and the results of test suites. The compiler's messages
//! are read by [GHC's format](super::ghc).

use super::prelude::*;

const TOOL: &str = "cabal";
/// How many lines of an error are read.
const BODY_LINES: u32 = 12;

/// Reads cabal's own errors.
#[derive(Debug, Default)]
pub(super) struct CabalFormat {
    lines: u32,
    /// Results of test suites were read; their count follows.
    suites: bool,
}

/// Errors that only repeat earlier ones.
const CONSEQUENCES: [&str; 2] = ["Failed to build ", "Tests failed for "];

impl BlockFormat for CabalFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if let Some((suite, outcome)) = parse_suite_result(text) {
            self.suites = true;
            let claim = record_suite_result(suite, outcome, line, findings);
            return Some(BlockStep::Claim(claim));
        }
        if text.ends_with(" test cases) passed.") {
            self.suites = false;
            if findings.has_tool(TOOL) {
                findings.runs.close_as_seen(TOOL);
            }
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        let message = text
            .strip_prefix("Error: ")
            .unwrap_or(text)
            .strip_prefix("cabal: ")?;
        if CONSEQUENCES.iter().any(|start| message.starts_with(start)) {
            findings.add_tool(TOOL);
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        self.lines = 0;
        let draft = FailureBuilder::with_message(FailureKind::Infra, TOOL, message, line);
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.is_blank() || self.lines >= BODY_LINES {
            return BlockStep::OVER;
        }
        self.lines += 1;
        // The steps of the dependency solver: the first that failed has the reason.
        let text = line.text;
        let step = text
            .strip_prefix("[__")
            .and_then(|rest| rest.split_once("] "));
        match step {
            Some((_, step)) if step.starts_with("trying: ") || step.starts_with("fail ") => {}
            None if text.starts_with("After searching") => self.lines = BODY_LINES,
            _ => {
                draft.extend_message(" ", step.map_or(line.body(), |(_, step)| step));
            }
        }
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.suites
    }
}

/// `Test suite spec: FAIL`
fn parse_suite_result(text: &str) -> Option<(&str, TestOutcome)> {
    let (suite, outcome) = text.strip_prefix("Test suite ")?.rsplit_once(": ")?;
    match outcome {
        "FAIL" => Some((suite, TestOutcome::Failed)),
        "PASS" => Some((suite, TestOutcome::Passed)),
        _ => None,
    }
}

/// Records a suite, unless another runner has already reported its tests one by one.
fn record_suite_result(
    suite: &str,
    outcome: TestOutcome,
    line: &CleanLine<'_>,
    findings: &mut Findings,
) -> LineClaim {
    if findings.has_tool("hspec") {
        return LineClaim::Ignore;
    }
    findings.add_tool(TOOL);
    findings.record_test(TOOL, outcome, suite);
    if outcome == TestOutcome::Failed {
        let mut draft = FailureBuilder::test(TOOL, suite, line);
        draft.push_message("the test suite failed");
        findings.add(draft.build());
    }
    LineClaim::Evidence
}
