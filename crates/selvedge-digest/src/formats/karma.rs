//! Karma: each failed test on a line that begins with the browser, its message and frames below it,
//! and the count of what was executed.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "karma";
/// How many browsers are told apart.
const BROWSERS: usize = 16;

/// Reads Karma's progress and dots reporters.
#[derive(Debug, Default)]
pub(super) struct Karma {
    draft: Option<Draft>,
    /// The draft is that of a test.
    in_test: bool,
    /// The last count of each browser.
    executed: Vec<(String, Totals)>,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<browser>[A-Z][\w ]* [\d.]+ \([^()]*\))(?: (?P<id>\S.*?))? (?P<outcome>FAILED|ERROR)$",
    )
});
static EXECUTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<browser>[A-Z][\w ]* [\d.]+ \([^()]*\)): Executed (?P<run>\d+) of \d+ ?(?:\((?P<failed>\d+) FAILED\))? ?(?:\(skipped (?P<skipped>\d+)\))?",
    )
});

impl Format for Karma {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.contains(": Executed ")
            && let Some(executed) = EXECUTED.captures(text)
        {
            self.close(findings);
            self.count(&executed, findings);
            // A browser that was lost is told by what remains of its count.
            return if text.contains("DISCONNECTED") {
                Claim::Foreign
            } else {
                Claim::Chaff
            };
        }
        if (text.ends_with("ED") || text.ends_with("ERROR"))
            && let Some(heading) = HEADING.captures(text)
        {
            self.close(findings);
            findings.tool(TOOL);
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            // An error outside of the tests is the browser's.
            let id = heading.name("id").or(heading.name("browser"));
            draft.failure.id = id.map(|id| id.as_str().to_owned());
            self.in_test = heading.name("id").is_some();
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        let Some(draft) = self.draft.as_mut().filter(|_| line.indent() > 0) else {
            self.close(findings);
            return Claim::Foreign;
        };
        body(draft, line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        for (_, totals) in self.executed.drain(..) {
            findings.runs.close(TOOL, totals);
        }
    }
}

impl Karma {
    fn count(&mut self, executed: &regex::Captures<'_>, findings: &mut Findings) {
        findings.tool(TOOL);
        let number = |name: &str| {
            executed
                .name(name)
                .map_or(0, |n| n.as_str().parse().unwrap_or(0_u64))
        };
        let failed = number("failed");
        let totals = Totals {
            passed: number("run").saturating_sub(failed),
            failed,
            skipped: number("skipped"),
        };
        let browser = &executed["browser"];
        let room = self.executed.len() < BROWSERS;
        match self.executed.iter_mut().find(|(known, _)| known == browser) {
            Some((_, known)) => *known = totals,
            None if room => self.executed.push((browser.to_owned(), totals)),
            None => {}
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take() {
            if self.in_test {
                findings
                    .runs
                    .test(TOOL, Outcome::Failed, draft.failure.id.as_deref());
            }
            findings.add(draft.found());
        }
    }
}

/// A line of the message, or a frame.
fn body(draft: &mut Draft, line: &Line<'_>) {
    let body = line.body();
    let frame = body.strip_prefix("at ");
    if let Some(place) = frame.and_then(colon_frame) {
        if is_foreign(place.file) {
            draft.skip(line);
        } else {
            draft.place(place.file, place.line, place.column);
            draft.excerpt(line);
        }
    } else if frame.is_some() || body.starts_with("An error was thrown in ") {
        draft.skip(line);
    } else if let Some(place) = colon_frame(body).filter(|_| !body.contains(' ')) {
        draft.place(place.file, place.line, place.column);
        draft.skip(line);
    } else {
        draft.message(body);
        draft.skip(line);
    }
}
