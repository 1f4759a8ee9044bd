//! golangci-lint: `a.go:3:7: message (linter)` with the source below it, or in columns. Where a
//! package does not compile, older versions tell that in one line of their own log.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "golangci-lint";

/// Reads what linters of Go found.
#[derive(Debug, Default)]
pub(super) struct GolangciLint {
    draft: Option<Draft>,
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
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?P<file>[^\s:()\[]+\.go):(?P<line>\d+):(?P<column>\d+): "));
/// How that list is announced.
const BROKEN: &str = "errors in package: [";

impl Format for GolangciLint {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        let in_go = text.contains(".go:") || text.starts_with("go.mod:");
        let issue = (in_go && line.indent() == 0)
            .then(|| ISSUE.captures(text).or_else(|| COLUMNS.captures(text)))
            .flatten();
        if let Some(issue) = issue {
            self.close(findings);
            findings.tool(TOOL);
            let number = |name| issue.name(name).and_then(|n| n.as_str().parse().ok());
            let mut draft = Draft::new(FailureKind::Lint, TOOL, line);
            draft.place(&issue["file"], number("line"), number("column"));
            draft.failure.code = Some(issue["linter"].to_owned());
            draft.message(&issue["message"]);
            draft.excerpt(line);
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        if text.starts_with("level=error ")
            && let Some((_, errors)) = text.split_once(BROKEN)
        {
            return broken(errors, line, findings);
        }
        self.below(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl GolangciLint {
    /// Takes the source and the caret below an issue.
    fn below(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        match self.source.take() {
            Some(source) if line.body() == "^" => {
                draft.excerpt_text(&source);
                draft.excerpt(line);
                self.close(findings);
                return Claim::Evidence;
            }
            None if !line.is_blank() => self.source = Some(line.text.to_owned()),
            _ => self.close(findings),
        }
        Claim::Foreign
    }

    fn close(&mut self, findings: &mut Findings) {
        self.source = None;
        findings.close(&mut self.draft);
    }
}

/// The errors of a package that does not compile, one after the other.
fn broken(errors: &str, line: &Line<'_>, findings: &mut Findings) -> Claim {
    let errors = errors.split(']').next().unwrap_or_default();
    let mut rest = errors;
    while let Some(place) = PLACE.captures(rest) {
        let after = &rest[place.get(0).map_or(rest.len(), |all| all.end())..];
        let end = PLACE.find(after).map_or(after.len(), |next| next.start());
        let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
        let (number, column) = (place["line"].parse().ok(), place["column"].parse().ok());
        draft.place(&place["file"], number, column);
        draft.message(&after[..end].replace("\\\"", "\""));
        findings.tool(TOOL);
        findings.add(draft.found());
        rest = &after[end..];
    }
    if rest.len() == errors.len() {
        return Claim::Foreign;
    }
    Claim::Evidence
}
