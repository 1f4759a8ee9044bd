//! Too little test coverage: coverage.py and pytest-cov, Istanbul's reporters (jest, nyc, c8, vitest) and SimpleCov. Their
//! tests pass, and one line says what is missing; the table above it names the lines that no test runs.

use super::prelude::*;

const TOOL: &str = "coverage";
/// Rows of the table that are shown.
const MAX_ROWS: usize = 12;

/// Reads messages about a minimum that is not reached.
#[derive(Debug, Default)]
pub(super) struct CoverageParser {
    /// Whether the last line belongs to a table.
    in_table: bool,
    /// Rows of the last table with lines that no test runs.
    rows: Vec<String>,
}

static TOO_LITTLE: LinePattern = LinePattern::new(concat!(
    r"^(?:FAIL |ERROR: |Jest: )?(?P<message>Required test coverage of \d\S*% not reached.*",
    r"|Coverage failure: total of .+ is less than fail-under=.+",
    r"|Coverage for \w+ \([\d.]+%\) does not meet .*threshold.*",
    r#"|".+" coverage threshold for \w+ \([\d.]+%?\) not met: .+"#,
    r"|(?:Line|Branch) coverage \([\d.]+%\) is below the expected minimum coverage.*)$",
));

impl FormatParser for CoverageParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if is_heading(text) {
            self.rows.clear();
            self.in_table = true;
            return LineClaim::NotMine;
        }
        if self.in_table {
            let is_row = text.contains('|') || text.contains('%') || text.starts_with("---");
            self.in_table = is_row || line.is_blank();
            if self.rows.len() < MAX_ROWS && has_uncovered_lines(text) {
                self.rows.push(text.trim().to_owned());
            }
        }
        // pytest-cov repeats it at the end of the session.
        let is_repeated = text.starts_with("ERROR: Coverage failure");
        let found = TOO_LITTLE.captures_marked(text, "overage");
        let Some(found) = found.filter(|_| !is_repeated) else {
            return LineClaim::NotMine;
        };
        let message = found.text("message");
        let mut draft = FailureBuilder::with_message(FailureKind::Lint, TOOL, message, line);
        for row in std::mem::take(&mut self.rows) {
            draft.push_excerpt_text(&row);
        }
        findings.add(draft.build());
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.in_table
    }
}

/// Whether a table of coverage begins: `File | % Stmts | …` or `Name Stmts Miss Cover Missing`.
fn is_heading(text: &str) -> bool {
    let is_istanbul = text.starts_with("File") && text.contains("| % Stmts |");
    let is_python = text.starts_with("Name") && text.contains(" Stmts ") && text.contains(" Cover");
    is_istanbul || is_python
}

/// Whether a row of the table ends with the numbers of lines: `calc.js | 50 | 0 | 50 | 40 | 3-6` or `calc.py 6 3 50% 6-8`.
fn has_uncovered_lines(row: &str) -> bool {
    let cell = row.rsplit(['|', '%']).next().unwrap_or_default();
    cell.trim()
        .starts_with(|it: char| it.is_ascii_digit() || it == '.')
}
