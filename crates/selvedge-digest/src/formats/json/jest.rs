//! `jest --json` and `vitest --reporter=json`: one entry per test file.
//!
//! ParserPair report files that did not load outside of the assertions, and vitest omits errors outside of all
//! tests: only `success` shows them.

use serde::Deserialize;

use super::{EntryMatch, JsonEntry, JsonReportParser};
use crate::formats::prelude::*;
use crate::formats::stack_trace;

/// Reads the report of jest or of vitest.
#[derive(Debug)]
pub(super) struct JestJsonParser {
    tool: &'static str,
    /// The separator between titles in an id, as in the runner's text output.
    separator: &'static str,
    success: Option<bool>,
    failures: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestTestFile {
    name: String,
    status: String,
    #[serde(default)]
    message: String,
    assertion_results: Vec<JestAssertion>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestAssertion {
    #[serde(default)]
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    #[serde(default)]
    failure_messages: Option<Vec<String>>,
    #[serde(default)]
    location: Option<JestLocation>,
}

#[derive(Debug, Deserialize)]
struct JestLocation {
    line: u32,
    column: Option<u32>,
}

impl JestJsonParser {
    pub(super) fn new(tool: &'static str) -> Self {
        Self {
            tool,
            separator: if tool == "jest" { " › " } else { " > " },
            success: None,
            failures: 0,
        }
    }

    fn record_file(&mut self, file: &JestTestFile, entry: &JsonEntry<'_>, findings: &mut Findings) {
        for test in &file.assertion_results {
            let id = self.test_id(&file.name, test);
            // Titles are unique within a file at best.
            let within_all = match self.tool {
                "vitest" => id.clone(),
                _ => format!("{}{}{id}", file.name, self.separator),
            };
            let outcome = TestOutcome::named(&test.status);
            findings.record_test(self.tool, outcome, &within_all);
            if outcome != TestOutcome::Failed {
                continue;
            }
            let mut draft = entry.start_failure(FailureKind::Test, self.tool);
            draft.failure.id = Some(id);
            for message in test.failure_messages.iter().flatten() {
                stack_trace::parse_trace(&mut draft, message, Some(&file.name));
            }
            let at = test
                .location
                .as_ref()
                .map(|at| (at.line, at.column))
                .unzip();
            draft.set_location(&file.name, at.0, at.1.flatten());
            self.add(draft, findings);
        }
        let mut tests = file.assertion_results.iter();
        if file.status == "failed" && !tests.any(|test| test.status == "failed") {
            let mut draft = entry.start_failure(FailureKind::Test, self.tool);
            draft.failure.id = Some(file.name.clone());
            let message = file.message.trim_start();
            let message = message
                .strip_prefix("● Test suite failed to run")
                .unwrap_or(message);
            stack_trace::parse_trace(&mut draft, message, Some(&file.name));
            draft.set_location(&file.name, None, None);
            draft.default_message("the test file failed to run");
            findings.record_test(self.tool, TestOutcome::Failed, &file.name);
            self.add(draft, findings);
        }
    }

    fn test_id(&self, file: &str, test: &JestAssertion) -> String {
        let mut titles: Vec<&str> = test.ancestor_titles.iter().map(String::as_str).collect();
        if self.tool == "vitest" {
            titles.insert(0, file);
        }
        titles.push(&test.title);
        titles.join(self.separator)
    }

    fn add(&mut self, draft: FailureBuilder, findings: &mut Findings) {
        self.failures += 1;
        findings.add(draft.build());
    }
}

impl JsonReportParser for JestJsonParser {
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        match entry.key {
            "success" => {
                self.success = entry.parse();
                Some(EntryMatch::Possible)
            }
            "testResults" => {
                let file: JestTestFile = entry.parse()?;
                self.record_file(&file, entry, findings);
                Some(EntryMatch::Certain)
            }
            _ if entry.key.starts_with("num") => {
                findings.add_tool(self.tool);
                Some(EntryMatch::Certain)
            }
            _ => Some(EntryMatch::Possible),
        }
    }

    fn finish_document(&mut self, complete: bool, number: u64, findings: &mut Findings) {
        if self.success == Some(false) && self.failures == 0 {
            let mut draft = FailureBuilder::structured(FailureKind::Test, self.tool, number);
            draft.push_message("the run failed, but no test did: an error outside of the tests");
            self.add(draft, findings);
        }
        if complete {
            findings.runs.set_mode(self.tool, "report");
            findings.runs.close_as_seen(self.tool);
        }
    }
}
