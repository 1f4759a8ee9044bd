//! Hspec. A failure is numbered like those of other runners, but its place stands above its number.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "hspec";

/// Reads Hspec's list of failures and its totals.
#[derive(Debug, Default)]
pub(super) struct Hspec {
    /// The place above a number.
    place: Option<(String, Option<u32>, Option<u32>)>,
    draft: Option<Draft>,
}

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^  (?P<file>[^\s:]+\.l?hs):(?P<line>\d+):(?P<column>\d+):$"));
static HEADING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^  \d+\) (?P<id>\S.*)$"));
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?P<runs>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?$")
});

impl Format for Hspec {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let (text, body) = (line.text, line.body());
        if let Some((file, number, column)) = self.place.take()
            && let Some(heading) = HEADING.captures(text)
        {
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(heading["id"].to_owned());
            draft.place(&file, number, column);
            draft.excerpt(line);
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        if body.starts_with("To rerun use: ") {
            self.close(findings);
            return Claim::Noise;
        }
        if text.ends_with(':') && text.contains("hs:") {
            let Some(place) = PLACE.captures(text) else {
                return Claim::Foreign;
            };
            self.close(findings);
            let file = place["file"].to_owned();
            self.place = Some((
                file,
                place["line"].parse().ok(),
                place["column"].parse().ok(),
            ));
            return Claim::Evidence;
        }
        if findings.knows_tool(TOOL)
            && let Some(totals) = TOTALS.captures(text)
        {
            self.close(findings);
            close(&totals, findings);
            return Claim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        match &mut draft.failure.message {
            Some(expected) if body.starts_with("but got: ") => {
                expected.push_str(", ");
                expected.push_str(body);
            }
            _ => draft.message(body),
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.place.is_some() || self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Hspec {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.tool(TOOL);
            findings.add_test(TOOL, draft);
        }
    }
}

fn close(totals: &regex::Captures<'_>, findings: &mut Findings) {
    let number = |name: &str| {
        let digits = totals.name(name).map_or("", |group| group.as_str());
        digits.parse().unwrap_or(0_u64)
    };
    let (failed, skipped) = (number("failed"), number("skipped"));
    findings
        .runs
        .close(TOOL, Totals::of_all(number("runs"), failed, skipped));
}
