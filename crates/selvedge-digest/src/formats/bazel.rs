//! Bazel: errors in BUILD files, failed actions with their targets, and test results.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings, TestOutcome};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "bazel";
/// How many lines of an action's output are taken.
const OUTPUT_LINES: u32 = 12;

/// Reads Bazel's errors.
#[derive(Debug, Default)]
pub(super) struct BazelParser {
    /// A failed action; its output follows.
    draft: Option<FailureBuilder>,
    lines: u32,
}

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^ERROR: (?P<file>/[^\s:]+):(?P<line>\d+):(?P<column>\d+): (?P<message>\S.*)$")
});
/// `Executing genrule //:rates failed: (Exit 3): …`
static ACTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?P<target>(?:@[\w.-]*)?//[^\s,'()]*)?.*\bfailed: \((?P<how>[^)]*)\): ")
});
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<id>//\S+) +(?:\(cached\) )?(?P<outcome>PASSED|FAILED|TIMEOUT|FLAKY|SKIPPED|NO STATUS)(?: in .*)?$",
    )
});

impl FormatParser for BazelParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(claim) = self.parse_message(line, findings) {
            return claim;
        }
        if text.starts_with("//")
            && let Some(test) = TEST.captures(text)
        {
            return record_test_result(&test, line, findings);
        }
        let Some(draft) = self.draft.as_mut().filter(|_| self.lines < OUTPUT_LINES) else {
            self.close(findings);
            return LineClaim::NotMine;
        };
        self.lines += 1;
        if line.indent() > 0 || text.is_empty() {
            // The command line of the action.
            draft.skip_line(line);
            return LineClaim::Ignore;
        }
        draft.push_message(text);
        draft.push_excerpt(line);
        // The compiler's output is read by other formats.
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl BazelParser {
    /// A line that Bazel marks as its own.
    fn parse_message(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> Option<LineClaim> {
        let text = line.text;
        if !["ERROR: ", "INFO: ", "WARNING: ", "FAILED: "]
            .iter()
            .any(|mark| text.starts_with(mark))
        {
            return None;
        }
        self.close(findings);
        let Some(error) = ERROR.captures(text) else {
            let repeats = [
                "ERROR: Skipping '",
                "ERROR: Analysis of target '",
                "FAILED: Build did NOT",
            ];
            return Some(if repeats.iter().any(|start| text.starts_with(start)) {
                LineClaim::Ignore
            } else {
                LineClaim::NotMine
            });
        };
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
        draft.set_location(
            &error["file"],
            error["line"].parse().ok(),
            error["column"].parse().ok(),
        );
        let message = &error["message"];
        if let Some(action) = ACTION.captures(message) {
            draft.failure.id = action
                .name("target")
                .map(|target| target.as_str().to_owned());
            // The long command line after it is not useful.
            let end = message.find("): ").map_or(message.len(), |at| at + 1);
            draft.push_message(&message[..end]);
            self.draft = Some(draft);
            self.lines = 0;
        } else {
            draft.push_message(message);
            draft.push_excerpt(line);
            findings.add(draft.build());
        }
        Some(LineClaim::Evidence)
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

fn record_test_result(
    test: &regex::Captures<'_>,
    line: &CleanLine<'_>,
    findings: &mut Findings,
) -> LineClaim {
    let id = &test["id"];
    let outcome = match &test["outcome"] {
        "PASSED" | "FLAKY" => TestOutcome::Passed,
        "SKIPPED" | "NO STATUS" => TestOutcome::Skipped,
        _ => TestOutcome::Failed,
    };
    findings.add_tool(TOOL);
    findings.runs.record_test(TOOL, outcome, Some(id));
    findings.runs.close_as_seen(TOOL);
    if outcome != TestOutcome::Failed {
        return LineClaim::Ignore;
    }
    let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
    draft.failure.id = Some(id.to_owned());
    draft.push_message(test["outcome"].to_lowercase().as_str());
    draft.push_excerpt(line);
    findings.add(draft.build());
    LineClaim::Evidence
}
