//! `deno test`: results as they end, the errors of all failed tests, and one closing line. Steps are parts of a test
//! and are not counted.

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

const TOOL: &str = "deno";
/// How many lines of an error are read.
const ERROR_LINES: u32 = 200;

/// Reads deno's test runner.
#[derive(Debug, Default)]
pub(super) struct DenoParser {
    section: DenoSection,
    draft: Option<FailureBuilder>,
    /// Number of lines of the error that were read.
    error_lines: u32,
    /// The file of the test whose error is read.
    file: String,
    /// The place in the test's own file was found.
    placed: bool,
    /// Results were printed test by test; otherwise the errors name the failed tests.
    inline: bool,
    /// The failed test that was recorded last.
    failed: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum DenoSection {
    #[default]
    Outside,
    Results,
    Errors,
    /// The list of failed tests, which repeats their names.
    Failures,
}

static HEADER: LinePattern = LinePattern::new(r"^running \d+ tests? from \S");
static RESULT: LinePattern = LinePattern::new(
    r"^(?:\S+ => )?(?P<id>\S.*?) \.\.\. (?P<outcome>ok|FAILED|ignored)(?: \(due to \d+ failed steps?\))? \(\d[^()]*\)$",
);
static CLOSING: LinePattern = LinePattern::new(concat!(
    r"^(?:ok|FAILED) \| (?P<passed>\d+) passed(?: \(\d+ steps?\))? \| (?P<failed>\d+) failed(?: \(\d+ steps?\))?",
    r"(?: \| (?P<skipped>\d+) ignored(?: \(\d+ steps?\))?)?(?: \| \d+ measured)?(?: \| \d+ filtered out)? \(\d[\dhms .µ]*\)$",
));
/// `sums => ./total_test.ts:5:6`
static FAILED: LinePattern =
    LinePattern::new(r"^(?P<id>\S.*?) => (?P<file>\S+?):(?P<line>\d+):(?P<column>\d+)$");
static UNCAUGHT: LinePattern = LinePattern::new(r"^(?P<id>(?P<file>\S+) \(uncaught error\))$");
/// An error of the type check before the tests.
static TYPE_ERROR: LinePattern =
    LinePattern::new(r"^(?P<code>TS\d+) \[(?P<severity>ERROR|WARN)\]: (?P<message>\S.*)$");

impl FormatParser for DenoParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(found) = TYPE_ERROR.captures_prefixed(text, "TS") {
            self.close(findings);
            findings.add_tool(TOOL);
            self.draft = Some(FailureBuilder::captured(
                FailureKind::Type,
                TOOL,
                &found,
                line,
            ));
            return LineClaim::Evidence;
        }
        if text.starts_with("running ") && HEADER.is_match(text) {
            self.close(findings);
            if self.section == DenoSection::Outside {
                findings.add_tool(TOOL);
                findings.runs.begin(TOOL);
            }
            self.section = DenoSection::Results;
            return LineClaim::Ignore;
        }
        if (text.starts_with("ok | ") || text.starts_with("FAILED | "))
            && let Some(totals) = CLOSING.captures(text)
        {
            self.close(findings);
            findings.close_run(TOOL, TestTotals::captured(&totals));
            *self = Self::default();
            return LineClaim::Evidence;
        }
        match text {
            " ERRORS" => {
                self.section = DenoSection::Errors;
                return LineClaim::Ignore;
            }
            " FAILURES" if self.section == DenoSection::Errors => {
                self.close(findings);
                self.section = DenoSection::Failures;
                return LineClaim::Ignore;
            }
            _ => {}
        }
        match self.section {
            DenoSection::Results => self.parse_result(line, findings),
            DenoSection::Errors => self.parse_error(line, findings),
            DenoSection::Failures => {
                LineClaim::ignore_if(FAILED.is_match(text) || UNCAUGHT.is_match(text))
            }
            DenoSection::Outside => self.parse_type_error(line, findings),
        }
    }

    fn is_open(&self) -> bool {
        self.section != DenoSection::Outside || self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        *self = Self::default();
    }
}

impl DenoParser {
    fn parse_result(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        // Steps are indented, or follow the name of their test.
        let candidate = line.indent() == 0 && line.text.ends_with(')');
        let Some(result) = candidate.then(|| RESULT.captures(line.text)).flatten() else {
            return LineClaim::NotMine;
        };
        let id = &result["id"];
        if id.contains(" ... ") {
            return LineClaim::Ignore;
        }
        self.inline = true;
        let outcome = TestOutcome::named(&result["outcome"]);
        findings.record_test(TOOL, outcome, id);
        match outcome {
            TestOutcome::Failed => LineClaim::Ignore,
            _ => LineClaim::Suppress,
        }
    }

    fn parse_error(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        let head = FAILED
            .captures_marked(text, " => ")
            .or_else(|| UNCAUGHT.captures_marked(text, " (uncaught error)"));
        if let Some(head) = head.filter(|_| line.indent() == 0) {
            self.close(findings);
            self.start_failure(&head, line, findings);
            return LineClaim::Evidence;
        }
        let Some(draft) = self
            .draft
            .as_mut()
            .filter(|_| self.error_lines < ERROR_LINES)
        else {
            // A run that was aborted ends without the list of failed tests.
            self.close(findings);
            return LineClaim::NotMine;
        };
        self.error_lines += 1;
        let body = line.body();
        let place = body
            .starts_with("at ")
            .then(|| parse_colon_frame(body))
            .flatten();
        if let Some(place) = place {
            let own = place.file.ends_with(self.file.trim_start_matches("./"));
            if is_foreign(place.file) || body.contains("(ext:") {
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
            // The place of the test itself is known from its heading, but not the failed line in it.
            if own && !self.placed {
                draft.replace_location(&self.file, place.line, place.column);
                self.placed = true;
            }
            draft.push_excerpt(line);
        } else if let Some(message) = text.strip_prefix("error: ") {
            draft.push_message(message);
            draft.skip_line(line);
        } else if body.starts_with("at ") || text.starts_with("This error was not caught") {
            draft.skip_line(line);
        } else {
            draft.push_excerpt(line);
        }
        LineClaim::Evidence
    }

    fn start_failure(&mut self, head: &Groups<'_>, line: &CleanLine<'_>, findings: &mut Findings) {
        findings.add_tool(TOOL);
        let id = &head["id"];
        // A step: `test ... step`.
        let test = id.split(" ... ").next().unwrap_or(id);
        let is_error = !head.has("line");
        if is_error || !self.inline && self.failed != test {
            findings.record_test(TOOL, TestOutcome::Failed, test);
            test.clone_into(&mut self.failed);
        }
        let mut draft = FailureBuilder::test(TOOL, id, line);
        draft.locate(head);
        head["file"].clone_into(&mut self.file);
        self.placed = false;
        self.error_lines = 0;
        self.draft = Some(draft);
    }

    /// The source and the place below an error of the type check.
    fn parse_type_error(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let body = line.body();
        if let Some(place) = body
            .strip_prefix("at ")
            .and_then(|_| parse_colon_frame(body))
        {
            draft.set_location(place.file, place.line, place.column);
            draft.skip_line(line);
            self.close(findings);
            return LineClaim::Evidence;
        }
        if line.is_blank() {
            self.close(findings);
            return LineClaim::NotMine;
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}
