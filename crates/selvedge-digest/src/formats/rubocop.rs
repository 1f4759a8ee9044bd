//! RuboCop, and the linters that print like it: `cart.rb:3:5: C: Layout/Empty: message` with the
//! source below, or a file's name and its offences below that.

use super::prelude::*;

/// Reads offences.
#[derive(Debug, Default)]
pub(super) struct RuboCopFormat {
    lines: u32,
    /// The file of the listed offences, if they do not name it.
    file: String,
}

/// How many lines of source are taken.
const SOURCE_LINES: u32 = 3;

static OFFENSE: LinePattern = LinePattern::new(
    r"^(?:(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): )?(?P<letter>[IRCWEF]):(?: +(?P<line2>\d+): +(?P<column2>\d+):)? (?:\[[A-Za-z]+\] )?(?P<code>[A-Z]\w+(?:/\w+)+): (?P<message>\S.*)$",
);

impl BlockFormat for RuboCopFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        let heading = text.strip_prefix("== ");
        if let Some(file) = heading.and_then(|rest| rest.strip_suffix(" ==")) {
            file.clone_into(&mut self.file);
            return Some(BlockStep::OVER);
        }
        // The letter of the severity is alone before a colon.
        let marked = text.as_bytes().get(1) == Some(&b':') || text.contains(": ");
        let found = marked.then(|| OFFENSE.captures(text))??;
        self.lines = 0;
        let mut draft = FailureBuilder::captured(FailureKind::Lint, "rubocop", &found, line);
        if &found["letter"] == "I" {
            draft.severity = FailureSeverity::Warning;
        }
        draft.set_location(&self.file, found.number("line2"), found.number("column2"));
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        self.lines += 1;
        draft.push_excerpt(line);
        // The source ends with the line of carets.
        if line.is_blank() || line.body().starts_with('^') || self.lines == SOURCE_LINES {
            BlockStep::End(LineClaim::Evidence)
        } else {
            BlockStep::Taken
        }
    }
}
