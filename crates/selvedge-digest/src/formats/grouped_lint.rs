//! Linters that print a file name with its problems indented below it: eslint, stylelint, ruff's grouped
//! output. Also ruff's full output, which marks the place with an arrow, and the files that black and ruff would
//! reformat.

use super::location::{CodeLocation, extension, parse_arrow};
use super::prelude::*;

/// The code of ruff's formatter.
pub(super) const UNFORMATTED: &str = "unformatted";

/// Reads problems grouped by file. A block is a place and the source below it.
#[derive(Debug, Default)]
pub(super) struct GroupedLintFormat;

static FILE: LinePattern = LinePattern::new(r"^(?:[A-Za-z]:|\.{0,2}/|[\w@-])[^:*?]*\.\w{1,8}:?$");
static PROBLEM: LinePattern = LinePattern::new(
    r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?:(?P<severity>error|warning|✖|⚠|×)\s+)?(?P<message>\S.*?)(?:\s{2,}(?:(?P<rule>[\w@/-]+)|\((?P<named>[\w-]+)\)))?$",
);
static CODED: LinePattern = LinePattern::new(
    r"^(?P<code>[A-Z]{1,5}\d{3,4}|invalid-syntax|unformatted):? (?:\[\*\] )?(?P<message>\S.*)$",
);

impl BlockFormat for GroupedLintFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        if line.indent() == 0 {
            return unformatted_file(line).map(BlockStep::Whole);
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

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if draft.failure.code.as_deref() == Some(UNFORMATTED) && !line.is_blank() {
            // The lines of the diff have no common beginning.
            return BlockStep::Shown;
        }
        let gutter = line
            .body()
            .starts_with(|c: char| c.is_ascii_digit() || c == '|');
        if gutter && line.text.contains('|') || line.text.starts_with("help: ") {
            return BlockStep::Shown;
        }
        BlockStep::OVER
    }
}

/// `would reformat a.py` of black, `Would reformat: a.py` of ruff before 0.17.
fn unformatted_file(line: &CleanLine<'_>) -> Option<FailureBuilder> {
    let (tool, file) = match line.text.strip_prefix("would reformat ") {
        Some(file) => ("black", file),
        None => ("ruff", line.text.strip_prefix("Would reformat: ")?),
    };
    let message = "File would be reformatted";
    let mut draft = FailureBuilder::with_message(FailureKind::Lint, tool, message, line);
    draft.set_location(file, None, None);
    Some(draft)
}

fn start_located_problem(place: CodeLocation<'_>, line: &CleanLine<'_>) -> Option<FailureBuilder> {
    let coded = CODED.captures(line.heading)?;
    let mut draft = FailureBuilder::captured(FailureKind::Lint, "ruff", &coded, line);
    draft.set_location(place.file, place.line, place.column);
    Some(draft)
}

/// Whether eslint reads such files, itself or by a common plugin.
fn is_script(extension: &str) -> bool {
    const SCRIPTS: [&str; 13] = [
        "js", "jsx", "cjs", "mjs", "ts", "tsx", "cts", "mts", "vue", "svelte", "astro", "json",
        "md",
    ];
    SCRIPTS.contains(&extension)
}

fn parse_problem(problem: &Groups<'_>, line: &CleanLine<'_>) -> FailureBuilder {
    let file = line.heading.trim_end_matches(':');
    let (mut message, mut code) = (
        &problem["message"],
        problem.get("rule").or(problem.get("named")),
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
    } else if is_script(extension(file)) {
        "eslint"
    } else {
        "lint"
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
