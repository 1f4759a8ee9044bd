//! make and ninja: their own errors. A failed recipe is only a consequence: it is recorded as a warning, so
//! that it is shown if nothing else is known.

use super::prelude::*;

/// Reads make's lines with three stars, and ninja's messages.
#[derive(Debug, Default)]
pub(super) struct MakeFormat;

static STARS: LinePattern = LinePattern::new(
    r"^(?:[\w.+-]*make(?:\.exe)?(?:\[\d+\])?|(?P<file>[^\s:]+):(?P<line>\d+)): \*\*\* (?P<message>\S.*?)(?:  Stop\.)?$",
);
static RECIPE: LinePattern = LinePattern::new(
    r"^\[(?:(?P<file>[^\s:]+):(?P<line>\d+): )?(?P<id>[^\]]+)\] (?P<message>\S.*)$",
);

impl BlockFormat for MakeFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        if let Some(draft) = parse_ninja_line(line) {
            return Some(BlockStep::Whole(draft));
        }
        let found = STARS.captures_marked(line.text, ": *** ")?;
        let message = &found["message"];
        if message.starts_with("Waiting for unfinished jobs") {
            findings.add_tool("make");
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        let recipe = RECIPE.captures(message);
        let found = recipe.as_ref().unwrap_or(&found);
        let mut draft = FailureBuilder::captured(FailureKind::Compile, "make", found, line);
        if recipe.is_some() {
            draft.severity = FailureSeverity::Warning;
        }
        Some(BlockStep::Whole(draft))
    }
}

/// Reads a message of ninja: `FAILED: cart.o`, `ninja: error: …`.
fn parse_ninja_line(line: &CleanLine<'_>) -> Option<FailureBuilder> {
    if let Some(target) = line.text.strip_prefix("FAILED: ") {
        if !target.contains(['.', '/']) || target.contains([' ', ':', '(']) {
            return None;
        }
        let message = "the command failed";
        let mut draft = FailureBuilder::with_message(FailureKind::Compile, "ninja", message, line);
        draft.failure.id = Some(target.to_owned());
        draft.severity = FailureSeverity::Warning;
        return Some(draft);
    }
    let message = line.text.strip_prefix("ninja: error: ")?;
    let mut draft = FailureBuilder::with_message(FailureKind::Compile, "ninja", message, line);
    let place = message.split(": ").next().unwrap_or(message);
    if let Some((file, number)) = place.rsplit_once(':') {
        draft.set_location(file, number.parse().ok(), None);
    }
    Some(draft)
}
