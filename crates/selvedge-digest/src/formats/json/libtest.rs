//! libtest's `--format json`, one event per line: of the unstable option, and of nextest's `--message-format
//! libtest-json`, which works on stable.

use serde::Deserialize;

use super::{EntryMatch, JsonEntry, JsonReportParser};
use crate::formats::prelude::*;
use crate::formats::stack_trace;

const TOOL: &str = "libtest";
/// The first key of every event.
pub(super) const FIRST_KEY: &str = "type";

/// Reads an event of libtest's.
#[derive(Debug, Default)]
pub(super) struct LibtestJsonParser;

#[derive(Debug, Deserialize)]
struct LibtestEvent {
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

impl JsonReportParser for LibtestJsonParser {
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        let event: LibtestEvent = entry.parse()?;
        match (event.of.as_str(), event.what.as_str()) {
            ("suite", "started") => findings.begin_report(TOOL),
            ("suite", "ok" | "failed") => {
                let (passed, failed, skipped) = (event.passed, event.failed, event.ignored);
                findings.runs.close(
                    TOOL,
                    TestTotals {
                        passed,
                        failed,
                        skipped,
                    },
                );
            }
            ("test", "ok") => {
                findings.record_test(TOOL, TestOutcome::Passed, &event.name);
            }
            ("test", "ignored") => {
                findings.record_test(TOOL, TestOutcome::Skipped, &event.name);
            }
            ("test", "failed" | "timeout") => record_failure(&event, entry, findings),
            ("test" | "bench" | "report" | "suite", _) => {}
            _ => return None,
        }
        findings.add_tool(TOOL);
        Some(EntryMatch::Certain)
    }
}

fn record_failure(event: &LibtestEvent, entry: &JsonEntry<'_>, findings: &mut Findings) {
    if event.what == "failed" {
        findings.record_test(TOOL, TestOutcome::Failed, &event.name);
    }
    let mut draft = entry.start_failure(FailureKind::Test, TOOL);
    draft.failure.id = Some(event.name.clone());
    // The test's output comes before the panic.
    let (printed, panic) = match event.stdout.find("panicked at ") {
        Some(at) => event
            .stdout
            .split_at(event.stdout[..at].rfind('\n').map_or(0, |at| at + 1)),
        None => ("", event.stdout.as_str()),
    };
    if let Some(message) = event.message.as_deref().or(event.reason.as_deref()) {
        draft.push_message(message);
    }
    stack_trace::parse_trace(&mut draft, panic, None);
    for line in printed.lines() {
        draft.push_excerpt_text(line);
    }
    draft.default_message(&event.what);
    findings.add(draft.build());
}
