//! CTest. A failed test is one line with a number, a name and a row of dots; its output may follow, and
//! another format may read it better. That output may come from another runner or from a nested CTest:
//! results in it do not belong to this run.

use super::prelude::*;
use super::program_error::ProgramErrorReader;

const TOOL: &str = "ctest";

/// How many lines of a failed test's output are taken.
const OUTPUT_LINES: u32 = 30;

/// Reads CTest's progress and its closing lists.
#[derive(Debug, Default)]
pub(super) struct CTestFormat {
    lines: u32,
    /// Number of skipped tests in the totals, which exclude disabled ones.
    skipped: u64,
    /// Whether results were read one by one, so that the closing list only repeats them.
    seen: bool,
    progress: CTestProgress,
    error: ProgramErrorReader,
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

    /// Whether these are the totals of this run: of all its tests, or of those that it executed.
    fn is_total(&mut self, all: u64) -> bool {
        if self.close_inner_run() {
            return false;
        }
        let counted = |results: u64| results.checked_sub(self.disabled) == Some(all);
        !self.is_open || self.all.is_none_or(counted) || counted(self.done)
    }
}

static RESULT: LinePattern = LinePattern::new(
    r"^\s*(?P<number>\d+)/(?P<all>\d+) Test +#\d+: (?P<id>\S.*?) \.{3,}(?: +(?P<passed>Passed)|(?P<how>[\w ]*\*\*\*.*?)) *(?:\d+\.\d+ sec)?$",
);
static TOTALS: LinePattern =
    LinePattern::new(r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<all>\d+)$");
static LISTED: LinePattern = LinePattern::new(r"^\t *\d+ - (?P<id>\S+) \((?P<how>[^()]+)\)");

impl BlockFormat for CTestFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        let is_project = text.starts_with("Test project ");
        if !self.progress.is_open && (is_project || is_start(line)) {
            self.progress = CTestProgress {
                is_open: true,
                ..CTestProgress::default()
            };
            (self.seen, self.skipped) = (false, 0);
            findings.runs.begin_session(TOOL);
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        self.progress.inner += u32::from(is_project);
        if text == "No tests were found!!!"
            && self.progress.is_open
            && !self.progress.close_inner_run()
        {
            self.progress = CTestProgress::default();
            findings.runs.close(TOOL, TestTotals::default());
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        if let Some(result) = RESULT.captures_marked(text, " Test ")
            && self.is_next(&result)
        {
            findings.add_tool(TOOL);
            self.seen = true;
            let id = &result["id"];
            if let Some(how) = result.get("how") {
                return Some(self.parse_unsuccessful_test(id, how, line, findings));
            }
            findings.record_test(TOOL, TestOutcome::Passed, id);
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if text.contains("% tests passed, ") && self.parse_totals(text, findings) {
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        if !line.heading.starts_with("The following tests FAILED:") {
            return None;
        }
        let listed = LISTED.captures(text)?;
        if !self.seen {
            let draft = self.start_failure(&listed["id"], &listed["how"], line, findings);
            findings.add(draft.build());
        }
        Some(BlockStep::Claim(LineClaim::Ignore))
    }

    /// Collects the output of a failed test that no other format claimed.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if is_start(line) || self.lines == OUTPUT_LINES {
            return BlockStep::End(LineClaim::Ignore);
        }
        self.lines += 1;
        self.error.parse_line(draft, line.text);
        BlockStep::Shown
    }
}

/// `    Start 2: cart`
fn is_start(line: &CleanLine<'_>) -> bool {
    line.indent() == 4 && line.body().starts_with("Start ")
}

impl CTestFormat {
    /// Whether it is the next result of this run; records the progress if so.
    fn is_next(&mut self, result: &Groups<'_>) -> bool {
        let (number, all) = (result.count("number"), result.count("all"));
        let is_next = self.progress.is_next(number, all);
        if is_next {
            self.progress.done = number;
            self.progress.inner = 0;
            self.progress.all = Some(all);
        }
        is_next
    }

    /// A test that did not pass: it failed, or did not run.
    fn parse_unsuccessful_test(
        &mut self,
        id: &str,
        how: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> BlockStep {
        let how = how.replace("***", " ");
        let how = how.trim().trim_end_matches(':');
        if how.starts_with("Skipped") || how.ends_with("(Disabled)") {
            let is_counted = how.starts_with("Skipped");
            self.skipped += u64::from(is_counted);
            self.progress.disabled += u64::from(!is_counted);
            findings.record_test(TOOL, TestOutcome::Skipped, id);
            return BlockStep::End(LineClaim::Ignore);
        }
        BlockStep::Begin(self.start_failure(id, how, line, findings))
    }

    fn start_failure(
        &mut self,
        id: &str,
        how: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> FailureBuilder {
        findings.record_test(TOOL, TestOutcome::Failed, id);
        (self.lines, self.error) = (0, ProgramErrorReader::default());
        let mut draft = FailureBuilder::test(TOOL, id, line);
        draft.push_message(how);
        draft
    }

    fn parse_totals(&mut self, text: &str, findings: &mut Findings) -> bool {
        let Some(found) = TOTALS.captures(text) else {
            return false;
        };
        if !self.progress.is_total(found.count("all")) {
            return false;
        }
        let CTestProgress { disabled, .. } = std::mem::take(&mut self.progress);
        let mut totals = TestTotals::captured(&found);
        let skipped = std::mem::take(&mut self.skipped);
        totals.passed = totals.passed.saturating_sub(skipped);
        totals.skipped = skipped + disabled;
        findings.runs.close(TOOL, totals);
        true
    }
}
