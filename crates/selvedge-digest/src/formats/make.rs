//! make and ninja: their own errors. A failed recipe is only a consequence: it is recorded as a warning, so
//! that it is shown if nothing else is known.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads make's lines with three stars, and ninja's messages.
#[derive(Debug, Default)]
pub(super) struct MakeParser;

static STARS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[\w.+-]*make(?:\.exe)?(?:\[\d+\])?|(?P<file>[^\s:]+):(?P<line>\d+)): \*\*\* (?P<message>\S.*?)(?:  Stop\.)?$",
    )
});
static RECIPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\[(?:(?P<file>[^\s:]+):(?P<line>\d+): )?(?P<target>[^\]]+)\] (?P<how>\S.*)$")
});

impl FormatParser for MakeParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if let Some(claim) = parse_ninja_line(line, findings) {
            return claim;
        }
        let stars = line.text.contains(": *** ");
        let Some(found) = stars.then(|| STARS.captures(line.text)).flatten() else {
            return LineClaim::NotMine;
        };
        let message = &found["message"];
        findings.add_tool("make");
        if message.starts_with("Waiting for unfinished jobs") {
            return LineClaim::Ignore;
        }
        let mut draft = FailureBuilder::new(FailureKind::Compile, "make", line);
        let (message, place) = match RECIPE.captures(message) {
            Some(recipe) => {
                draft.severity = FailureSeverity::Warning;
                draft.failure.id = Some(recipe["target"].to_owned());
                (recipe["how"].to_owned(), recipe)
            }
            None => (message.to_owned(), found),
        };
        if let (Some(file), Some(number)) = (place.name("file"), place.name("line")) {
            draft.set_location(file.as_str(), number.as_str().parse().ok(), None);
        }
        draft.push_message(&message);
        draft.push_excerpt(line);
        findings.add(draft.build());
        LineClaim::Evidence
    }
}

/// Reads a message of ninja: `FAILED: cart.o`, `ninja: error: …`.
fn parse_ninja_line(line: &CleanLine<'_>, findings: &mut Findings) -> Option<LineClaim> {
    let (severity, id, message) = if let Some(target) = line.text.strip_prefix("FAILED: ") {
        let path = target.contains(['.', '/']) && !target.contains([' ', ':', '(']);
        (
            FailureSeverity::Warning,
            path.then_some(target)?,
            "the command failed",
        )
    } else {
        let message = line.text.strip_prefix("ninja: error: ")?;
        (FailureSeverity::Error, "", message)
    };
    findings.add_tool("ninja");
    let mut draft = FailureBuilder::new(FailureKind::Compile, "ninja", line);
    draft.severity = severity;
    draft.failure.id = (!id.is_empty()).then(|| id.to_owned());
    if let Some((file, number)) = message
        .split_once(": ")
        .map_or(message, |(place, _)| place)
        .rsplit_once(':')
    {
        draft.set_location(file, number.parse().ok(), None);
    }
    draft.push_message(message);
    draft.push_excerpt(line);
    findings.add(draft.build());
    Some(LineClaim::Evidence)
}
