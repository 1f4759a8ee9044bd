//! CTest. A failed test is one line with a number, a name and a row of dots; its output may follow, and
//! another format may read it better. That output may come from another runner or from a nested CTest:
//! results in it do not belong to this run.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ctest";

/// How many lines of a failed test's output are taken.
const OUTPUT_LINES: u32 = 30;

/// Reads CTest's progress and its closing lists.
#[derive(Debug, Default)]
pub(super) struct CTestParser {
    draft: Option<FailureBuilder>,
    lines: u32,
    /// Number of skipped tests in the totals, which exclude disabled ones.
    skipped: u64,
    /// Whether results were read one by one, so that the closing list only repeats them.
    seen: bool,
    progress: CTestProgress,
}

/// Progress of a run. Each result is numbered: `2/3 Test #2: …`.
#[derive(Debug, Default)]
struct CTestProgress {
    /// Its first line was read, but not its totals.
    is_open: bool,
    done: u64,
    /// Number of tests, once a result was read.
    all: Option<u64>,
    /// Number of results that the totals leave out.
    disabled: u64,
    /// Number of nested runs in the output of tests whose totals were not read yet.
    inner: u32,
}

impl CTestProgress {
    /// Whether the totals belong to a nested run.
    fn close_inner_run(&mut self) -> bool {
        let is_inner = self.inner > 0;
        self.inner = self.inner.saturating_sub(1);
        is_inner
    }

    /// Whether a result with this number can be the next one.
    fn is_next(&self, number: u64, all: u64) -> bool {
        !self.is_open || number > self.done && self.all.is_none_or(|known| known == all)
    }

    /// Whether these are the totals of this run: of all its tests, or of those that it reached.
    fn is_total(&mut self, all: u64) -> bool {
        if self.close_inner_run() {
            return false;
        }
        let counted = |results: u64| results.checked_sub(self.disabled) == Some(all);
        !self.is_open || self.all.is_none_or(counted) || counted(self.done)
    }
}

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?P<number>\d+)/(?P<all>\d+) Test +#\d+: (?P<id>\S.*?) \.{3,}(?: +(?P<passed>Passed)|(?P<how>[\w ]*\*\*\*.*?)) *(?:\d+\.\d+ sec)?$",
    )
});
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<all>\d+)$")
});
static LISTED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\t *\d+ - (?P<id>\S+) \((?P<how>[^()]+)\)"));

impl FormatParser for CTestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        let starts = line.indent() == 4 && line.body().starts_with("Start ");
        let is_project = text.starts_with("Test project ");
        if !self.progress.is_open && (starts || is_project) {
            self.begin(findings);
            return LineClaim::Ignore;
        }
        self.progress.inner += u32::from(is_project);
        if text == "No tests were found!!!"
            && self.progress.is_open
            && !self.progress.close_inner_run()
        {
            self.progress = CTestProgress::default();
            findings.runs.close(TOOL, TestTotals::default());
            return LineClaim::Ignore;
        }
        if text.contains(" Test ")
            && let Some(result) = RESULT.captures(text)
            && self.is_next(&result)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            self.seen = true;
            let id = &result["id"];
            if let Some(how) = result.name("how") {
                return self.record_unsuccessful_test(id, how.as_str(), line, findings);
            }
            findings
                .runs
                .record_test(TOOL, TestOutcome::Passed, Some(id));
            return LineClaim::Ignore;
        }
        if text.contains("% tests passed, ") && self.parse_totals(text, findings) {
            return LineClaim::Ignore;
        }
        if line.heading.starts_with("The following tests FAILED:")
            && let Some(listed) = LISTED.captures(text)
        {
            if !self.seen {
                self.open(&listed["id"], &listed["how"], line, findings);
                self.close(findings);
            }
            return LineClaim::Ignore;
        }
        self.collect_output(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl CTestParser {
    fn begin(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.progress = CTestProgress {
            is_open: true,
            ..CTestProgress::default()
        };
        (self.seen, self.skipped) = (false, 0);
        findings.runs.begin_session(TOOL);
    }

    /// Whether it is the next result of this run; records the progress if so.
    fn is_next(&mut self, result: &regex::Captures<'_>) -> bool {
        let number = |name: &str| result[name].parse().unwrap_or(0_u64);
        let (number, all) = (number("number"), number("all"));
        let is_next = self.progress.is_next(number, all);
        if is_next {
            self.progress.done = number;
            self.progress.inner = 0;
            self.progress.all = Some(all);
        }
        is_next
    }

    /// A test that did not pass: it failed, or did not run.
    fn record_unsuccessful_test(
        &mut self,
        id: &str,
        how: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let how = how.replace("***", " ");
        let how = how.trim().trim_end_matches(':');
        if how.starts_with("Skipped") || how.ends_with("(Disabled)") {
            let is_counted = how.starts_with("Skipped");
            self.skipped += u64::from(is_counted);
            self.progress.disabled += u64::from(!is_counted);
            findings
                .runs
                .record_test(TOOL, TestOutcome::Skipped, Some(id));
            return LineClaim::Ignore;
        }
        self.open(id, how, line, findings);
        LineClaim::Evidence
    }

    fn open(&mut self, id: &str, how: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        findings
            .runs
            .record_test(TOOL, TestOutcome::Failed, Some(id));
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(id.to_owned());
        draft.push_message(how);
        self.draft = Some(draft);
        self.lines = 0;
    }

    fn parse_totals(&mut self, text: &str, findings: &mut Findings) -> bool {
        let Some(found) = TOTALS.captures(text) else {
            return false;
        };
        let number = |name: &str| found[name].parse().unwrap_or(0_u64);
        if !self.progress.is_total(number("all")) {
            return false;
        }
        self.close(findings);
        let CTestProgress { disabled, .. } = std::mem::take(&mut self.progress);
        let (failed, skipped) = (number("failed"), std::mem::take(&mut self.skipped));
        let mut totals = TestTotals::from_total(number("all"), failed, skipped);
        totals.skipped += disabled;
        findings.runs.close(TOOL, totals);
        true
    }

    /// Collects the output of a failed test that no other format claimed.
    fn collect_output(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let starts = line.indent() == 4 && line.body().starts_with("Start ");
        if starts || self.lines == OUTPUT_LINES {
            self.close(findings);
            return LineClaim::Ignore;
        }
        self.lines += 1;
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}
