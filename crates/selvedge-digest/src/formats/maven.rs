//! Maven's own lines: compiler errors as `[ERROR] Cart.java:[5,18] message`, goals that failed, and
//! projects that cannot be read. The tests that Surefire runs are read with the other JVM runners.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "maven";

/// Reads lines that Maven marks as errors.
#[derive(Debug, Default)]
pub(super) struct MavenParser {
    draft: Option<FailureBuilder>,
    /// A goal has failed: the following errors are repetitions.
    repeats: bool,
}

static LOCATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>\S[^:\[\]]*\.\w+):(?: ?[\[(](?P<line>\d+), ?(?P<column>\d+)[\])])? (?P<message>\S.*)$",
    )
});
static GOAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^Failed to execute goal (?:(?P<goal>\S+) (?:\([^()]*\) )?)?on project (?P<project>[^\s:]+): (?P<message>.*?)(?: -> \[Help \d+\])?$",
    )
});

/// Beginnings of the advice at the end of every failed build.
const HELP: [&str; 5] = [
    "To see the full stack",
    "Re-run Maven ",
    "For more information about the errors",
    "[Help ",
    "-> [Help ",
];

/// Headings and rulers around Maven's messages.
fn is_heading_or_rule(rest: &str) -> bool {
    matches!(rest, "Failures:" | "Errors:") || !rest.contains(char::is_alphanumeric)
}

impl FormatParser for MavenParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let mark = line
            .text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "));
        let Some((mark, rest)) = mark else {
            return self.parse_detail(line, findings);
        };
        self.close(findings);
        match mark {
            "INFO" if rest.starts_with("Scanning for projects") => self.repeats = false,
            "ERROR" if is_heading_or_rule(rest) => return LineClaim::Suppress,
            "ERROR" => return self.parse_error(rest, line, findings),
            "FATAL" => {
                let mut draft = start_failure(FailureKind::Infra, line, findings);
                if let Some((_, pom)) = rest.split_once(" POM ") {
                    draft.set_location(pom.split(':').next().unwrap_or(pom), None, None);
                }
                draft.push_message(rest);
                self.draft = Some(draft);
                return LineClaim::Evidence;
            }
            _ => {}
        }
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl MavenParser {
    fn parse_error(
        &mut self,
        rest: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        if rest.starts_with("Failed to execute goal")
            && let Some(goal) = GOAL.captures(rest)
        {
            self.repeats = true;
            return record_failed_goal(&goal, line, findings);
        }
        if HELP.iter().any(|start| rest.starts_with(start)) {
            return LineClaim::Suppress;
        }
        // Without a place, the line has no number after a bracket.
        let bracket = rest
            .find(['[', '('])
            .and_then(|at| rest.as_bytes().get(at + 1));
        if !bracket.is_some_and(u8::is_ascii_digit) {
            return LineClaim::NotMine;
        }
        let Some(place) = LOCATION.captures(rest) else {
            return LineClaim::NotMine;
        };
        if self.repeats {
            return LineClaim::Ignore;
        }
        let mut draft = start_failure(FailureKind::Compile, line, findings);
        let number = |name: &str| place.name(name).and_then(|n| n.as_str().parse().ok());
        draft.set_location(&place["file"], number("line"), number("column"));
        draft.push_message(&place["message"]);
        self.draft = Some(draft);
        LineClaim::Evidence
    }

    /// `symbol:` and `location:` below an error of the compiler.
    fn parse_detail(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = self.draft.as_mut().filter(|_| line.indent() > 0) else {
            self.close(findings);
            return LineClaim::NotMine;
        };
        match (
            &mut draft.failure.message,
            line.body().split_once("symbol:"),
        ) {
            (Some(message), Some((_, symbol))) => {
                message.push_str(": ");
                message.push_str(symbol.trim());
            }
            _ => draft.push_message(line.body()),
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

fn start_failure(
    kind: FailureKind,
    line: &CleanLine<'_>,
    findings: &mut Findings,
) -> FailureBuilder {
    findings.add_tool(TOOL);
    let mut draft = FailureBuilder::new(kind, TOOL, line);
    draft.push_excerpt(line);
    draft
}

/// A failed goal counts as the cause only if no compiler or test failure was reported before it.
fn record_failed_goal(
    goal: &regex::Captures<'_>,
    line: &CleanLine<'_>,
    findings: &mut Findings,
) -> LineClaim {
    let told = goal.name("goal").is_some_and(|goal| {
        let goal = goal.as_str();
        goal.contains("compile") || goal.contains("test") || goal.contains("verify")
    });
    if told {
        return LineClaim::NotMine;
    }
    let mut draft = start_failure(FailureKind::Infra, line, findings);
    draft.failure.id = Some(goal["project"].to_owned());
    draft.push_message(&goal["message"]);
    findings.add(draft.build());
    LineClaim::Evidence
}
