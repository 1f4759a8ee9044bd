//! rustc, clippy and cargo's own errors: `error[E0308]: mismatched types`, then `--> file:1:2`,
//! then the annotated source, up to a blank line.

use std::sync::LazyLock;

use regex::Regex;

use super::place::arrow;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "rustc";

/// Reads diagnostics of rustc.
#[derive(Debug, Default)]
pub(super) struct Rustc {
    draft: Option<Draft>,
    /// The heading was followed by a place, so the diagnostic is rustc's for sure.
    placed: bool,
    /// The error is cargo's own, and its causes follow.
    manifest: bool,
}

static LINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"`(?:#\[(?:warn|deny|forbid)\(|-[WDF] )(?P<lint>[\w:-]+)|index\.html#(?P<clippy>\w+)$")
});

impl Format for Rustc {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if let Some((severity, code, message)) = heading(line.text) {
            self.close(findings);
            if is_total(message) {
                return if findings.knows_tool(TOOL) {
                    Claim::Noise
                } else {
                    Claim::Foreign
                };
            }
            let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
            draft.severity = severity;
            draft.failure.code = code.map(str::to_owned);
            draft.message(message);
            draft.excerpt(line);
            self.manifest = is_manifest(message);
            if self.manifest {
                findings.tool("cargo");
                draft.failure.kind = FailureKind::Infra;
                draft.failure.tool = Some("cargo".to_owned());
            }
            self.draft = Some(draft);
            self.placed = false;
            return Claim::Evidence;
        }
        if line.text.starts_with("   Compiling ") || line.text.starts_with("    Checking ") {
            findings.tool("cargo");
            self.close(findings);
            return Claim::Noise;
        }
        self.body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Rustc {
    fn body(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if self.manifest && (line.is_blank() || line.indent() > 0 || line.text == "Caused by:") {
            // The causes stand indented, each below a heading.
            if line.indent() > 0 {
                draft.message(line.body());
            }
            draft.excerpt(line);
            return Claim::Evidence;
        }
        if line.is_blank() {
            self.close(findings);
            return Claim::Evidence;
        }
        if let Some(place) = arrow(line.body()) {
            draft.place(place.file, place.line, place.column);
            self.placed = true;
        } else if !self.placed && !is_gutter(line.text) && !findings.knows_tool("cargo") {
            // Some other tool's `error: …`: the general signals see it, too.
            self.draft = None;
            return Claim::Foreign;
        }
        if draft.failure.code.is_none()
            && (line.text.contains('`') || line.text.contains("index.html#"))
            && let Some(lint) = LINT.captures(line.text)
            && let Some(name) = lint.name("lint").or_else(|| lint.name("clippy"))
        {
            draft.failure.code = Some(name.as_str().to_owned());
            if name.as_str().starts_with("clippy::") || lint.name("clippy").is_some() {
                draft.failure.kind = FailureKind::Lint;
                draft.failure.tool = Some("clippy".to_owned());
                findings.tool("clippy");
            }
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        if self.placed || (findings.knows_tool("cargo") && draft.severity == Severity::Error) {
            findings.tool(TOOL);
            findings.add(draft.found());
        }
    }
}

/// `error[E0308]: message`, `warning: message`.
fn heading(text: &str) -> Option<(Severity, Option<&str>, &str)> {
    let (severity, rest) = match text.strip_prefix("error") {
        Some(rest) => (Severity::Error, rest),
        None => (Severity::Warning, text.strip_prefix("warning")?),
    };
    if let Some(message) = rest.strip_prefix(": ") {
        return Some((severity, None, message));
    }
    let (code, message) = rest.strip_prefix('[')?.split_once("]: ")?;
    Some((severity, Some(code), message))
}

/// What cargo says when it cannot begin to build.
fn is_manifest(message: &str) -> bool {
    const STARTS: [&str; 5] = [
        "failed to get `",
        "failed to parse manifest at `",
        "failed to select a version for ",
        "failed to load manifest for ",
        "no matching package named `",
    ];
    STARTS.iter().any(|start| message.starts_with(start))
}

/// Totals and consequences, which repeat what the diagnostics said.
fn is_total(message: &str) -> bool {
    message.starts_with("could not compile `")
        || message.starts_with("aborting due to ")
        || message.starts_with("build failed, waiting")
        || message.contains(" failed, to rerun pass `")
        || (message.contains(" target") && message.ends_with(" failed:"))
        || message.ends_with("warning emitted")
        || message.ends_with("warnings emitted")
        || (message.starts_with('`') && message.contains(") generated "))
}

/// A line of annotated source: `12 |     let x`, `   |   ^`, `   = note: …`, or `help: …`.
fn is_gutter(text: &str) -> bool {
    let rest = text
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start();
    rest.starts_with(['|', '=', '+', '-', '~', '.'])
        || rest.is_empty()
        || text.starts_with("help: ")
        || text.starts_with("note: ")
}
