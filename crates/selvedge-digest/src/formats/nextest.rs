//! cargo-nextest. Each failed test is shown with the output of libtest, indented; a summary at the
//! end repeats the status lines.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::unpanicked::told_otherwise;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "nextest";

/// Reads nextest's human output.
#[derive(Debug, Default)]
pub(super) struct Nextest {
    draft: Option<Draft>,
    message: bool,
    reported: HashSet<String>,
}

static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ +(?:TRY \d+ )?(?P<status>PASS|FAIL|SIG\w+|ABORT|TIMEOUT|SLOW|LEAK|FLAKY|XFAIL|FL\+LK|TMT)(?: \d/\d)? \[ *>?[\d.]+m?s\] (?:\( *\d+/ *\d+\) )?(?P<id>\S.*)$",
    )
});
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^ +Summary \[.*\] (?:\d+/)?\d+ tests? run: (?P<passed>\d+) passed(?: \([^)]*\))?(?:, (?P<failed>\d+) failed)?(?:, (?P<broken>\d+) exec failed)?(?:, (?P<late>\d+) timed out)?(?:, (?P<skipped>\d+) skipped)?",
    )
});
static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*thread '.*?' (?:\(\d+\) )?panicked at (?P<file>[^:']+):(?P<line>\d+):(?P<column>\d+):?$",
    )
});

impl Format for Nextest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let bracket = line.text.starts_with(' ') && line.text.contains(" [");
        if bracket && let Some(status) = STATUS.captures(line.text) {
            self.close(findings);
            findings.tool(TOOL);
            self.status(&status["status"], status["id"].trim(), line, findings);
            return Claim::Noise;
        }
        if bracket && let Some(summary) = SUMMARY.captures(line.text) {
            self.close(findings);
            let number = |name| -> u64 {
                summary
                    .name(name)
                    .and_then(|number| number.as_str().parse().ok())
                    .unwrap_or(0)
            };
            let totals = Totals {
                passed: number("passed"),
                failed: number("failed") + number("broken") + number("late"),
                skipped: number("skipped"),
            };
            findings.runs.close(TOOL, totals);
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

impl Nextest {
    fn status(&mut self, status: &str, id: &str, line: &Line<'_>, findings: &mut Findings) {
        match status {
            "PASS" | "LEAK" | "FLAKY" => findings.runs.test(TOOL, Outcome::Passed, Some(id)),
            "SLOW" => {}
            _ if self.reported.contains(id) => {}
            _ => {
                if self.reported.len() < 10_000 {
                    self.reported.insert(id.to_owned());
                }
                findings.runs.test(TOOL, Outcome::Failed, Some(id));
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id.to_owned());
                if status == "TIMEOUT" || status == "TMT" {
                    draft.failure.kind = FailureKind::Timeout;
                    draft.message("timed out");
                } else if status.starts_with("SIG") {
                    draft.failure.code = Some(status.to_owned());
                }
                self.draft = Some(draft);
                self.message = false;
            }
        }
    }

    fn output(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.starts_with("────") || text.starts_with("  Cancelling") {
            self.close(findings);
            return Claim::Noise;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if text.contains("panicked at")
            && let Some(panic) = PANIC.captures(text)
        {
            draft.place_again(
                &panic["file"],
                panic["line"].parse().ok(),
                panic["column"].parse().ok(),
            );
            self.message = true;
            draft.skip(line);
            return Claim::Evidence;
        }
        let body = text.trim();
        if draft.failure.message.is_none() && told_otherwise(draft, body) {
            draft.skip(line);
            return Claim::Evidence;
        }
        if body.starts_with("stack backtrace:") || body.starts_with("note: ") || body.is_empty() {
            self.message = false;
        }
        if self.message {
            draft.message(body);
        }
        draft.skip(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}
