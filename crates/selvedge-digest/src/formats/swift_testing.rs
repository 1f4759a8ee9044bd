//! Swift Testing, which `swift test` runs in addition to [XCTest](super::xctest). Tests run concurrently, so each issue
//! names its test; the author's comment follows below it, after an arrow.

use std::collections::HashMap;

use super::prelude::*;

const TOOL: &str = "Swift Testing";
/// Maximum number of tests with an issue that have not ended.
const TESTS: usize = 400;

/// The text of an issue that the author recorded; the author's comment follows.
const BARE: &str = "Issue recorded";

/// Reads Swift Testing's text.
#[derive(Debug, Default)]
pub(super) struct SwiftTestingParser {
    /// The tests with an issue that have not ended.
    drafts: HashMap<String, FailureBuilder>,
    /// The test of the last issue.
    last: Option<String>,
    seen: TestTotals,
}

static ISSUE: LinePattern = LinePattern::new(
    r"^(?P<id>.+?) recorded an issue(?: with \d+ arguments? (?P<arguments>.+?))? at (?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+): (?P<message>\S.*)$",
);
static ENDED: LinePattern =
    LinePattern::new(r"^(?P<id>.+?) (?P<outcome>passed after|failed after|skipped)\b");
static RUN: LinePattern =
    LinePattern::new(r"^run with (?P<all>\d+) tests? .*(?:passed|failed) after ");

/// The text after the mark and `Test` in a line of the runner; the marks differ by system.
fn strip_test_mark(text: &str) -> Option<&str> {
    let (mark, rest) = text.split_once(' ')?;
    let drawn = mark.chars().count() == 1 && !mark.is_ascii();
    rest.strip_prefix("Test ").filter(|_| drawn)
}

impl FormatParser for SwiftTestingParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let last = self.last.take();
        let Some(message) = strip_test_mark(line.text) else {
            return self.parse_comment(last, line);
        };
        if let Some(issue) = ISSUE.captures(message) {
            self.record_issue(&issue, line);
            return LineClaim::Evidence;
        }
        if let Some(run) = RUN.captures_prefixed(message, "run with ") {
            self.record_total(run["all"].parse().unwrap_or(0), findings);
            return LineClaim::Ignore;
        }
        if let Some(ended) = ENDED.captures(message) {
            self.record_test_end(&ended["id"], &ended["outcome"], line, findings);
            return LineClaim::Ignore;
        }
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.last.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.record_total(0, findings);
    }
}

impl SwiftTestingParser {
    fn record_issue(&mut self, issue: &Groups<'_>, line: &CleanLine<'_>) {
        let id = &issue["id"];
        if self.drafts.len() >= TESTS && !self.drafts.contains_key(id) {
            return;
        }
        let draft = self
            .drafts
            .entry(id.to_owned())
            .or_insert_with(|| FailureBuilder::test(TOOL, id, line));
        draft.locate(issue);
        let message = &issue["message"];
        match issue.get("arguments") {
            Some(arguments) => draft.push_message(&format!("{message} ({arguments})")),
            None => draft.push_message(message),
        }
        draft.push_excerpt(line);
        self.last = Some(id.to_owned());
    }

    /// Reads the author's comment below an issue.
    fn parse_comment(&mut self, last: Option<String>, line: &CleanLine<'_>) -> LineClaim {
        let draft = last.as_ref().and_then(|id| self.drafts.get_mut(id));
        let (Some(draft), Some(comment)) = (draft, line.text.strip_prefix("↳ ")) else {
            return LineClaim::NotMine;
        };
        if draft.failure.message.as_deref() == Some(BARE) {
            draft.failure.message = None;
        }
        draft.push_message(comment);
        self.last = last;
        LineClaim::Evidence
    }

    fn record_test_end(
        &mut self,
        id: &str,
        outcome: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) {
        findings.add_tool(TOOL);
        let (outcome, count) = match outcome {
            "passed after" => (TestOutcome::Passed, &mut self.seen.passed),
            "skipped" => (TestOutcome::Skipped, &mut self.seen.skipped),
            _ => {
                self.seen.failed = self.seen.failed.saturating_add(1);
                let mut draft = self
                    .drafts
                    .remove(id)
                    .unwrap_or_else(|| FailureBuilder::new(FailureKind::Test, TOOL, line));
                draft.failure.id = Some(id.to_owned());
                findings.add_test(draft);
                return;
            }
        };
        *count = count.saturating_add(1);
        findings.record_test(TOOL, outcome, id);
    }

    /// Ends the run; tests without a reported end have failed.
    fn record_total(&mut self, all: u64, findings: &mut Findings) {
        let mut drafts: Vec<_> = self.drafts.drain().map(|(_, draft)| draft).collect();
        drafts.sort_by_key(|draft| *draft.lines().start());
        for draft in drafts {
            findings.add_tool(TOOL);
            self.seen.failed = self.seen.failed.saturating_add(1);
            findings.add_test(draft);
        }
        let TestTotals {
            failed, skipped, ..
        } = std::mem::take(&mut self.seen);
        if all > 0 {
            findings
                .runs
                .close(TOOL, TestTotals::from_total(all, failed, skipped));
        }
    }
}
