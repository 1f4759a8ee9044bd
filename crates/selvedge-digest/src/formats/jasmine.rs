//! jasmine: a numbered list of failed specs, each with `Message:` and `Stack:`.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "jasmine";

/// Reads jasmine's console reporter.
#[derive(Debug, Default)]
pub(super) struct Jasmine {
    draft: Option<Draft>,
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

impl Format for Jasmine {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text == "  Message:"
            && let Some((id, spec)) = title(line.heading)
        {
            self.close(findings);
            findings.tool(TOOL);
            self.suites += u64::from(!spec);
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(id.to_owned());
            self.draft = Some(draft);
            self.message = true;
            return Claim::Evidence;
        }
        if line.text.contains(" spec")
            && let Some(totals) = TOTALS.captures(line.text)
        {
            self.close(findings);
            findings.tool(TOOL);
            self.totals(&totals, findings);
            return Claim::Evidence;
        }
        self.body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Jasmine {
    fn body(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if line.indent() == 0 {
            self.close(findings);
            return Claim::Foreign;
        }
        let body = line.body();
        if line.text == "  Stack:" {
            self.message = false;
        } else if self.message {
            draft.message(body);
        } else if let Some(place) = colon_frame(body).filter(|place| !is_foreign(place.file)) {
            draft.place(place.file, place.line, place.column);
            draft.excerpt(line);
        }
        draft.skip(line);
        Claim::Evidence
    }

    fn totals(&mut self, totals: &regex::Captures<'_>, findings: &mut Findings) {
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
            Totals {
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

/// `1) cart adds up`, or `Suite error: cart`; whether it is a spec's.
fn title(heading: &str) -> Option<(&str, bool)> {
    if let Some(suite) = heading.strip_prefix("Suite error: ") {
        return Some((suite, false));
    }
    let (number, title) = heading.split_once(") ")?;
    number.parse::<u32>().is_ok().then_some((title, true))
}
