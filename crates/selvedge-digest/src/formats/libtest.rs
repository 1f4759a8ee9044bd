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

use super::unpanicked::told_otherwise;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "cargo test";

/// Reads libtest's text.
#[derive(Debug, Default)]
pub(super) struct Libtest {
    /// Ids that failed in the current binary.
    failed: Vec<String>,
    /// Within the captured output of a failed test.
    draft: Option<Draft>,
    part: Part,
    /// Ids whose output was shown in the current binary.
    shown: Vec<String>,
}

/// Where in a test's output a line stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
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

impl Format for Libtest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if self.passed(text, findings) {
            return Claim::Noise;
        }
        if let Some(claim) = self.result(line, findings) {
            return claim;
        }
        if let Some(rest) = text.strip_prefix("running ")
            && (rest.ends_with(" tests") || rest == "1 test")
        {
            self.close(findings);
            findings.tool(TOOL);
            findings.runs.begin(TOOL);
            self.failed.clear();
            self.shown.clear();
            return Claim::Noise;
        }
        if let Some(id) = text
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" ----"))
        {
            let id = id.trim_end_matches(" stdout").trim_end_matches(" stderr");
            self.close(findings);
            self.open(id, line, findings);
            return Claim::Evidence;
        }
        if text.starts_with("test result: ")
            && let Some(totals) = RESULT.captures(text)
        {
            self.close(findings);
            self.report_unshown(line, findings);
            let number = |index: usize| totals[index].parse().unwrap_or(0);
            let totals = Totals {
                passed: number(1),
                failed: number(2),
                skipped: number(3),
            };
            findings.tool(TOOL);
            findings.runs.close(TOOL, totals);
            return Claim::Noise;
        }
        if text == "failures:" {
            self.close(findings);
            return if findings.knows_tool(TOOL) {
                Claim::Noise
            } else {
                Claim::Foreign
            };
        }
        self.output(line)
    }

    fn passed(&mut self, text: &str, findings: &mut Findings) -> bool {
        let test = text.strip_prefix("test ");
        let Some(id) = test.and_then(|test| test.strip_suffix(" ... ok")) else {
            return false;
        };
        self.close(findings);
        let id = id.strip_suffix(" - should panic").unwrap_or(id);
        findings.tool(TOOL);
        findings.runs.test(TOOL, Outcome::Passed, Some(id));
        true
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Libtest {
    /// `test NAME ... ok`, or with `-q` only [the tests that failed](Self::quiet).
    fn result(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
        let Some(test) = line.text.strip_prefix("test ") else {
            return self.quiet(line, findings);
        };
        let (id, outcome) = test.rsplit_once(" ... ")?;
        let id = id.strip_suffix(" - should panic").unwrap_or(id);
        findings.tool(TOOL);
        if outcome.starts_with("ok") {
            findings.runs.test(TOOL, Outcome::Passed, Some(id));
        } else if outcome.starts_with("FAILED") {
            self.failed(id, findings);
        } else if outcome.starts_with("ignored") {
            findings.runs.test(TOOL, Outcome::Skipped, Some(id));
        } else {
            return None;
        }
        self.close(findings);
        Some(Claim::Noise)
    }

    /// `NAME --- FAILED`, after the dots of those that passed.
    fn quiet(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
        let id = line.text.strip_suffix(" --- FAILED")?;
        let dots = id
            .rfind(['.', 'i', 'F'])
            .filter(|_| id.starts_with('.'))
            .map_or(0, |at| at + 1);
        self.failed(id[dots..].trim(), findings);
        Some(Claim::Noise)
    }

    fn failed(&mut self, id: &str, findings: &mut Findings) {
        findings.runs.test(TOOL, Outcome::Failed, Some(id));
        if self.failed.len() < 10_000 {
            self.failed.push(id.to_owned());
        }
    }

    fn open(&mut self, id: &str, line: &Line<'_>, findings: &mut Findings) {
        findings.tool(TOOL);
        let mut draft = Draft::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(id.to_owned());
        if let Some(place) = DOCTEST_LINE.captures(id) {
            draft.place(&place["file"], place["line"].parse().ok(), None);
        }
        self.shown.push(id.to_owned());
        self.draft = Some(draft);
        self.part = Part::Output;
    }

    /// A line of the captured output of a failed test.
    fn output(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if line.text.contains("panicked at")
            && let Some(panic) = PANIC.captures(line.text)
        {
            draft.place_again(
                &panic["file"],
                panic["line"].parse().ok(),
                panic["column"].parse().ok(),
            );
            if let Some(message) = panic.name("message") {
                draft.message(message.as_str());
            }
            self.part = if panic["end"].is_empty() {
                Part::Backtrace
            } else {
                Part::Message
            };
            draft.skip(line);
            return Claim::Evidence;
        }
        if self.part == Part::Output && told_otherwise(draft, line.text) {
            self.part = Part::Backtrace;
            draft.skip(line);
            return Claim::Evidence;
        }
        let ends = line.text.starts_with("stack backtrace:") || line.text.starts_with("note: ");
        if ends {
            self.part = Part::Backtrace;
        }
        match self.part {
            Part::Message if line.is_blank() => self.part = Part::Backtrace,
            Part::Message => draft.message(line.text),
            Part::Output => draft.excerpt(line),
            Part::Backtrace => draft.skip(line),
        }
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }

    /// A failed test may print nothing, or its output may be elsewhere.
    fn report_unshown(&mut self, line: &Line<'_>, findings: &mut Findings) {
        for id in std::mem::take(&mut self.failed) {
            if !self.shown.contains(&id) {
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id);
                findings.add(draft.found());
            }
        }
    }
}
