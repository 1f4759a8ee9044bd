//! `cargo build --message-format=json`: a message of cargo's a line, with rustc's or clippy's own
//! diagnostic in it. It covers the build alone: the tests print text.

use serde::Deserialize;

use super::{Report, Told};
use crate::clean::strip_escapes;
use crate::findings::{Draft, Findings, Severity};
use crate::record::FailureKind;

/// Reads a message of cargo's.
#[derive(Debug, Default)]
pub(super) struct Cargo;

#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    message: Option<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    rendered: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

#[derive(Debug, Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    column_start: u32,
    is_primary: bool,
}

impl Report for Cargo {
    fn entry(&mut self, _: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        let Ok(message) = serde_json::from_slice::<Message>(value) else {
            return Told::Never;
        };
        findings.tool("cargo");
        if message.reason == "compiler-message"
            && let Some(diagnostic) = message.message
            && !is_total(&diagnostic)
        {
            let draft = read(diagnostic, number, findings);
            findings.add(draft.found());
        }
        Told::Known
    }
}

fn read(diagnostic: Diagnostic, number: u64, findings: &mut Findings) -> Draft {
    let code = diagnostic.code.map(|code| code.code);
    let clippy = code
        .as_deref()
        .is_some_and(|code| code.starts_with("clippy::"));
    let (kind, tool) = if clippy {
        (FailureKind::Lint, "clippy")
    } else {
        (FailureKind::Compile, "rustc")
    };
    findings.tool(tool);
    let mut draft = Draft::structured(kind, tool, number);
    if !diagnostic.level.starts_with("error") {
        draft.severity = Severity::Warning;
    }
    draft.failure.code = code;
    let spans = &diagnostic.spans;
    if let Some(span) = spans.iter().find(|span| span.is_primary).or(spans.first()) {
        draft.place(
            &span.file_name,
            Some(span.line_start),
            Some(span.column_start),
        );
    }
    draft.message(&diagnostic.message);
    for line in strip_escapes(&diagnostic.rendered.unwrap_or_default()).lines() {
        draft.excerpt_text(line);
    }
    draft
}

/// A total, which repeats what the diagnostics said.
fn is_total(diagnostic: &Diagnostic) -> bool {
    let message = &diagnostic.message;
    diagnostic.level == "failure-note"
        || diagnostic.spans.is_empty()
            && (message.starts_with("aborting due to ")
                || message.ends_with("warning emitted")
                || message.ends_with("warnings emitted"))
}
