//! CTest. A failed test is one line with a number, a name and a row of dots; its own output may
//! stand below, and another format may know it better.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ctest";

/// How many lines of a failed test's output are taken.
const OUTPUT_LINES: u32 = 30;

/// Reads CTest's progress and its closing lists.
#[derive(Debug, Default)]
pub(super) struct CTest {
    draft: Option<Draft>,
    lines: u32,
    /// Tests of the totals that were skipped; those that are disabled are not counted there.
    skipped: u64,
    /// Whether results were seen one by one, so that the closing list only repeats them.
    seen: bool,
}

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*\d+/\d+ Test +#\d+: (?P<id>\S.*?) \.{3,}(?: +(?P<passed>Passed)|(?P<how>[\w ]*\*\*\*.*?)) *(?:\d+\.\d+ sec)?$",
    )
});
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\d+% tests passed, (?P<failed>\d+) tests failed out of (?P<all>\d+)$")
});
static LISTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\t *\d+ - (?P<id>\S+) \((?P<how>[^()]+)\)"));

impl Format for CTest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.contains(" Test ")
            && let Some(result) = RESULT.captures(text)
        {
            self.close(findings);
            findings.tool(TOOL);
            self.seen = true;
            let id = &result["id"];
            if let Some(how) = result.name("how") {
                return self.unhappy(id, how.as_str(), line, findings);
            }
            findings.runs.test(TOOL, Outcome::Passed, Some(id));
            return Claim::Noise;
        }
        if text.contains("% tests passed, ") && self.totals(text, findings) {
            return Claim::Noise;
        }
        if line.heading.starts_with("The following tests FAILED:")
            && let Some(listed) = LISTED.captures(text)
        {
            if !self.seen {
                self.open(&listed["id"], &listed["how"], line, findings);
                self.close(findings);
            }
            return Claim::Noise;
        }
        self.output(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl CTest {
    /// A test that did not pass: it failed, or did not run.
    fn unhappy(&mut self, id: &str, how: &str, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let how = how.replace("***", " ");
        let how = how.trim().trim_end_matches(':');
        if how.starts_with("Skipped") || how.ends_with("(Disabled)") {
            self.skipped += u64::from(how.starts_with("Skipped"));
            findings.runs.test(TOOL, Outcome::Skipped, Some(id));
            return Claim::Noise;
        }
        self.open(id, how, line, findings);
        Claim::Evidence
    }

    fn open(&mut self, id: &str, how: &str, line: &Line<'_>, findings: &mut Findings) {
        findings.runs.test(TOOL, Outcome::Failed, Some(id));
        let mut draft = Draft::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(id.to_owned());
        draft.message(how);
        self.draft = Some(draft);
        self.lines = 0;
    }

    fn totals(&mut self, text: &str, findings: &mut Findings) -> bool {
        let Some(found) = TOTALS.captures(text) else {
            return false;
        };
        self.close(findings);
        let number = |name: &str| found[name].parse().unwrap_or(0_u64);
        let (failed, skipped) = (number("failed"), std::mem::take(&mut self.skipped));
        findings
            .runs
            .close(TOOL, Totals::of_all(number("all"), failed, skipped));
        true
    }

    /// What a failed test printed, as far as no other format claimed it.
    fn output(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let starts = line.body().starts_with("Start ");
        if starts && line.indent() == 4 || self.lines == OUTPUT_LINES {
            self.close(findings);
            return Claim::Noise;
        }
        self.lines += 1;
        draft.excerpt(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}
