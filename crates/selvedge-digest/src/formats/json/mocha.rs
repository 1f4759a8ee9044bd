//! `mocha --reporter json`: every test, then the pending, failed and passed ones again.

use serde::Deserialize;

use super::{EntryMatch, JsonEntry, JsonReportParser};
use crate::formats::prelude::*;
use crate::formats::stack_trace;

const TOOL: &str = "mocha";

/// Reads mocha's report.
#[derive(Debug, Default)]
pub(super) struct MochaJsonParser {
    is_recognized: bool,
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
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        if entry.key == "stats" && entry.parse::<MochaStats>().is_some() {
            self.is_recognized = true;
            findings.begin_report(TOOL);
            return Some(EntryMatch::Certain);
        }
        let outcome = match entry.key {
            "passes" => TestOutcome::Passed,
            "failures" => TestOutcome::Failed,
            "pending" => TestOutcome::Skipped,
            _ => return self.is_recognized.then_some(EntryMatch::Certain),
        };
        let test: MochaTest = entry.parse()?;
        // Titles are unique within a file at best.
        let within_all = match &test.file {
            Some(file) => &format!("{file} > {}", test.full_title),
            None => &test.full_title,
        };
        findings.record_test(TOOL, outcome, within_all);
        if outcome == TestOutcome::Failed {
            let mut draft = entry.start_failure(FailureKind::Test, TOOL);
            draft.failure.id = Some(test.full_title);
            let trace = if test.err.stack.is_empty() {
                &test.err.message
            } else {
                &test.err.stack
            };
            stack_trace::parse_trace(&mut draft, trace, test.file.as_deref());
            if let Some(file) = &test.file {
                draft.set_location(file, None, None);
            }
            findings.add(draft.build());
        }
        Some(EntryMatch::Certain)
    }

    fn finish_document(&mut self, complete: bool, _: u64, findings: &mut Findings) {
        if complete {
            findings.runs.close_as_seen(TOOL);
        }
    }
}
