//! Hspec. A failure is numbered like those of other runners, but its place is above its number.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "hspec";

/// Reads Hspec's list of failures and its totals.
#[derive(Debug, Default)]
pub(super) struct HspecParser {
    /// The place above a number.
    place: Option<(String, Option<u32>, Option<u32>)>,
    draft: Option<FailureBuilder>,
}

static LOCATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^  (?P<file>[^\s:]+\.l?hs):(?P<line>\d+):(?P<column>\d+):$"));
static HEADING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^  \d+\) (?P<id>\S.*)$"));
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?P<runs>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?$")
});

impl FormatParser for HspecParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let (text, body) = (line.text, line.body());
        if let Some((file, number, column)) = self.place.take()
            && let Some(heading) = HEADING.captures(text)
        {
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(heading["id"].to_owned());
            draft.set_location(&file, number, column);
            draft.push_excerpt(line);
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        if body.starts_with("To rerun use: ") {
            self.close(findings);
            return LineClaim::Ignore;
        }
        if text.ends_with(':') && text.contains("hs:") {
            let Some(place) = LOCATION.captures(text) else {
                return LineClaim::NotMine;
            };
            self.close(findings);
            let file = place["file"].to_owned();
            self.place = Some((
                file,
                place["line"].parse().ok(),
                place["column"].parse().ok(),
            ));
            return LineClaim::Evidence;
        }
        if findings.has_tool(TOOL)
            && let Some(totals) = TOTALS.captures(text)
        {
            self.close(findings);
            record_totals(&totals, findings);
            return LineClaim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        match &mut draft.failure.message {
            Some(expected) if body.starts_with("but got: ") => {
                expected.push_str(", ");
                expected.push_str(body);
            }
            _ => draft.push_message(body),
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.place.is_some() || self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl HspecParser {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_tool(TOOL);
            findings.add_test(TOOL, draft);
        }
    }
}

fn record_totals(totals: &regex::Captures<'_>, findings: &mut Findings) {
    let number = |name: &str| {
        let digits = totals.name(name).map_or("", |group| group.as_str());
        digits.parse().unwrap_or(0_u64)
    };
    let (failed, skipped) = (number("failed"), number("skipped"));
    findings.runs.close(
        TOOL,
        TestTotals::from_total(number("runs"), failed, skipped),
    );
}
