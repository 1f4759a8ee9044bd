//! SARIF, the static analysis results interchange format 2.1.0 of OASIS: the results of each run, and errors
//! of the tool itself.

use serde_json::Value;

use super::{EntryMatch, JsonEntry, JsonReportParser};
use crate::formats::prelude::*;

/// Maximum number of results that are held until their tool's name is read, which may follow them.
const WAITING: usize = 400;

/// Reads SARIF.
#[derive(Debug, Default)]
pub(super) struct SarifParser {
    tool: Option<String>,
    waiting: Vec<FailureBuilder>,
}

impl JsonReportParser for SarifParser {
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        let is_sarif = |word: &[u8]| word.eq_ignore_ascii_case(b"sarif");
        match entry.key {
            "$schema" if entry.text.windows(5).any(is_sarif) => {}
            "tool" | "results" | "invocations" => {
                let read = entry.parse().and_then(|value: Value| match entry.key {
                    "tool" => self.set_tool(&value, findings),
                    "results" => self.record_result(&value, entry, findings),
                    _ => {
                        self.record_notifications(&value, entry, findings);
                        Some(())
                    }
                });
                read?;
            }
            "time" | "generalDiagnostics" => return None,
            _ => return Some(EntryMatch::Possible),
        }
        findings.add_tool("sarif");
        Some(EntryMatch::Certain)
    }

    fn finish_document(&mut self, _complete: bool, _: u64, findings: &mut Findings) {
        self.flush(findings);
    }
}

impl SarifParser {
    fn set_tool(&mut self, tool: &Value, findings: &mut Findings) -> Option<()> {
        self.tool = Some(string_at(tool, "/driver/name")?.to_owned());
        self.flush(findings);
        Some(())
    }

    fn record_result(
        &mut self,
        result: &Value,
        entry: &JsonEntry<'_>,
        findings: &mut Findings,
    ) -> Option<()> {
        result.get("message")?.as_object()?;
        let fails = string_at(result, "/kind").is_none_or(|kind| kind == "fail");
        let absent = string_at(result, "/baselineState") == Some("absent");
        if fails && !absent && result.pointer("/suppressions/0").is_none() {
            let mut draft = entry.start_failure(FailureKind::Lint, "sarif");
            if string_at(result, "/level") != Some("error") {
                draft.severity = FailureSeverity::Warning;
            }
            let rule = string_at(result, "/ruleId").or_else(|| string_at(result, "/rule/id"));
            draft.failure.code = rule.map(str::to_owned);
            self.add(draft, result, findings);
        }
        Some(())
    }

    /// Records the errors in the tool's report on its own run.
    fn record_notifications(
        &mut self,
        invocation: &Value,
        entry: &JsonEntry<'_>,
        findings: &mut Findings,
    ) {
        for kind in [
            "toolExecutionNotifications",
            "toolConfigurationNotifications",
        ] {
            let notifications = invocation.get(kind).and_then(Value::as_array);
            for notification in notifications.into_iter().flatten() {
                if string_at(notification, "/level") == Some("error") {
                    let draft = entry.start_failure(FailureKind::Runtime, "sarif");
                    self.add(draft, notification, findings);
                }
            }
        }
    }

    /// Adds a failure with the message and the location of `source`.
    fn add(&mut self, mut draft: FailureBuilder, source: &Value, findings: &mut Findings) {
        let message = string_at(source, "/message/text");
        let message = message.or_else(|| string_at(source, "/message/markdown"));
        draft.push_message(message.unwrap_or_default());
        if let Some(place) = source.pointer("/locations/0/physicalLocation")
            && let Some(uri) = string_at(place, "/artifactLocation/uri")
        {
            let number = |path| place.pointer(path)?.as_u64()?.try_into().ok();
            draft.set_location(
                uri.strip_prefix("file://").unwrap_or(uri),
                number("/region/startLine"),
                number("/region/startColumn"),
            );
        }
        self.waiting.push(draft);
        if self.tool.is_some() || self.waiting.len() == WAITING {
            self.flush(findings);
        }
    }

    fn flush(&mut self, findings: &mut Findings) {
        for mut draft in self.waiting.drain(..) {
            if let Some(tool) = &self.tool {
                draft.failure.tool = Some(tool.clone());
            }
            findings.add(draft.build());
        }
    }
}

fn string_at<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path)?.as_str()
}
