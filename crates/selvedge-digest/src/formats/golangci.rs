//! golangci-lint: `a.go:3:7: message (linter)` with the source below it, or in columns. For a package that
//! does not compile, older versions print one line of their own log.

use super::prelude::*;

const TOOL: &str = "golangci-lint";

/// Reads issues of Go linters.
#[derive(Debug, Default)]
pub(super) struct GolangciLintFormat {
    /// The line below an issue; it is source if a caret points at it.
    source: Option<String>,
}

static ISSUE: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:()]+\.go|go\.mod):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>\S.*) \((?P<code>[a-z]\w*)\)$",
);
static COLUMNS: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:()]+\.go|go\.mod):(?P<line>\d+)(?::(?P<column>\d+))? {2,}(?P<code>[a-z]\w*) {2,}(?P<message>\S.*)$",
);
/// The place of an error in a list of them on one line.
static LOCATION: LinePattern =
    LinePattern::new(r"(?P<file>[^\s:()\[]+\.go):(?P<line>\d+):(?P<column>\d+): ");
/// Beginning of that list.
const PACKAGE_ERRORS: &str = "errors in package: [";

impl BlockFormat for GolangciLintFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        let in_go = text.contains(".go:") || text.starts_with("go.mod:");
        if in_go
            && line.indent() == 0
            && let Some(issue) = ISSUE.captures(text).or_else(|| COLUMNS.captures(text))
        {
            self.source = None;
            let draft = FailureBuilder::captured(FailureKind::Lint, TOOL, &issue, line);
            return Some(BlockStep::Begin(draft));
        }
        let log = text.strip_prefix("level=error ")?;
        let (_, errors) = log.split_once(PACKAGE_ERRORS)?;
        let claim = parse_package_errors(errors, line, findings);
        Some(BlockStep::Claim(claim))
    }

    /// Takes the source and the caret below an issue.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        match self.source.take() {
            Some(source) if line.body() == "^" => {
                draft.push_excerpt_text(&source);
                draft.push_excerpt(line);
                BlockStep::End(LineClaim::Evidence)
            }
            None if !line.is_blank() => {
                self.source = Some(line.text.to_owned());
                BlockStep::Claim(LineClaim::NotMine)
            }
            _ => BlockStep::OVER,
        }
    }
}

/// The errors of a package that does not compile, one after the other.
fn parse_package_errors(errors: &str, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
    let errors = errors.split(']').next().unwrap_or_default();
    let mut rest = errors;
    while let Some(place) = LOCATION.captures(rest) {
        let after = &rest[place.range().end..];
        let end = LOCATION
            .find(after)
            .map_or(after.len(), |next| next.start());
        let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
        draft.locate(&place);
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
