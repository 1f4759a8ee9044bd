//! libtest's `--format json`, an event a line: of the unstable option, and of nextest's
//! `--message-format libtest-json`, which runs on stable.

use serde::Deserialize;

use super::{Report, Told};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::formats::trace;
use crate::record::FailureKind;

const TOOL: &str = "libtest";
/// What each of its events begins with.
pub(super) const FIRST_KEY: &str = "type";

/// Reads an event of libtest's.
#[derive(Debug, Default)]
pub(super) struct Libtest;

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    of: String,
    #[serde(rename = "event")]
    what: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    passed: u64,
    #[serde(default)]
    failed: u64,
    #[serde(default)]
    ignored: u64,
}

impl Report for Libtest {
    fn entry(&mut self, _: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        let Ok(event) = serde_json::from_slice::<Event>(value) else {
            return Told::Never;
        };
        match (event.of.as_str(), event.what.as_str()) {
            ("suite", "started") => {
                findings.runs.begin(TOOL);
                findings.runs.mode(TOOL, "report");
            }
            ("suite", "ok" | "failed") => {
                let (passed, failed, skipped) = (event.passed, event.failed, event.ignored);
                findings.runs.close(
                    TOOL,
                    Totals {
                        passed,
                        failed,
                        skipped,
                    },
                );
            }
            ("test", "ok") => findings.runs.test(TOOL, Outcome::Passed, Some(&event.name)),
            ("test", "ignored") => findings
                .runs
                .test(TOOL, Outcome::Skipped, Some(&event.name)),
            ("test", "failed" | "timeout") => failed(&event, number, findings),
            ("test" | "bench" | "report" | "suite", _) => {}
            _ => return Told::Never,
        }
        findings.tool(TOOL);
        Told::Known
    }
}

fn failed(event: &Event, number: u64, findings: &mut Findings) {
    if event.what == "failed" {
        findings.runs.test(TOOL, Outcome::Failed, Some(&event.name));
    }
    let mut draft = Draft::structured(FailureKind::Test, TOOL, number);
    draft.failure.id = Some(event.name.clone());
    // Before the panic stands what the test printed.
    let (printed, panic) = match event.stdout.find("panicked at ") {
        Some(at) => event
            .stdout
            .split_at(event.stdout[..at].rfind('\n').map_or(0, |at| at + 1)),
        None => ("", event.stdout.as_str()),
    };
    if let Some(message) = event.message.as_deref().or(event.reason.as_deref()) {
        draft.message(message);
    }
    trace::read(&mut draft, panic, None);
    for line in printed.lines() {
        draft.excerpt_text(line);
    }
    draft
        .failure
        .message
        .get_or_insert_with(|| event.what.clone());
    findings.add(draft.found());
}
