//! Linters that print a file name with its problems indented below it: eslint, stylelint, ruff's grouped
//! output. Also ruff's full output, which marks the place with an arrow.

use super::location::{CodeLocation, extension, parse_arrow};
use super::prelude::*;

/// Reads problems grouped by file. A block is a place and the source below it.
#[derive(Debug, Default)]
pub(super) struct GroupedLintFormat;

static FILE: Pattern = Pattern::new(r"^(?:[A-Za-z]:|\.{0,2}/|[\w@-])[^:*?]*\.\w{1,8}:?$");
static PROBLEM: Pattern = Pattern::new(
    r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?:(?P<severity>error|warning|✖|⚠|×)\s+)?(?P<message>\S.*?)(?:\s{2,}(?P<rule>[\w@/-]+))?$",
);
static CODED: Pattern =
    Pattern::new(r"^(?P<code>[A-Z]{1,5}\d{3,4}|invalid-syntax):? (?:\[\*\] )?(?P<message>\S.*)$");

impl BlockFormat for GroupedLintFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        if line.indent() == 0 {
            return None;
        }
        let body = line.body();
        if body.starts_with("--> ")
            && let Some(place) = parse_arrow(body)
        {
            return start_located_problem(place, line).map(BlockStep::Begin);
        }
        let numbered = body.starts_with(|c: char| c.is_ascii_digit());
        let problem = numbered.then(|| PROBLEM.captures(line.text))??;
        FILE.is_match(line.heading)
            .then(|| BlockStep::Whole(parse_problem(&problem, line)))
    }

    fn parse_body(&mut self, _: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let gutter = line
            .body()
            .starts_with(|c: char| c.is_ascii_digit() || c == '|');
        if gutter && line.text.contains('|') || line.text.starts_with("help: ") {
            return BlockStep::Shown;
        }
        BlockStep::OVER
    }
}

fn start_located_problem(place: CodeLocation<'_>, line: &CleanLine<'_>) -> Option<FailureBuilder> {
    let coded = CODED.captures(line.heading)?;
    let mut draft = FailureBuilder::captured(FailureKind::Lint, "ruff", &coded, line);
    draft.set_location(place.file, place.line, place.column);
    Some(draft)
}

fn parse_problem(problem: &Groups<'_>, line: &CleanLine<'_>) -> FailureBuilder {
    let file = line.heading.trim_end_matches(':');
    let (mut message, mut code) = (&problem["message"], problem.get("rule"));
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
    let mut draft = FailureBuilder::new(FailureKind::Lint, tool, line);
    if matches!(problem.text("severity"), "warning" | "⚠") {
        draft.severity = FailureSeverity::Warning;
    }
    draft.failure.code = code.map(str::to_owned);
    draft.set_location(file, problem.number("line"), problem.number("column"));
    draft.push_message(message);
    draft.push_excerpt(line);
    draft
}
