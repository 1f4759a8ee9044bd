//! `mocha --reporter json`: every test, then the pending, failed and passed ones again.

use serde::Deserialize;

use super::{Report, Told};
use crate::findings::{Draft, Findings, Outcome};
use crate::formats::trace;
use crate::record::FailureKind;

const TOOL: &str = "mocha";

/// Reads mocha's report.
#[derive(Debug, Default)]
pub(super) struct Mocha {
    known: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    #[serde(rename = "suites")]
    _suites: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    full_title: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    err: Error,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Error {
    message: String,
    stack: String,
}

impl Report for Mocha {
    fn entry(&mut self, key: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        if key == "stats" && serde_json::from_slice::<Stats>(value).is_ok() {
            self.known = true;
            findings.tool(TOOL);
            findings.runs.begin(TOOL);
            findings.runs.mode(TOOL, "report");
            return Told::Known;
        }
        let outcome = match key {
            "passes" => Outcome::Passed,
            "failures" => Outcome::Failed,
            "pending" => Outcome::Skipped,
            _ => return if self.known { Told::Known } else { Told::Never },
        };
        let Ok(test) = serde_json::from_slice::<Test>(value) else {
            return Told::Never;
        };
        // Titles are unique in a file at best.
        let within_all = match &test.file {
            Some(file) => &format!("{file} > {}", test.full_title),
            None => &test.full_title,
        };
        findings.runs.test(TOOL, outcome, Some(within_all));
        if outcome == Outcome::Failed {
            let mut draft = Draft::structured(FailureKind::Test, TOOL, number);
            draft.failure.id = Some(test.full_title);
            let said = if test.err.stack.is_empty() {
                &test.err.message
            } else {
                &test.err.stack
            };
            trace::read(&mut draft, said, test.file.as_deref());
            if let Some(file) = &test.file {
                draft.place(file, None, None);
            }
            findings.add(draft.found());
        }
        Told::Known
    }

    fn end(&mut self, complete: bool, _number: u64, findings: &mut Findings) {
        if complete {
            findings.runs.close_as_seen(TOOL);
        }
    }
}
