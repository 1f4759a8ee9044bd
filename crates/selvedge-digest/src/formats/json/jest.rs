//! `jest --json` and `vitest --reporter=json`: one entry a test file.
//!
//! Both keep files that did not load beside the assertions, and vitest leaves errors outside of all
//! tests out of the report: then only `success` tells of them.

use serde::Deserialize;

use super::{Report, Told};
use crate::findings::{Draft, Findings, Outcome};
use crate::formats::trace;
use crate::record::FailureKind;

/// Reads the report of jest or of vitest.
#[derive(Debug)]
pub(super) struct Jest {
    tool: &'static str,
    /// What stands between the titles in an id, as the runner's text has it.
    separator: &'static str,
    success: Option<bool>,
    failures: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    status: String,
    #[serde(default)]
    message: String,
    assertion_results: Vec<Assertion>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    #[serde(default)]
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
    #[serde(default)]
    location: Option<Location>,
}

#[derive(Debug, Deserialize)]
struct Location {
    line: u32,
    column: Option<u32>,
}

impl Jest {
    pub(super) fn new(tool: &'static str) -> Self {
        Self {
            tool,
            separator: if tool == "jest" { " › " } else { " > " },
            success: None,
            failures: 0,
        }
    }

    fn file(&mut self, file: &File, number: u64, findings: &mut Findings) {
        for test in &file.assertion_results {
            let id = self.id(&file.name, test);
            // Titles are unique in a file at best.
            let within_all = match self.tool {
                "vitest" => id.clone(),
                _ => format!("{}{}{id}", file.name, self.separator),
            };
            let outcome = match test.status.as_str() {
                "passed" => Outcome::Passed,
                "failed" => Outcome::Failed,
                _ => Outcome::Skipped,
            };
            findings.runs.test(self.tool, outcome, Some(&within_all));
            if outcome != Outcome::Failed {
                continue;
            }
            let mut draft = Draft::structured(FailureKind::Test, self.tool, number);
            draft.failure.id = Some(id);
            for message in test.failure_messages.iter().flatten() {
                trace::read(&mut draft, message, Some(&file.name));
            }
            let at = test.location.as_ref();
            draft.place(
                &file.name,
                at.map(|at| at.line),
                at.and_then(|at| at.column),
            );
            self.add(draft, findings);
        }
        let told = file
            .assertion_results
            .iter()
            .any(|test| test.status == "failed");
        if file.status == "failed" && !told {
            let mut draft = Draft::structured(FailureKind::Test, self.tool, number);
            draft.failure.id = Some(file.name.clone());
            let message = file.message.trim_start();
            let message = message
                .strip_prefix("● Test suite failed to run")
                .unwrap_or(message);
            trace::read(&mut draft, message, Some(&file.name));
            draft.place(&file.name, None, None);
            let untold = || "the test file failed to run".to_owned();
            draft.failure.message.get_or_insert_with(untold);
            findings
                .runs
                .test(self.tool, Outcome::Failed, Some(&file.name));
            self.add(draft, findings);
        }
    }

    fn id(&self, file: &str, test: &Assertion) -> String {
        let mut titles: Vec<&str> = test.ancestor_titles.iter().map(String::as_str).collect();
        if self.tool == "vitest" {
            titles.insert(0, file);
        }
        titles.push(&test.title);
        titles.join(self.separator)
    }

    fn add(&mut self, draft: Draft, findings: &mut Findings) {
        self.failures += 1;
        findings.add(draft.found());
    }
}

impl Report for Jest {
    fn entry(&mut self, key: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        match key {
            "success" => {
                self.success = serde_json::from_slice(value).ok();
                Told::Maybe
            }
            "testResults" => match serde_json::from_slice::<File>(value) {
                Ok(file) => {
                    self.file(&file, number, findings);
                    Told::Known
                }
                Err(_) => Told::Never,
            },
            _ if key.starts_with("num") => {
                findings.tool(self.tool);
                Told::Known
            }
            _ => Told::Maybe,
        }
    }

    fn end(&mut self, complete: bool, number: u64, findings: &mut Findings) {
        if self.success == Some(false) && self.failures == 0 {
            let mut draft = Draft::structured(FailureKind::Test, self.tool, number);
            draft.message("the run failed, but no test did: an error outside of the tests");
            self.add(draft, findings);
        }
        if complete {
            findings.runs.mode(self.tool, "report");
            findings.runs.close_as_seen(self.tool);
        }
    }
}
