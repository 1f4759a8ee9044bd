//! Linters that print each problem in a form of their own: shellcheck (the source line, and one line for each problem
//! below it), codespell (`a.md:3: teh ==> the`) and bandit (`>> Issue: `).

use super::prelude::*;

/// Reads problems of shellcheck, codespell and bandit.
#[derive(Debug, Default)]
pub(super) struct ListedLintFormat {
    /// The place of shellcheck's next problems.
    place: Option<(String, Option<u32>)>,
    /// The line of the source that they mark.
    source: String,
}

static SHELLCHECK: LinePattern = LinePattern::new(r"^In (?P<file>\S.*) line (?P<line>\d+):$");
static SHELLCHECK_PROBLEM: LinePattern = LinePattern::new(
    r"^ *\^-*\^?-* ?(?P<code>SC\d+) \((?P<severity>error|warning|info|style)\): (?P<message>\S.*)$",
);
static CODESPELL: LinePattern =
    LinePattern::new(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+): (?P<message>\S+ ==> \S.*)$");
static BANDIT: LinePattern =
    LinePattern::new(r"^>> Issue: \[(?P<code>B\d+)[:\w]*\] (?P<message>\S.*)$");
static BANDIT_PLACE: LinePattern =
    LinePattern::new(r"^ +Location: (?P<file>\S.*?):(?P<line>\d+)(?::(?P<column>\d+))?$");

impl BlockFormat for ListedLintFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if let Some(found) = SHELLCHECK.captures_prefixed(text, "In ") {
            self.place = Some((found["file"].to_owned(), found.number("line")));
            self.source.clear();
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if let Some(found) = CODESPELL.captures_marked(text, " ==> ") {
            let draft = FailureBuilder::captured(FailureKind::Lint, "codespell", &found, line);
            return Some(BlockStep::Whole(draft));
        }
        if let Some(found) = BANDIT.captures_prefixed(text, ">> Issue: ") {
            let draft = FailureBuilder::captured(FailureKind::Lint, "bandit", &found, line);
            return Some(BlockStep::Begin(draft));
        }
        let (file, number) = self.place.as_ref()?;
        let Some(found) = SHELLCHECK_PROBLEM.captures_marked(text, " SC") else {
            // The source comes first, then its problems.
            if self.source.is_empty() && !line.is_blank() {
                text.clone_into(&mut self.source);
                return Some(BlockStep::End(LineClaim::Evidence));
            }
            self.place = None;
            return None;
        };
        let mut draft = FailureBuilder::captured(FailureKind::Lint, "shellcheck", &found, line);
        if &found["severity"] != "error" {
            draft.severity = FailureSeverity::Warning;
        }
        let column = text.find('^').and_then(|at| u32::try_from(at + 1).ok());
        draft.set_location(file, *number, column);
        Some(BlockStep::Whole(draft))
    }

    /// The lines below bandit's heading: properties, the place, the source.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if let Some(place) = BANDIT_PLACE.captures_marked(line.text, "Location: ") {
            draft.locate(&place);
            return BlockStep::Taken;
        }
        if line.is_blank() || line.text.starts_with("----") {
            return BlockStep::End(LineClaim::Ignore);
        }
        if line.text.starts_with("   ") {
            return BlockStep::Taken;
        }
        BlockStep::Shown
    }

    fn is_waiting(&self) -> bool {
        self.place.is_some()
    }
}
