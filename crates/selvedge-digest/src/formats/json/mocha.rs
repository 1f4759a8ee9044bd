//! `mocha --reporter json`: every test, then the pending, failed and passed ones again.

use serde::Deserialize;

use super::{EntryMatch, JsonReportParser};
use crate::findings::{FailureBuilder, Findings, TestOutcome};
use crate::formats::stack_trace;
use crate::record::FailureKind;

const TOOL: &str = "mocha";

/// Reads mocha's report.
#[derive(Debug, Default)]
pub(super) struct MochaJsonParser {
    known: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MochaStats {
    #[serde(rename = "suites")]
    _suites: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MochaTest {
    full_title: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    err: MochaError,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MochaError {
    message: String,
    stack: String,
}

impl JsonReportParser for MochaJsonParser {
    fn parse_entry(
        &mut self,
        key: &str,
        value: &[u8],
        number: u64,
        findings: &mut Findings,
    ) -> EntryMatch {
        if key == "stats" && serde_json::from_slice::<MochaStats>(value).is_ok() {
            self.known = true;
            findings.add_tool(TOOL);
            findings.runs.begin(TOOL);
            findings.runs.set_mode(TOOL, "report");
            return EntryMatch::Certain;
        }
        let outcome = match key {
            "passes" => TestOutcome::Passed,
            "failures" => TestOutcome::Failed,
            "pending" => TestOutcome::Skipped,
            _ => {
                return if self.known {
                    EntryMatch::Certain
                } else {
                    EntryMatch::NoMatch
                };
            }
        };
        let Ok(test) = serde_json::from_slice::<MochaTest>(value) else {
            return EntryMatch::NoMatch;
        };
        // Titles are unique within a file at best.
        let within_all = match &test.file {
            Some(file) => &format!("{file} > {}", test.full_title),
            None => &test.full_title,
        };
        findings.runs.record_test(TOOL, outcome, Some(within_all));
        if outcome == TestOutcome::Failed {
            let mut draft = FailureBuilder::structured(FailureKind::Test, TOOL, number);
            draft.failure.id = Some(test.full_title);
            let said = if test.err.stack.is_empty() {
                &test.err.message
            } else {
                &test.err.stack
            };
            stack_trace::parse_trace(&mut draft, said, test.file.as_deref());
            if let Some(file) = &test.file {
                draft.set_location(file, None, None);
            }
            findings.add(draft.build());
        }
        EntryMatch::Certain
    }

    fn finish_document(&mut self, complete: bool, _number: u64, findings: &mut Findings) {
        if complete {
            findings.runs.close_as_seen(TOOL);
        }
    }
}
