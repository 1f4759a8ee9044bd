//! cabal: unresolved dependencies, missing modules, and the results of test suites. The compiler's messages
//! are read by [GHC's format](super::ghc).

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome};
use crate::line::CleanLine;
use crate::record::FailureKind;

const TOOL: &str = "cabal";
/// How many lines of an error are read.
const BODY_LINES: u32 = 12;

/// Reads cabal's own errors.
#[derive(Debug, Default)]
pub(super) struct CabalParser {
    draft: Option<FailureBuilder>,
    lines: u32,
    /// The lines of the error, joined.
    message: String,
    /// Results of test suites were read; their count follows.
    suites: bool,
}

/// Errors that only repeat earlier ones.
const CONSEQUENCES: [&str; 2] = ["Failed to build ", "Tests failed for "];

impl FormatParser for CabalParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        let said = text
            .strip_prefix("cabal: ")
            .or(text.strip_prefix("Error: cabal: "));
        if let Some(message) = said {
            self.finish(findings);
            findings.add_tool(TOOL);
            if CONSEQUENCES.iter().any(|start| message.starts_with(start)) {
                return LineClaim::Ignore;
            }
            let mut draft = FailureBuilder::new(FailureKind::Infra, TOOL, line);
            draft.push_excerpt(line);
            message.clone_into(&mut self.message);
            self.draft = Some(draft);
            self.lines = 0;
            return LineClaim::Evidence;
        }
        if let Some((suite, outcome)) = parse_suite_result(text) {
            self.suites = true;
            return record_suite_result(suite, outcome, line, findings);
        }
        if text.ends_with(" test cases) passed.") {
            self.suites = false;
            if findings.has_tool(TOOL) {
                findings.runs.close_as_seen(TOOL);
            }
            return LineClaim::Ignore;
        }
        let Some(draft) = self
            .draft
            .as_mut()
            .filter(|_| !line.is_blank() && self.lines < BODY_LINES)
        else {
            self.finish(findings);
            return LineClaim::NotMine;
        };
        self.lines += 1;
        // The steps of the dependency solver: the first that failed has the reason.
        let step = text
            .strip_prefix("[__")
            .and_then(|rest| rest.split_once("] "));
        match step {
            Some((_, step)) if step.starts_with("trying: ") || step.starts_with("fail ") => {}
            Some((_, step)) => {
                self.message.push(' ');
                self.message.push_str(step);
            }
            None if text.starts_with("After searching") => self.lines = BODY_LINES,
            None => {
                self.message.push(' ');
                self.message.push_str(line.body());
            }
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.suites
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            draft.push_message(&self.message);
            findings.add(draft.build());
        }
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
    findings.runs.record_test(TOOL, outcome, Some(suite));
    if outcome == TestOutcome::Failed {
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(suite.to_owned());
        draft.push_message("the test suite failed");
        findings.add(draft.build());
    }
    LineClaim::Evidence
}
