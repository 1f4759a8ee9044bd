//! Playwright's test runner: `1) [project] › file:line:column › suite › test ───`, the error, the
//! source and the frames below it.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "playwright";

/// Reads the list, line and dot reporters.
#[derive(Debug, Default)]
pub(super) struct Playwright {
    draft: Option<Draft>,
    /// The file of the test that failed, and where the test begins in it.
    begins: (String, Option<u32>, Option<u32>),
    part: Part,
    totals: Option<Totals>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Message,
    Source,
    /// Another try at the same test.
    Again,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+\d+\) (?P<id>(?:\[[^\]]+\] › )?(?P<file>[^ :]+):(?P<line>\d+):(?P<column>\d+) › .*?)(?: ─+)?$",
    )
});
static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+(?P<mark>✓|-|ok)\s+\d+ (?P<id>(?:\[[^\]]+\] › )?[^ :]+:\d+:\d+ › .*?)(?: \([\d.]+(?:ms|[smhd])\))?$",
    )
});
static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^  (?P<count>\d+) (?P<what>passed|failed|skipped|flaky|did not run|interrupted)(?: \([\d.]+(?:ms|[smhd])\))?$",
    )
});

impl Format for Playwright {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let body = line.body();
        if line.indent() > 0 && body.contains(" › ") {
            if let Some(heading) = HEADING.captures(line.text) {
                self.close(findings);
                self.open(&heading, line, findings);
                return Claim::Evidence;
            }
            if let Some(result) = RESULT.captures(line.text) {
                findings.tool(TOOL);
                let outcome = if &result["mark"] == "-" {
                    Outcome::Skipped
                } else {
                    Outcome::Passed
                };
                findings.runs.test(TOOL, outcome, Some(&result["id"]));
                return Claim::Noise;
            }
        }
        if line.indent() == 2
            && findings.knows_tool(TOOL)
            && let Some(total) = TOTAL.captures(line.text)
        {
            self.close(findings);
            self.total(&total["what"], total["count"].parse().unwrap_or(0));
            return Claim::Evidence;
        }
        self.body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        if let Some(totals) = self.totals.take() {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl Playwright {
    fn open(&mut self, heading: &regex::Captures<'_>, line: &Line<'_>, findings: &mut Findings) {
        findings.tool(TOOL);
        let mut draft = Draft::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(heading["id"].to_owned());
        self.begins = (
            heading["file"].to_owned(),
            heading["line"].parse().ok(),
            heading["column"].parse().ok(),
        );
        self.draft = Some(draft);
        self.part = Part::Message;
    }

    fn body(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let body = line.body();
        if body.starts_with("Retry #") {
            self.part = Part::Again;
        }
        if self.part == Part::Again || body.starts_with("Error Context: ") {
            draft.skip(line);
            return Claim::Evidence;
        }
        if let Some(place) = colon_frame(body).filter(|_| body.starts_with("at ")) {
            if is_foreign(place.file) {
                draft.skip(line);
                return Claim::Evidence;
            }
            // The line in the test counts for more than one in what it calls.
            let known = draft.failure.file.as_deref();
            let own = |file: &str| file.ends_with(&self.begins.0);
            if known.is_none() || own(place.file) && !known.is_some_and(own) {
                draft.place_again(place.file, place.line, place.column);
            }
        } else if body.starts_with("> ") || body.split_once(" |").is_some_and(|(n, _)| is_number(n))
        {
            self.part = Part::Source;
        }
        if self.part == Part::Message {
            draft.message(body);
            draft.skip(line);
        } else {
            draft.excerpt(line);
        }
        Claim::Evidence
    }

    fn total(&mut self, what: &str, count: u64) {
        let totals = self.totals.get_or_insert_default();
        match what {
            "passed" | "flaky" => totals.passed += count,
            "failed" | "interrupted" => totals.failed += count,
            _ => totals.skipped += count,
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        let (file, line, column) = &self.begins;
        draft.place(file, *line, *column);
        findings.add_test(TOOL, draft);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
