//! jasmine: a numbered list of failed specs, each with `Message:` and `Stack:`.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{is_foreign, parse_colon_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "jasmine";

/// Reads jasmine's console reporter.
#[derive(Debug, Default)]
pub(super) struct JasmineParser {
    draft: Option<FailureBuilder>,
    /// In the message; the stack comes after.
    message: bool,
    /// Errors of suites: they count as failures, but not as specs.
    suites: u64,
}

static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<specs>\d+) specs?, (?P<failures>\d+) failures?(?:, (?P<pending>\d+) pending specs?)?$",
    )
});

impl FormatParser for JasmineParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text == "  Message:"
            && let Some((id, spec)) = parse_title(line.heading)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            self.suites += u64::from(!spec);
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(id.to_owned());
            self.draft = Some(draft);
            self.message = true;
            return LineClaim::Evidence;
        }
        if line.text.contains(" spec")
            && let Some(totals) = TOTALS.captures(line.text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            self.record_totals(&totals, findings);
            return LineClaim::Evidence;
        }
        self.parse_body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl JasmineParser {
    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if line.indent() == 0 {
            self.close(findings);
            return LineClaim::NotMine;
        }
        let body = line.body();
        if line.text == "  Stack:" {
            self.message = false;
        } else if self.message {
            draft.push_message(body);
        } else if let Some(place) = parse_colon_frame(body).filter(|place| !is_foreign(place.file))
        {
            draft.set_location(place.file, place.line, place.column);
            draft.push_excerpt(line);
        }
        draft.skip_line(line);
        LineClaim::Evidence
    }

    fn record_totals(&mut self, totals: &regex::Captures<'_>, findings: &mut Findings) {
        let count = |name| {
            let count = totals
                .name(name)
                .and_then(|count| count.as_str().parse().ok());
            count.unwrap_or(0_u64)
        };
        let (failed, skipped) = (count("failures"), count("pending"));
        let failed_specs = failed.saturating_sub(std::mem::take(&mut self.suites));
        let passed = count("specs")
            .saturating_sub(failed_specs)
            .saturating_sub(skipped);
        findings.runs.close(
            TOOL,
            TestTotals {
                passed,
                failed,
                skipped,
            },
        );
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            findings.add_test(TOOL, draft);
        }
    }
}

/// Parses `1) cart adds up`, or `Suite error: cart`. Returns the title, and whether it is a spec's.
fn parse_title(heading: &str) -> Option<(&str, bool)> {
    if let Some(suite) = heading.strip_prefix("Suite error: ") {
        return Some((suite, false));
    }
    let (number, title) = heading.split_once(") ")?;
    number.parse::<u32>().is_ok().then_some((title, true))
}
