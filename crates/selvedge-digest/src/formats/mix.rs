//! Elixir's compiler and mix: `** (CompileError) lib/a.ex:5: message`, warnings with their place below,
//! and the drawn form of newer versions. Tests are read with the other numbered lists.

use super::prelude::*;

const TOOL: &str = "mix";

/// How many lines a diagnostic may have.
const BODY_LINES: u32 = 40;

/// Reads diagnostics of a compilation.
#[derive(Debug, Default)]
pub(super) struct MixParser {
    /// A diagnostic that is known to be Elixir's once its place is read below it.
    draft: Option<FailureBuilder>,
    lines: u32,
    /// Below the heading of the list of files that are not formatted.
    formatting: bool,
}

static RAISED: LinePattern = LinePattern::new(
    r"^\*\* \((?P<code>[A-Z][\w.]*)\) (?:(?P<file>[^\s:]+\.(?:exs?|eex|heex|leex)):(?P<line>\d+)(?::(?P<column>\d+))?: )?(?P<message>\S.*)$",
);
static LOCATION: LinePattern = LinePattern::new(
    r"^ +(?:└─ )?(?P<file>[^\s:]+\.(?:exs?|eex|heex|leex)):(?P<line>\d+)(?::(?P<column>\d+))?(?:: \S.*)?$",
);

impl FormatParser for MixParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(raised) = RAISED.captures_prefixed(text, "** (") {
            return record_exception(&raised, line, findings);
        }
        if text == "The following files are not formatted:" {
            self.formatting = true;
            return LineClaim::Evidence;
        }
        if self.formatting {
            return self.record_unformatted_file(line, findings);
        }
        self.parse_location_line(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.formatting
    }
}

impl MixParser {
    /// The place below a diagnostic shows that it is Elixir's.
    fn parse_location_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if let Some((severity, message)) = parse_drawn_heading(line) {
            self.draft = Some(start_diagnostic(severity, message, line));
            self.lines = 0;
            return LineClaim::NotMine;
        }
        let warning = line.heading.strip_prefix("warning: ");
        if self.draft.is_none() && warning.is_none() {
            return LineClaim::NotMine;
        }
        self.lines += 1;
        let mut draft = self.draft.take().filter(|_| self.lines < BODY_LINES);
        if let Some(draft) = &mut draft {
            draft.push_excerpt(line);
        }
        let candidate = (draft.is_some() || warning.is_some()) && body.contains(".ex");
        let Some(place) = candidate.then(|| LOCATION.captures(line.text)).flatten() else {
            self.draft = draft;
            return LineClaim::NotMine;
        };
        let mut draft = draft.unwrap_or_else(|| {
            let warning = warning.unwrap_or_default();
            start_diagnostic(FailureSeverity::Warning, warning, line)
        });
        draft.locate(&place);
        findings.add_tool(TOOL);
        findings.add(draft.build());
        LineClaim::Evidence
    }

    /// A file of the list that `mix format --check-formatted` prints.
    fn record_unformatted_file(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let Some(file) = line.text.strip_prefix("  * ") else {
            self.formatting = line.is_blank();
            return LineClaim::NotMine;
        };
        let mut draft = FailureBuilder::new(FailureKind::Lint, "mix format", line);
        draft.set_location(file, None, None);
        draft.push_message("the file is not formatted");
        draft.push_excerpt(line);
        findings.add(draft.build());
        LineClaim::Evidence
    }
}

fn start_diagnostic(
    severity: FailureSeverity,
    message: &str,
    line: &CleanLine<'_>,
) -> FailureBuilder {
    let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
    draft.severity = severity;
    draft.push_message(message);
    draft.push_excerpt(line);
    draft
}

/// The heading of a diagnostic that is drawn around its source.
fn parse_drawn_heading<'a>(line: &CleanLine<'a>) -> Option<(FailureSeverity, &'a str)> {
    let (mark, message) = line.body().split_once(": ")?;
    let severity = match mark {
        "error" => FailureSeverity::Error,
        "warning" => FailureSeverity::Warning,
        _ => return None,
    };
    (line.indent() == 4).then_some((severity, message))
}

/// An exception: the compiler's have a place, mix's own have none.
fn record_exception(
    raised: &Groups<'_>,
    line: &CleanLine<'_>,
    findings: &mut Findings,
) -> LineClaim {
    let mix = &raised["code"] == "Mix";
    if !mix && !raised.has("file") {
        return LineClaim::NotMine;
    }
    findings.add_tool(TOOL);
    let kind = if mix {
        FailureKind::Infra
    } else {
        FailureKind::Compile
    };
    let mut draft = FailureBuilder::captured(kind, TOOL, raised, line);
    if raised["message"].contains("failed due to") {
        draft.severity = FailureSeverity::Warning;
    }
    findings.add(draft.build());
    LineClaim::Evidence
}
