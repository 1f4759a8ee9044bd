//! Bazel: what is wrong with a BUILD file, which action of which target failed, and the results of
//! its tests.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "bazel";
/// How many lines of an action's output are taken.
const OUTPUT_LINES: u32 = 12;

/// Reads Bazel's errors.
#[derive(Debug, Default)]
pub(super) struct Bazel {
    /// An action that failed; what it printed follows.
    draft: Option<Draft>,
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

impl Format for Bazel {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if let Some(claim) = self.message(line, findings) {
            return claim;
        }
        if text.starts_with("//")
            && let Some(test) = TEST.captures(text)
        {
            return result(&test, line, findings);
        }
        let Some(draft) = self.draft.as_mut().filter(|_| self.lines < OUTPUT_LINES) else {
            self.close(findings);
            return Claim::Foreign;
        };
        self.lines += 1;
        if line.indent() > 0 || text.is_empty() {
            // The command line of the action.
            draft.skip(line);
            return Claim::Noise;
        }
        draft.message(text);
        draft.excerpt(line);
        // A compiler's own words are read by others.
        Claim::Foreign
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Bazel {
    /// A line that Bazel marks as its own.
    fn message(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
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
                Claim::Noise
            } else {
                Claim::Foreign
            });
        };
        findings.tool(TOOL);
        let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
        draft.place(
            &error["file"],
            error["line"].parse().ok(),
            error["column"].parse().ok(),
        );
        let message = &error["message"];
        if let Some(action) = ACTION.captures(message) {
            draft.failure.id = action
                .name("target")
                .map(|target| target.as_str().to_owned());
            // The command line behind it is long, and nobody's.
            let end = message.find("): ").map_or(message.len(), |at| at + 1);
            draft.message(&message[..end]);
            self.draft = Some(draft);
            self.lines = 0;
        } else {
            draft.message(message);
            draft.excerpt(line);
            findings.add(draft.found());
        }
        Some(Claim::Evidence)
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}

fn result(test: &regex::Captures<'_>, line: &Line<'_>, findings: &mut Findings) -> Claim {
    let id = &test["id"];
    let outcome = match &test["outcome"] {
        "PASSED" | "FLAKY" => Outcome::Passed,
        "SKIPPED" | "NO STATUS" => Outcome::Skipped,
        _ => Outcome::Failed,
    };
    findings.tool(TOOL);
    findings.runs.test(TOOL, outcome, Some(id));
    findings.runs.close_as_seen(TOOL);
    if outcome != Outcome::Failed {
        return Claim::Noise;
    }
    let mut draft = Draft::new(FailureKind::Test, TOOL, line);
    draft.failure.id = Some(id.to_owned());
    draft.message(test["outcome"].to_lowercase().as_str());
    draft.excerpt(line);
    findings.add(draft.found());
    Claim::Evidence
}
