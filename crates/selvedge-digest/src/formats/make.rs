//! make and ninja: what they themselves find wrong. A recipe that failed is a mere consequence: it is
//! recorded as a warning, so that it is told where nothing else is known.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads lines of make that bear its three stars, and what ninja says.
#[derive(Debug, Default)]
pub(super) struct Make;

static STARS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[\w.+-]*make(?:\.exe)?(?:\[\d+\])?|(?P<file>[^\s:]+):(?P<line>\d+)): \*\*\* (?P<message>\S.*?)(?:  Stop\.)?$",
    )
});
static RECIPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\[(?:(?P<file>[^\s:]+):(?P<line>\d+): )?(?P<target>[^\]]+)\] (?P<how>\S.*)$")
});

impl Format for Make {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if let Some(claim) = ninja(line, findings) {
            return claim;
        }
        let stars = line.text.contains(": *** ");
        let Some(found) = stars.then(|| STARS.captures(line.text)).flatten() else {
            return Claim::Foreign;
        };
        let message = &found["message"];
        findings.tool("make");
        if message.starts_with("Waiting for unfinished jobs") {
            return Claim::Noise;
        }
        let mut draft = Draft::new(FailureKind::Compile, "make", line);
        let (message, place) = match RECIPE.captures(message) {
            Some(recipe) => {
                draft.severity = Severity::Warning;
                draft.failure.id = Some(recipe["target"].to_owned());
                (recipe["how"].to_owned(), recipe)
            }
            None => (message.to_owned(), found),
        };
        if let (Some(file), Some(number)) = (place.name("file"), place.name("line")) {
            draft.place(file.as_str(), number.as_str().parse().ok(), None);
        }
        draft.message(&message);
        draft.excerpt(line);
        findings.add(draft.found());
        Claim::Evidence
    }
}

/// What ninja says: `FAILED: cart.o`, `ninja: error: …`.
fn ninja(line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
    let (severity, id, message) = if let Some(target) = line.text.strip_prefix("FAILED: ") {
        let path = target.contains(['.', '/']) && !target.contains([' ', ':', '(']);
        (
            Severity::Warning,
            path.then_some(target)?,
            "the command failed",
        )
    } else {
        let message = line.text.strip_prefix("ninja: error: ")?;
        (Severity::Error, "", message)
    };
    findings.tool("ninja");
    let mut draft = Draft::new(FailureKind::Compile, "ninja", line);
    draft.severity = severity;
    draft.failure.id = (!id.is_empty()).then(|| id.to_owned());
    if let Some((file, number)) = message
        .split_once(": ")
        .map_or(message, |(place, _)| place)
        .rsplit_once(':')
    {
        draft.place(file, number.parse().ok(), None);
    }
    draft.message(message);
    draft.excerpt(line);
    findings.add(draft.found());
    Some(Claim::Evidence)
}
