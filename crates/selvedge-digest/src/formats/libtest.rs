//! Rust's own test runner, as `cargo test` prints it.
//!
//! ```text
//! running 2 tests
//! test parse::empty ... FAILED
//! ---- parse::empty stdout ----
//! thread 'parse::empty' panicked at src/parse.rs:10:5:
//! test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
//! ```

use super::location::{is_foreign, parse_rust_location};
use super::prelude::*;
use super::rust_test_errors::take_non_panic_message;

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
    /// What insta prints about a snapshot that differs.
    Snapshot,
    Message,
    Backtrace,
}

static PANIC: LinePattern = LinePattern::new(
    r"^\s*thread '.*?' (?:\(\d+\) )?panicked at (?:'(?P<message>.*)', )?(?P<file>[^:']+?):(?P<line>\d+):(?P<column>\d+)(?P<end>:?)$",
);
static RESULT: LinePattern = LinePattern::new(
    r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored;",
);
static DOCTEST_LINE: LinePattern =
    LinePattern::new(r"^(?P<file>\S+\.\w+) - .*\(line (?P<line>\d+)\)");

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
            findings.add_draft(&mut self.draft);
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
            findings.add_draft(&mut self.draft);
            self.open_output(id, line, findings);
            return LineClaim::Evidence;
        }
        if let Some(totals) = RESULT.captures_prefixed(text, "test result: ") {
            findings.add_draft(&mut self.draft);
            self.report_unshown(line, findings);
            findings.close_run(TOOL, TestTotals::captured(&totals));
            return LineClaim::Ignore;
        }
        if text == "failures:" {
            findings.add_draft(&mut self.draft);
            return LineClaim::ignore_if(findings.has_tool(TOOL));
        }
        self.parse_output(line)
    }

    fn parse_passed_test(&mut self, text: &str, findings: &mut Findings) -> bool {
        let test = text.strip_prefix("test ");
        let Some(id) = test.and_then(|test| test.strip_suffix(" ... ok")) else {
            return false;
        };
        findings.add_draft(&mut self.draft);
        let id = id.strip_suffix(" - should panic").unwrap_or(id);
        findings.add_tool(TOOL);
        findings.record_test(TOOL, TestOutcome::Passed, id);
        true
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
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
            findings.record_test(TOOL, TestOutcome::Passed, id);
        } else if outcome.starts_with("FAILED") {
            self.record_failed(id, findings);
        } else if outcome.starts_with("ignored") {
            findings.record_test(TOOL, TestOutcome::Skipped, id);
        } else {
            return None;
        }
        findings.add_draft(&mut self.draft);
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
        findings.record_test(TOOL, TestOutcome::Failed, id);
        if self.failed.len() < 10_000 {
            self.failed.push(id.to_owned());
        }
    }

    fn open_output(&mut self, id: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::test(TOOL, id, line);
        if let Some(place) = DOCTEST_LINE.captures(id) {
            draft.locate(&place);
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
        if let Some(panic) = PANIC.captures_marked(line.text, "panicked at") {
            // rustdoc compiles doctests together, in a file that is gone; the id has their place.
            let is_elsewhere = panic["file"].contains("rustdoctest") || is_foreign(&panic["file"]);
            if draft.failure.file.is_none() || !is_elsewhere {
                let (line, column) = (panic.number("line"), panic.number("column"));
                draft.replace_location(&panic["file"], line, column);
            }
            if let Some(message) = panic.get("message") {
                draft.push_message(message);
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
        if line
            .text
            .starts_with("Stopped on the first failure. Run `cargo insta test`")
        {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if self.section == LibtestSection::Output && line.text.contains("━ Snapshot ") {
            self.section = LibtestSection::Snapshot;
        }
        match self.section {
            LibtestSection::Snapshot => {
                if take_snapshot_line(draft, line) {
                    self.section = LibtestSection::Output;
                }
            }
            LibtestSection::Message if line.is_blank() => self.section = LibtestSection::Backtrace,
            LibtestSection::Message => draft.push_message(line.text),
            LibtestSection::Output => draft.push_excerpt(line),
            LibtestSection::Backtrace => {
                take_own_frame(draft, line.text);
                draft.skip_line(line);
            }
        }
        LineClaim::Evidence
    }

    /// A failed test may print nothing, or its output may be elsewhere.
    fn report_unshown(&mut self, line: &CleanLine<'_>, findings: &mut Findings) {
        for id in std::mem::take(&mut self.failed) {
            if !self.shown.contains(&id) {
                findings.add(FailureBuilder::test(TOOL, id, line).build());
            }
        }
    }
}

/// Takes a line that insta prints between its rules: the place of the assertion, and changed lines. Returns whether it
/// is the last one.
fn take_snapshot_line(draft: &mut FailureBuilder, line: &CleanLine<'_>) -> bool {
    let text = line.text;
    let source = text.strip_prefix("Source: ");
    if let Some((file, number)) = source.and_then(|place| place.rsplit_once(':')) {
        draft.set_location(file, number.parse().ok(), None);
    }
    if text.contains("│-") || text.contains("│+") {
        draft.push_excerpt(line);
    } else {
        draft.skip_line(line);
    }
    text.starts_with('─') && text.contains('┴')
}

/// Takes the place of a frame of the project, `at ./src/a.rs:3:7`, for a panic in a library.
fn take_own_frame(draft: &mut FailureBuilder, text: &str) {
    let place = text.trim_start().strip_prefix("at ./");
    let is_in_library = |file: &String| file.starts_with('/') && is_foreign(file);
    if let Some(place) = place.and_then(parse_rust_location)
        && draft.failure.file.as_ref().is_some_and(is_in_library)
    {
        draft.replace_location(place.file, place.line, place.column);
    }
}
