//! rustc, clippy and cargo's own errors: `error[E0308]: mismatched types`, then `--> file:1:2`,
//! then the annotated source, up to a blank line.

use super::location::{extension, parse_arrow};
use super::prelude::*;

const TOOL: &str = "rustc";

/// Reads diagnostics of rustc.
#[derive(Debug, Default)]
pub(super) struct RustcParser {
    draft: Option<FailureBuilder>,
    /// The heading was followed by a place, so the diagnostic certainly is rustc's.
    placed: bool,
    /// The error is cargo's own, and its causes follow.
    manifest: bool,
}

static LINT: LinePattern = LinePattern::new(
    r"`(?:#\[(?:warn|deny|forbid)\(|-[WDF] )(?P<lint>[\w:-]+)|index\.html#(?P<clippy>\w+)$",
);

impl FormatParser for RustcParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if let Some((severity, code, message)) = parse_heading(line.text) {
            self.close(findings);
            if is_total(message) {
                return LineClaim::ignore_if(findings.has_tool(TOOL));
            }
            let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
            draft.severity = severity;
            draft.failure.code = code.map(str::to_owned);
            draft.push_message(message);
            draft.push_excerpt(line);
            self.manifest = is_manifest(message);
            if self.manifest {
                findings.add_tool("cargo");
                draft.failure.kind = FailureKind::Infra;
                draft.failure.tool = Some("cargo".to_owned());
            }
            self.draft = Some(draft);
            self.placed = false;
            return LineClaim::Evidence;
        }
        if line.text.starts_with("   Compiling ") || line.text.starts_with("    Checking ") {
            findings.add_tool("cargo");
            self.close(findings);
            return LineClaim::Ignore;
        }
        self.parse_body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl RustcParser {
    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if self.manifest && (line.is_blank() || line.indent() > 0 || line.text == "Caused by:") {
            // The causes are indented, each below a heading.
            if line.indent() > 0 {
                draft.push_message(line.body());
            }
            draft.push_excerpt(line);
            return LineClaim::Evidence;
        }
        if line.is_blank() {
            self.close(findings);
            return LineClaim::Evidence;
        }
        if let Some(place) = parse_arrow(line.body()) {
            draft.set_location(place.file, place.line, place.column);
            self.placed = true;
        } else if !self.placed && !is_gutter(line.text) && !findings.has_tool("cargo") {
            // Some other tool's `error: …`: the general signals see it, too.
            self.draft = None;
            return LineClaim::NotMine;
        }
        if draft.failure.code.is_none()
            && (line.text.contains('`') || line.text.contains("index.html#"))
            && let Some(lint) = LINT.captures(line.text)
            && let Some(name) = lint.get("lint").or_else(|| lint.get("clippy"))
        {
            draft.failure.code = Some(name.to_owned());
            if name.starts_with("clippy::") || lint.has("clippy") {
                draft.failure.kind = FailureKind::Lint;
                draft.failure.tool = Some("clippy".to_owned());
                findings.add_tool("clippy");
            }
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        let other = draft.failure.file.as_deref().and_then(other_tool);
        if let Some((kind, tool)) = other {
            draft.failure.kind = kind;
            draft.failure.tool = Some(tool.to_owned());
            findings.add_tool(tool);
            findings.add(draft.build());
            return;
        }
        if self.placed || (findings.has_tool("cargo") && draft.severity == FailureSeverity::Error) {
            findings.add_tool(TOOL);
            findings.add(draft.build());
        }
    }
}

/// The kind of tool, if it is another one that prints diagnostics like rustc's: type checkers and linters written in
/// Rust do.
fn other_tool(file: &str) -> Option<(FailureKind, &'static str)> {
    match extension(file) {
        "rs" | "toml" | "lock" | "" => None,
        "py" | "pyi" | "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" => {
            Some((FailureKind::Lint, "lint"))
        }
        _ => Some((FailureKind::Compile, "compiler")),
    }
}

/// `error[E0308]: message`, `warning: message`.
fn parse_heading(text: &str) -> Option<(FailureSeverity, Option<&str>, &str)> {
    let (severity, rest) = match text.strip_prefix("error") {
        Some(rest) => (FailureSeverity::Error, rest),
        None => (FailureSeverity::Warning, text.strip_prefix("warning")?),
    };
    if let Some(message) = rest.strip_prefix(": ") {
        return Some((severity, None, message));
    }
    let (code, message) = rest.strip_prefix('[')?.split_once("]: ")?;
    Some((severity, Some(code), message))
}

/// Whether a message is an error of cargo before the build.
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

/// Whether a message is a total or a consequence, which repeats earlier diagnostics.
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
