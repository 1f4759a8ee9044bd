//! golangci-lint: `a.go:3:7: message (linter)` with the source below it, or in columns. For a package that
//! does not compile, older versions print one line of their own log.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "golangci-lint";

/// Reads issues of Go linters.
#[derive(Debug, Default)]
pub(super) struct GolangciLintParser {
    draft: Option<FailureBuilder>,
    /// The line below an issue; it is source if a caret points at it.
    source: Option<String>,
}

static ISSUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:()]+\.go|go\.mod):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>\S.*) \((?P<linter>[a-z]\w*)\)$",
    )
});
static COLUMNS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:()]+\.go|go\.mod):(?P<line>\d+)(?::(?P<column>\d+))? {2,}(?P<linter>[a-z]\w*) {2,}(?P<message>\S.*)$",
    )
});
/// The place of an error in a list of them on one line.
static LOCATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?P<file>[^\s:()\[]+\.go):(?P<line>\d+):(?P<column>\d+): "));
/// Beginning of that list.
const PACKAGE_ERRORS: &str = "errors in package: [";

impl FormatParser for GolangciLintParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        let in_go = text.contains(".go:") || text.starts_with("go.mod:");
        let issue = (in_go && line.indent() == 0)
            .then(|| ISSUE.captures(text).or_else(|| COLUMNS.captures(text)))
            .flatten();
        if let Some(issue) = issue {
            self.close(findings);
            findings.add_tool(TOOL);
            let number = |name| issue.name(name).and_then(|n| n.as_str().parse().ok());
            let mut draft = FailureBuilder::new(FailureKind::Lint, TOOL, line);
            draft.set_location(&issue["file"], number("line"), number("column"));
            draft.failure.code = Some(issue["linter"].to_owned());
            draft.push_message(&issue["message"]);
            draft.push_excerpt(line);
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        if text.starts_with("level=error ")
            && let Some((_, errors)) = text.split_once(PACKAGE_ERRORS)
        {
            return parse_package_errors(errors, line, findings);
        }
        self.parse_source_line(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl GolangciLintParser {
    /// Takes the source and the caret below an issue.
    fn parse_source_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        match self.source.take() {
            Some(source) if line.body() == "^" => {
                draft.push_excerpt_text(&source);
                draft.push_excerpt(line);
                self.close(findings);
                return LineClaim::Evidence;
            }
            None if !line.is_blank() => self.source = Some(line.text.to_owned()),
            _ => self.close(findings),
        }
        LineClaim::NotMine
    }

    fn close(&mut self, findings: &mut Findings) {
        self.source = None;
        findings.add_draft(&mut self.draft);
    }
}

/// The errors of a package that does not compile, one after the other.
fn parse_package_errors(errors: &str, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
    let errors = errors.split(']').next().unwrap_or_default();
    let mut rest = errors;
    while let Some(place) = LOCATION.captures(rest) {
        let after = &rest[place.get(0).map_or(rest.len(), |all| all.end())..];
        let end = LOCATION
            .find(after)
            .map_or(after.len(), |next| next.start());
        let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
        let (number, column) = (place["line"].parse().ok(), place["column"].parse().ok());
        draft.set_location(&place["file"], number, column);
        draft.push_message(&after[..end].replace("\\\"", "\""));
        findings.add_tool(TOOL);
        findings.add(draft.build());
        rest = &after[end..];
    }
    if rest.len() == errors.len() {
        return LineClaim::NotMine;
    }
    LineClaim::Evidence
}
