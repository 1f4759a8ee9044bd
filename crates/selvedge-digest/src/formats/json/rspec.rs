//! `rspec --format json`: every example, then a summary that also counts errors outside of examples, which
//! are in the messages before it.

use serde::Deserialize;

use super::{EntryMatch, JsonEntry, JsonReportParser};
use crate::formats::prelude::*;
use crate::formats::stack_trace;

const TOOL: &str = "rspec";

/// Reads RSpec's report.
#[derive(Debug, Default)]
pub(super) struct RSpecJsonParser {
    messages: Vec<String>,
    summed_up: bool,
}

#[derive(Debug, Deserialize)]
struct RSpecExample {
    full_description: String,
    status: String,
    file_path: String,
    #[serde(default)]
    line_number: Option<u32>,
    #[serde(default)]
    exception: Option<RSpecException>,
}

#[derive(Debug, Deserialize)]
struct RSpecException {
    class: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    backtrace: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct RSpecSummary {
    #[serde(rename = "example_count")]
    _examples: u64,
    #[serde(default)]
    errors_outside_of_examples_count: u64,
}

impl JsonReportParser for RSpecJsonParser {
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        match entry.key {
            "version" | "seed" => Some(EntryMatch::Possible),
            "messages" => {
                self.messages.extend(entry.parse::<String>());
                Some(EntryMatch::Possible)
            }
            "examples" => {
                let example: RSpecExample = entry.parse()?;
                findings.add_tool(TOOL);
                record_example(&example, entry, findings);
                Some(EntryMatch::Certain)
            }
            "summary" => {
                let summary: RSpecSummary = entry.parse()?;
                self.record_summary(&summary, entry, findings);
                Some(EntryMatch::Certain)
            }
            "summary_line" => Some(EntryMatch::Certain),
            _ => None,
        }
    }

    fn finish_document(&mut self, complete: bool, _: u64, findings: &mut Findings) {
        if complete && self.summed_up {
            findings.runs.set_mode(TOOL, "report");
            findings.runs.close_as_seen(TOOL);
        }
    }
}

impl RSpecJsonParser {
    fn record_summary(
        &mut self,
        summary: &RSpecSummary,
        entry: &JsonEntry<'_>,
        findings: &mut Findings,
    ) {
        findings.add_tool(TOOL);
        self.summed_up = true;
        if summary.errors_outside_of_examples_count > 0 {
            let mut draft = entry.start_failure(FailureKind::Test, TOOL);
            draft.push_message("an error occurred outside of the examples");
            for line in self.messages.iter().flat_map(|message| message.lines()) {
                draft.push_excerpt_text(line);
            }
            findings.runs.record_test(TOOL, TestOutcome::Failed, None);
            findings.add(draft.build());
        }
    }
}

fn record_example(example: &RSpecExample, entry: &JsonEntry<'_>, findings: &mut Findings) {
    let id = &example.full_description;
    let outcome = TestOutcome::named(&example.status);
    // Two files may use the same descriptions.
    let within_all = format!("{} > {id}", example.file_path);
    findings.record_test(TOOL, outcome, &within_all);
    if outcome != TestOutcome::Failed {
        return;
    }
    let mut draft = entry.start_failure(FailureKind::Test, TOOL);
    draft.failure.id = Some(id.clone());
    if let Some(exception) = &example.exception {
        // A failed expectation needs no exception name.
        let message = exception.message.trim();
        if exception.class.ends_with("ExpectationNotMetError") {
            draft.push_message(message);
        } else {
            draft.push_message(&format!("{}: {message}", exception.class));
        }
        // In the format of RSpec's text output.
        let frames = exception.backtrace.iter().flatten();
        let frames: Vec<String> = frames.map(|frame| format!("# {frame}")).collect();
        stack_trace::parse_trace(&mut draft, &frames.join("\n"), Some(&example.file_path));
    }
    draft.set_location(&example.file_path, example.line_number, None);
    findings.add(draft.build());
}
