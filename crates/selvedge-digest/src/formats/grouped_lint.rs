//! Linters that print a file name with its problems indented below it: eslint, stylelint, ruff's grouped
//! output. Also ruff's full output, which marks the place with an arrow.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{CodeLocation, extension, parse_arrow};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads problems grouped by file.
#[derive(Debug, Default)]
pub(super) struct GroupedLintParser {
    /// The source below a place.
    open: Option<FailureBuilder>,
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

impl FormatParser for GroupedLintParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if let Some(draft) = &mut self.open {
            let gutter = line
                .body()
                .starts_with(|c: char| c.is_ascii_digit() || c == '|');
            if gutter && line.text.contains('|') || line.text.starts_with("help: ") {
                draft.push_excerpt(line);
                return LineClaim::Evidence;
            }
            self.close(findings);
        }
        if line.indent() == 0 {
            return LineClaim::NotMine;
        }
        let body = line.body();
        if body.starts_with("--> ")
            && let Some(place) = parse_arrow(body)
        {
            return self.start_located_problem(place, line, findings);
        }
        let numbered = body.starts_with(|c: char| c.is_ascii_digit());
        let Some(problem) = numbered
            .then(|| PROBLEM.captures(line.text))
            .flatten()
            .filter(|_| FILE.is_match(line.heading))
        else {
            return LineClaim::NotMine;
        };
        let draft = parse_problem(&problem, line, findings);
        findings.add(draft.build());
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl GroupedLintParser {
    fn start_located_problem(
        &mut self,
        place: CodeLocation<'_>,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        let Some(coded) = CODED.captures(line.heading) else {
            return LineClaim::NotMine;
        };
        findings.add_tool("ruff");
        let mut draft = FailureBuilder::new(FailureKind::Lint, "ruff", line);
        draft.failure.code = Some(coded["code"].to_owned());
        draft.push_message(&coded["message"]);
        draft.set_location(place.file, place.line, place.column);
        draft.push_excerpt(line);
        self.open = Some(draft);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.open);
    }
}

fn parse_problem(
    problem: &regex::Captures<'_>,
    line: &CleanLine<'_>,
    findings: &mut Findings,
) -> FailureBuilder {
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
    findings.add_tool(tool);
    let mut draft = FailureBuilder::new(FailureKind::Lint, tool, line);
    if problem
        .name("severity")
        .is_some_and(|s| matches!(s.as_str(), "warning" | "⚠"))
    {
        draft.severity = FailureSeverity::Warning;
    }
    draft.failure.code = code.map(str::to_owned);
    draft.set_location(
        file,
        problem["line"].parse().ok(),
        problem["column"].parse().ok(),
    );
    draft.push_message(message);
    draft.push_excerpt(line);
    draft
}
