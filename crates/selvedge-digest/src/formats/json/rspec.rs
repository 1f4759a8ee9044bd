//! `rspec --format json`: every example, then a summary that also counts the errors outside of them,
//! of which the messages tell before.

use serde::Deserialize;

use super::{Report, Told};
use crate::findings::{Draft, Findings, Outcome};
use crate::formats::trace;
use crate::record::FailureKind;

const TOOL: &str = "rspec";

/// Reads RSpec's report.
#[derive(Debug, Default)]
pub(super) struct RSpec {
    messages: Vec<String>,
    summed_up: bool,
}

#[derive(Debug, Deserialize)]
struct Example {
    full_description: String,
    status: String,
    file_path: String,
    #[serde(default)]
    line_number: Option<u32>,
    #[serde(default)]
    exception: Option<Exception>,
}

#[derive(Debug, Deserialize)]
struct Exception {
    class: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    backtrace: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    #[serde(rename = "example_count")]
    _examples: u64,
    #[serde(default)]
    errors_outside_of_examples_count: u64,
}

impl Report for RSpec {
    fn entry(&mut self, key: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        match key {
            "version" | "seed" => Told::Maybe,
            "messages" => {
                self.messages
                    .extend(serde_json::from_slice::<String>(value));
                Told::Maybe
            }
            "examples" => match serde_json::from_slice::<Example>(value) {
                Ok(example) => {
                    findings.tool(TOOL);
                    self::example(&example, number, findings);
                    Told::Known
                }
                Err(_) => Told::Never,
            },
            "summary" => match serde_json::from_slice::<Summary>(value) {
                Ok(summary) => {
                    self.sum_up(&summary, number, findings);
                    Told::Known
                }
                Err(_) => Told::Never,
            },
            "summary_line" => Told::Known,
            _ => Told::Never,
        }
    }

    fn end(&mut self, complete: bool, _number: u64, findings: &mut Findings) {
        if complete && self.summed_up {
            findings.runs.mode(TOOL, "report");
            findings.runs.close_as_seen(TOOL);
        }
    }
}

impl RSpec {
    fn sum_up(&mut self, summary: &Summary, number: u64, findings: &mut Findings) {
        findings.tool(TOOL);
        self.summed_up = true;
        if summary.errors_outside_of_examples_count > 0 {
            let mut draft = Draft::structured(FailureKind::Test, TOOL, number);
            draft.message("an error occurred outside of the examples");
            for line in self.messages.iter().flat_map(|message| message.lines()) {
                draft.excerpt_text(line);
            }
            findings.runs.test(TOOL, Outcome::Failed, None);
            findings.add(draft.found());
        }
    }
}

fn example(example: &Example, number: u64, findings: &mut Findings) {
    let id = &example.full_description;
    let outcome = match example.status.as_str() {
        "passed" => Outcome::Passed,
        "failed" => Outcome::Failed,
        _ => Outcome::Skipped,
    };
    // Two files may describe the same in the same words.
    let within_all = format!("{} > {id}", example.file_path);
    findings.runs.test(TOOL, outcome, Some(&within_all));
    if outcome != Outcome::Failed {
        return;
    }
    let mut draft = Draft::structured(FailureKind::Test, TOOL, number);
    draft.failure.id = Some(id.clone());
    if let Some(exception) = &example.exception {
        // An expectation that is not met needs no name.
        let message = exception.message.trim();
        if exception.class.ends_with("ExpectationNotMetError") {
            draft.message(message);
        } else {
            draft.message(&format!("{}: {message}", exception.class));
        }
        // As RSpec prints them for people.
        let frames = exception.backtrace.iter().flatten();
        let frames: Vec<String> = frames.map(|frame| format!("# {frame}")).collect();
        trace::read(&mut draft, &frames.join("\n"), Some(&example.file_path));
    }
    draft.place(&example.file_path, example.line_number, None);
    findings.add(draft.found());
}
