//! Rust's own test runner, as `cargo test` prints it.
//!
//! ```text
//! running 2 tests
//! test parse::empty ... FAILED
//! ---- parse::empty stdout ----
//! thread 'parse::empty' panicked at src/parse.rs:10:5:
//! test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
//! ```

use std::sync::LazyLock;

use regex::Regex;

use super::rust_test_errors::take_non_panic_message;
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome, TestTotals};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "cargo test";

/// Reads libtest's text.
#[derive(Debug, Default)]
pub(super) struct LibtestParser {
    /// Ids that failed in the current binary.
    failed: Vec<String>,
    /// Within the captured output of a failed test.
    draft: Option<FailureBuilder>,
    section: LibtestSection,
    /// Ids whose output was shown in the current binary.
    shown: Vec<String>,
}

/// Section of a test's output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LibtestSection {
    #[default]
    Output,
    Message,
    Backtrace,
}

static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*thread '.*?' (?:\(\d+\) )?panicked at (?:'(?P<message>.*)', )?(?P<file>[^:']+?):(?P<line>\d+):(?P<column>\d+)(?P<end>:?)$",
    )
});
static RESULT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;"));
static DOCTEST_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S+\.\w+) - .*\(line (?P<line>\d+)\)"));

impl FormatParser for LibtestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if self.parse_passed_test(text, findings) {
            return LineClaim::Ignore;
        }
        if let Some(claim) = self.parse_result(line, findings) {
            return claim;
        }
        if let Some(rest) = text.strip_prefix("running ")
            && (rest.ends_with(" tests") || rest == "1 test")
        {
            self.close(findings);
            findings.add_tool(TOOL);
            findings.runs.begin(TOOL);
            self.failed.clear();
            self.shown.clear();
            return LineClaim::Ignore;
        }
        if let Some(id) = text
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" ----"))
        {
            let id = id.trim_end_matches(" stdout").trim_end_matches(" stderr");
            self.close(findings);
            self.open_output(id, line, findings);
            return LineClaim::Evidence;
        }
        if text.starts_with("test result: ")
            && let Some(totals) = RESULT.captures(text)
        {
            self.close(findings);
            self.report_unshown(line, findings);
            let number = |index: usize| totals[index].parse().unwrap_or(0);
            let totals = TestTotals {
                passed: number(1),
                failed: number(2),
                skipped: number(3),
            };
            findings.add_tool(TOOL);
            findings.runs.close(TOOL, totals);
            return LineClaim::Ignore;
        }
        if text == "failures:" {
            self.close(findings);
            return if findings.has_tool(TOOL) {
                LineClaim::Ignore
            } else {
                LineClaim::NotMine
            };
        }
        self.parse_output(line)
    }

    fn parse_passed_test(&mut self, text: &str, findings: &mut Findings) -> bool {
        let test = text.strip_prefix("test ");
        let Some(id) = test.and_then(|test| test.strip_suffix(" ... ok")) else {
            return false;
        };
        self.close(findings);
        let id = id.strip_suffix(" - should panic").unwrap_or(id);
        findings.add_tool(TOOL);
        findings
            .runs
            .record_test(TOOL, TestOutcome::Passed, Some(id));
        true
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl LibtestParser {
    /// `test NAME ... ok`, or with `-q` only [the tests that failed](Self::quiet).
    fn parse_result(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<LineClaim> {
        let Some(test) = line.text.strip_prefix("test ") else {
            return self.parse_quiet_result(line, findings);
        };
        let (id, outcome) = test.rsplit_once(" ... ")?;
        let id = id.strip_suffix(" - should panic").unwrap_or(id);
        findings.add_tool(TOOL);
        if outcome.starts_with("ok") {
            findings
                .runs
                .record_test(TOOL, TestOutcome::Passed, Some(id));
        } else if outcome.starts_with("FAILED") {
            self.record_failed(id, findings);
        } else if outcome.starts_with("ignored") {
            findings
                .runs
                .record_test(TOOL, TestOutcome::Skipped, Some(id));
        } else {
            return None;
        }
        self.close(findings);
        Some(LineClaim::Ignore)
    }

    /// `NAME --- FAILED`, after the dots of those that passed.
    fn parse_quiet_result(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<LineClaim> {
        let id = line.text.strip_suffix(" --- FAILED")?;
        let dots = id
            .rfind(['.', 'i', 'F'])
            .filter(|_| id.starts_with('.'))
            .map_or(0, |at| at + 1);
        self.record_failed(id[dots..].trim(), findings);
        Some(LineClaim::Ignore)
    }

    fn record_failed(&mut self, id: &str, findings: &mut Findings) {
        findings
            .runs
            .record_test(TOOL, TestOutcome::Failed, Some(id));
        if self.failed.len() < 10_000 {
            self.failed.push(id.to_owned());
        }
    }

    fn open_output(&mut self, id: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(id.to_owned());
        if let Some(place) = DOCTEST_LINE.captures(id) {
            draft.set_location(&place["file"], place["line"].parse().ok(), None);
        }
        self.shown.push(id.to_owned());
        self.draft = Some(draft);
        self.section = LibtestSection::Output;
    }

    /// A line of the captured output of a failed test.
    fn parse_output(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if line.text.contains("panicked at")
            && let Some(panic) = PANIC.captures(line.text)
        {
            draft.replace_location(
                &panic["file"],
                panic["line"].parse().ok(),
                panic["column"].parse().ok(),
            );
            if let Some(message) = panic.name("message") {
                draft.push_message(message.as_str());
            }
            self.section = if panic["end"].is_empty() {
                LibtestSection::Backtrace
            } else {
                LibtestSection::Message
            };
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if self.section == LibtestSection::Output && take_non_panic_message(draft, line.text) {
            self.section = LibtestSection::Backtrace;
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        let ends = line.text.starts_with("stack backtrace:") || line.text.starts_with("note: ");
        if ends {
            self.section = LibtestSection::Backtrace;
        }
        match self.section {
            LibtestSection::Message if line.is_blank() => self.section = LibtestSection::Backtrace,
            LibtestSection::Message => draft.push_message(line.text),
            LibtestSection::Output => draft.push_excerpt(line),
            LibtestSection::Backtrace => draft.skip_line(line),
        }
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }

    /// A failed test may print nothing, or its output may be elsewhere.
    fn report_unshown(&mut self, line: &CleanLine<'_>, findings: &mut Findings) {
        for id in std::mem::take(&mut self.failed) {
            if !self.shown.contains(&id) {
                let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id);
                findings.add(draft.build());
            }
        }
    }
}
