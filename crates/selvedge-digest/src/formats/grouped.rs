//! Linters that print a file's name and its problems below it, indented: eslint, stylelint, ruff's
//! grouped output. Also ruff's full output, which points at the place with an arrow.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{Place, arrow, extension};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads problems grouped by file.
#[derive(Debug, Default)]
pub(super) struct Grouped {
    /// The source below a place.
    open: Option<Draft>,
}

static FILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[A-Za-z]:|\.{0,2}/|[\w@-])[^:*?]*\.\w{1,8}:?$"));
static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?:(?P<severity>error|warning|✖|⚠|×)\s+)?(?P<message>\S.*?)(?:\s{2,}(?P<rule>[\w@/-]+))?$",
    )
});
static CODED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?P<code>[A-Z]{1,5}\d{3,4}|invalid-syntax):? (?:\[\*\] )?(?P<message>\S.*)$")
});

impl Format for Grouped {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if let Some(draft) = &mut self.open {
            let gutter = line
                .body()
                .starts_with(|c: char| c.is_ascii_digit() || c == '|');
            if gutter && line.text.contains('|') || line.text.starts_with("help: ") {
                draft.excerpt(line);
                return Claim::Evidence;
            }
            self.close(findings);
        }
        if line.indent() == 0 {
            return Claim::Foreign;
        }
        let body = line.body();
        if body.starts_with("--> ")
            && let Some(place) = arrow(body)
        {
            return self.point(place, line, findings);
        }
        let numbered = body.starts_with(|c: char| c.is_ascii_digit());
        let Some(problem) = numbered
            .then(|| PROBLEM.captures(line.text))
            .flatten()
            .filter(|_| FILE.is_match(line.heading))
        else {
            return Claim::Foreign;
        };
        let draft = self::problem(&problem, line, findings);
        findings.add(draft.found());
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Grouped {
    fn point(&mut self, place: Place<'_>, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(coded) = CODED.captures(line.heading) else {
            return Claim::Foreign;
        };
        findings.tool("ruff");
        let mut draft = Draft::new(FailureKind::Lint, "ruff", line);
        draft.failure.code = Some(coded["code"].to_owned());
        draft.message(&coded["message"]);
        draft.place(place.file, place.line, place.column);
        draft.excerpt(line);
        self.open = Some(draft);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.open);
    }
}

fn problem(problem: &regex::Captures<'_>, line: &Line<'_>, findings: &mut Findings) -> Draft {
    let file = line.heading.trim_end_matches(':');
    let (mut message, mut code) = (
        &problem["message"],
        problem.name("rule").map(|rule| rule.as_str()),
    );
    let tool = if matches!(extension(file), "py" | "pyi" | "ipynb") {
        if let Some((word, rest)) = message.split_once(' ') {
            (code, message) = (
                Some(word.trim_end_matches(':')),
                rest.trim_start_matches("[*] "),
            );
        }
        "ruff"
    } else if matches!(extension(file), "css" | "scss" | "sass" | "less") {
        "stylelint"
    } else {
        "eslint"
    };
    findings.tool(tool);
    let mut draft = Draft::new(FailureKind::Lint, tool, line);
    if problem
        .name("severity")
        .is_some_and(|s| matches!(s.as_str(), "warning" | "⚠"))
    {
        draft.severity = Severity::Warning;
    }
    draft.failure.code = code.map(str::to_owned);
    draft.place(
        file,
        problem["line"].parse().ok(),
        problem["column"].parse().ok(),
    );
    draft.message(message);
    draft.excerpt(line);
    draft
}
