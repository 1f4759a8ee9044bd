//! Maven's own lines: compiler errors as `[ERROR] Cart.java:[5,18] message`, goals that failed, and
//! projects that cannot be read. The tests that Surefire runs are read with the other JVM runners.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "maven";

/// Reads what Maven marks as an error.
#[derive(Debug, Default)]
pub(super) struct Maven {
    draft: Option<Draft>,
    /// A goal has failed: the errors that follow were told before.
    repeats: bool,
}

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>\S[^:\[\]]*\.\w+):(?: ?[\[(](?P<line>\d+), ?(?P<column>\d+)[\])])? (?P<message>\S.*)$",
    )
});
static GOAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^Failed to execute goal (?:(?P<goal>\S+) (?:\([^()]*\) )?)?on project (?P<project>[^\s:]+): (?P<message>.*?)(?: -> \[Help \d+\])?$",
    )
});

/// How the advice begins that ends every failed build.
const HELP: [&str; 5] = [
    "To see the full stack",
    "Re-run Maven ",
    "For more information about the errors",
    "[Help ",
    "-> [Help ",
];

/// Headings and rules between which Maven says what it has to say.
fn is_frame_of_text(rest: &str) -> bool {
    matches!(rest, "Failures:" | "Errors:") || !rest.contains(char::is_alphanumeric)
}

impl Format for Maven {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let mark = line
            .text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "));
        let Some((mark, rest)) = mark else {
            return self.detail(line, findings);
        };
        self.close(findings);
        match mark {
            "INFO" if rest.starts_with("Scanning for projects") => self.repeats = false,
            "ERROR" if is_frame_of_text(rest) => return Claim::Chaff,
            "ERROR" => return self.error(rest, line, findings),
            "FATAL" => {
                let mut draft = begin(FailureKind::Infra, line, findings);
                if let Some((_, pom)) = rest.split_once(" POM ") {
                    draft.place(pom.split(':').next().unwrap_or(pom), None, None);
                }
                draft.message(rest);
                self.draft = Some(draft);
                return Claim::Evidence;
            }
            _ => {}
        }
        Claim::Foreign
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Maven {
    fn error(&mut self, rest: &str, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if rest.starts_with("Failed to execute goal")
            && let Some(goal) = GOAL.captures(rest)
        {
            self.repeats = true;
            return failed_goal(&goal, line, findings);
        }
        if HELP.iter().any(|start| rest.starts_with(start)) {
            return Claim::Chaff;
        }
        // Without a place in it the line has no number after a bracket.
        let bracket = rest
            .find(['[', '('])
            .and_then(|at| rest.as_bytes().get(at + 1));
        if !bracket.is_some_and(u8::is_ascii_digit) {
            return Claim::Foreign;
        }
        let Some(place) = PLACE.captures(rest) else {
            return Claim::Foreign;
        };
        if self.repeats {
            return Claim::Noise;
        }
        let mut draft = begin(FailureKind::Compile, line, findings);
        let number = |name: &str| place.name(name).and_then(|n| n.as_str().parse().ok());
        draft.place(&place["file"], number("line"), number("column"));
        draft.message(&place["message"]);
        self.draft = Some(draft);
        Claim::Evidence
    }

    /// `symbol:` and `location:` below an error of the compiler.
    fn detail(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = self.draft.as_mut().filter(|_| line.indent() > 0) else {
            self.close(findings);
            return Claim::Foreign;
        };
        match (
            &mut draft.failure.message,
            line.body().split_once("symbol:"),
        ) {
            (Some(message), Some((_, symbol))) => {
                message.push_str(": ");
                message.push_str(symbol.trim());
            }
            _ => draft.message(line.body()),
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}

fn begin(kind: FailureKind, line: &Line<'_>, findings: &mut Findings) -> Draft {
    findings.tool(TOOL);
    let mut draft = Draft::new(kind, TOOL, line);
    draft.excerpt(line);
    draft
}

/// A goal that failed is the cause only where no compiler and no test told one before it.
fn failed_goal(goal: &regex::Captures<'_>, line: &Line<'_>, findings: &mut Findings) -> Claim {
    let told = goal.name("goal").is_some_and(|goal| {
        let goal = goal.as_str();
        goal.contains("compile") || goal.contains("test") || goal.contains("verify")
    });
    if told {
        return Claim::Foreign;
    }
    let mut draft = begin(FailureKind::Infra, line, findings);
    draft.failure.id = Some(goal["project"].to_owned());
    draft.message(&goal["message"]);
    findings.add(draft.found());
    Claim::Evidence
}
