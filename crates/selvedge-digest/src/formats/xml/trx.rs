//! .NET's test results (`dotnet test --logger trx`). Results come first and name their test in a
//! framework-specific way: some only by the method. The class follows later, so nothing is recorded before
//! the end.

use std::collections::HashMap;

use super::{XmlReportParser, XmlTag};
use crate::formats::prelude::*;
use crate::formats::stack_trace;

const TOOL: &str = "dotnet test";
/// Maximum length of a failure's text, in bytes.
const TEXT_BYTES: usize = 64 << 10;

/// Reads .NET's report.
#[derive(Debug, Default)]
pub(super) struct TrxParser {
    /// Names of the open elements.
    open: Vec<String>,
    results: Vec<TrxResult>,
    /// The open definition, and the class of each defined test.
    definition: String,
    classes: HashMap<String, String>,
    /// Outcome of the whole run.
    ended: String,
    number: u64,
}

/// The result of one test.
#[derive(Debug)]
struct TrxResult {
    test: String,
    name: String,
    outcome: TestOutcome,
    message: String,
    stack: String,
}

impl XmlReportParser for TrxParser {
    fn open_element(&mut self, tag: &XmlTag<'_>, number: u64, findings: &mut Findings) {
        self.number = number;
        let name = tag.name();
        let get = |name| tag.attribute(name).unwrap_or_default();
        match name.as_str() {
            "TestRun" => findings.begin_report(TOOL),
            "UnitTestResult" => self.results.push(TrxResult {
                test: get("testId"),
                name: get("testName"),
                outcome: parse_outcome(&get("outcome")),
                message: String::new(),
                stack: String::new(),
            }),
            "UnitTest" => self.definition = get("id"),
            "TestMethod" => {
                let test = std::mem::take(&mut self.definition);
                self.classes.insert(test, get("className"));
            }
            "ResultSummary" => self.ended = get("outcome"),
            _ => {}
        }
        self.open.push(name);
    }

    fn push_text(&mut self, text: &str) {
        let Some(result) = self.results.last_mut() else {
            return;
        };
        let into = match self.open.last().map(String::as_str) {
            Some("Message") => &mut result.message,
            Some("StackTrace") => &mut result.stack,
            _ => return,
        };
        // The run's own messages are in elements of the same name, after the results.
        if self.open.iter().any(|name| name == "UnitTestResult") {
            let room = TEXT_BYTES.saturating_sub(into.len());
            into.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    fn close_element(&mut self, findings: &mut Findings) {
        if self.open.pop().as_deref() == Some("TestRun") {
            self.report_results(findings);
            findings.runs.close_as_seen(TOOL);
        }
    }

    fn finish_truncated(&mut self, findings: &mut Findings) {
        self.report_results(findings);
    }
}

impl TrxParser {
    fn report_results(&mut self, findings: &mut Findings) {
        let mut failed = false;
        for result in std::mem::take(&mut self.results) {
            let id = self.test_id(&result);
            findings.record_test(TOOL, result.outcome, &id);
            if result.outcome != TestOutcome::Failed {
                continue;
            }
            failed = true;
            let mut draft = FailureBuilder::structured(FailureKind::Test, TOOL, self.number);
            draft.failure.id = Some(id);
            draft.push_message(&result.message);
            stack_trace::parse_trace(&mut draft, result.stack.trim_matches('\n'), None);
            draft.default_message("failed");
            findings.add(draft.build());
        }
        if !failed && matches!(self.ended.as_str(), "Failed" | "Error" | "Aborted") {
            let mut draft = FailureBuilder::structured(FailureKind::Test, TOOL, self.number);
            draft.push_message("the run failed, but no test did: an error outside of the tests");
            findings.add(draft.build());
        }
    }

    fn test_id(&self, result: &TrxResult) -> String {
        match self.classes.get(&result.test) {
            Some(class) if !result.name.contains(class.as_str()) => {
                format!("{class}.{}", result.name)
            }
            _ => result.name.clone(),
        }
    }
}

fn parse_outcome(outcome: &str) -> TestOutcome {
    match outcome {
        "Passed" | "Warning" | "Completed" => TestOutcome::Passed,
        "NotExecuted" | "NotRunnable" | "Inconclusive" | "Pending" => TestOutcome::Skipped,
        _ => TestOutcome::Failed,
    }
}
