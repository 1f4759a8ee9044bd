//! Bazel: errors in BUILD files, failed actions with their targets, and test results.

use super::prelude::*;

const TOOL: &str = "bazel";
/// How many lines of an action's output are taken.
const OUTPUT_LINES: u32 = 12;

/// Reads Bazel's errors. A block is a failed action and its output.
#[derive(Debug, Default)]
pub(super) struct BazelFormat {
    lines: u32,
}

static ERROR: LinePattern = LinePattern::new(
    r"^ERROR: (?P<file>/[^\s:]+):(?P<line>\d+):(?P<column>\d+): (?P<message>\S.*)$",
);
/// `Executing genrule //:rates failed: (Exit 3): …`
static ACTION: LinePattern =
    LinePattern::new(r"(?P<target>(?:@[\w.-]*)?//[^\s,'()]*)?.*\bfailed: \((?P<how>[^)]*)\): ");
static TEST: LinePattern = LinePattern::new(
    r"^(?P<id>//\S+) +(?:\(cached\) )?(?P<outcome>PASSED|FAILED|TIMEOUT|FLAKY|SKIPPED|NO STATUS)(?: in .*)?$",
);

impl BlockFormat for BazelFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if text.starts_with("//") {
            let test = TEST.captures(text)?;
            return Some(BlockStep::Claim(record_test_result(&test, line, findings)));
        }
        if !["ERROR: ", "INFO: ", "WARNING: ", "FAILED: "]
            .iter()
            .any(|mark| text.starts_with(mark))
        {
            return None;
        }
        let Some(error) = ERROR.captures(text) else {
            let repeats = [
                "ERROR: Skipping '",
                "ERROR: Analysis of target '",
                "FAILED: Build did NOT",
            ];
            return Some(if repeats.iter().any(|start| text.starts_with(start)) {
                BlockStep::End(LineClaim::Ignore)
            } else {
                BlockStep::OVER
            });
        };
        let message = &error["message"];
        let Some(action) = ACTION.captures(message) else {
            let draft = FailureBuilder::captured(FailureKind::Compile, TOOL, &error, line);
            return Some(BlockStep::Whole(draft));
        };
        let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
        draft.locate(&error);
        draft.failure.id = action.get("target").map(str::to_owned);
        // The long command line after it is not useful.
        let end = message.find("): ").map_or(message.len(), |at| at + 1);
        draft.push_message(&message[..end]);
        self.lines = 0;
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if self.lines >= OUTPUT_LINES {
            return BlockStep::OVER;
        }
        self.lines += 1;
        if line.indent() > 0 || line.is_blank() {
            // The command line of the action.
            draft.skip_line(line);
            return BlockStep::Claim(LineClaim::Ignore);
        }
        draft.push_message(line.text);
        draft.push_excerpt(line);
        // The compiler's output is read by other formats.
        BlockStep::Claim(LineClaim::NotMine)
    }
}

fn record_test_result(
    test: &Groups<'_>,
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
    findings.record_test(TOOL, outcome, id);
    findings.runs.close_as_seen(TOOL);
    if outcome != TestOutcome::Failed {
        return LineClaim::Ignore;
    }
    let mut draft = FailureBuilder::test(TOOL, id, line);
    draft.push_message(test["outcome"].to_lowercase().as_str());
    draft.push_excerpt(line);
    findings.add(draft.build());
    LineClaim::Evidence
}
