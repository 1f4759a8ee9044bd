//! `cargo build --message-format=json`: one message per line, with rustc's or clippy's own diagnostic in it.
//! It covers only the build: tests print text.

use serde::Deserialize;

use super::{EntryMatch, JsonEntry, JsonReportParser};
use crate::clean::strip_escapes;
use crate::formats::prelude::*;

/// Reads a message of cargo's.
#[derive(Debug, Default)]
pub(super) struct CargoJsonParser;

#[derive(Debug, Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    message: Option<CargoDiagnostic>,
}

#[derive(Debug, Deserialize)]
struct CargoDiagnostic {
    level: String,
    message: String,
    #[serde(default)]
    code: Option<CargoDiagnosticCode>,
    #[serde(default)]
    spans: Vec<CargoSpan>,
    #[serde(default)]
    rendered: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CargoDiagnosticCode {
    code: String,
}

#[derive(Debug, Deserialize)]
struct CargoSpan {
    file_name: String,
    line_start: u32,
    column_start: u32,
    is_primary: bool,
}

impl JsonReportParser for CargoJsonParser {
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        let message: CargoMessage = entry.parse()?;
        findings.add_tool("cargo");
        if message.reason == "compiler-message"
            && let Some(diagnostic) = message.message
            && !is_total(&diagnostic)
        {
            let draft = build_failure(diagnostic, entry, findings);
            findings.add(draft.build());
        }
        Some(EntryMatch::Certain)
    }
}

fn build_failure(
    diagnostic: CargoDiagnostic,
    entry: &JsonEntry<'_>,
    findings: &mut Findings,
) -> FailureBuilder {
    let code = diagnostic.code.map(|code| code.code);
    let clippy = code
        .as_deref()
        .is_some_and(|code| code.starts_with("clippy::"));
    let (kind, tool) = if clippy {
        (FailureKind::Lint, "clippy")
    } else {
        (FailureKind::Compile, "rustc")
    };
    findings.add_tool(tool);
    let mut draft = entry.start_failure(kind, tool);
    if !diagnostic.level.starts_with("error") {
        draft.severity = FailureSeverity::Warning;
    }
    draft.failure.code = code;
    let spans = &diagnostic.spans;
    if let Some(span) = spans.iter().find(|span| span.is_primary).or(spans.first()) {
        draft.set_location(
            &span.file_name,
            Some(span.line_start),
            Some(span.column_start),
        );
    }
    draft.push_message(&diagnostic.message);
    for line in strip_escapes(&diagnostic.rendered.unwrap_or_default()).lines() {
        draft.push_excerpt_text(line);
    }
    draft
}

/// Whether a diagnostic is a total, which repeats earlier diagnostics.
fn is_total(diagnostic: &CargoDiagnostic) -> bool {
    let message = &diagnostic.message;
    diagnostic.level == "failure-note"
        || diagnostic.spans.is_empty()
            && (message.starts_with("aborting due to ")
                || message.ends_with("warning emitted")
                || message.ends_with("warnings emitted"))
}
