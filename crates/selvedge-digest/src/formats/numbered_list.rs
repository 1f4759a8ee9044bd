//! Runners that print their failures as a numbered list at the end: mocha, RSpec, ExUnit, minitest, PHPUnit.
//! All use the heading `  1) …`; the lines below it identify the runner.

use super::location::{extension, is_foreign, parse_colon_frame};
use super::prelude::*;

/// Reads numbered lists of failures.
#[derive(Debug, Default)]
pub(super) struct NumberedListParser {
    draft: Option<FailureBuilder>,
    title: Vec<String>,
    section: NumberedSection,
    dialect: Option<&'static str>,
    /// `N passing`, `N failing` and `N pending` are on separate lines.
    mocha: Option<TestTotals>,
    /// Within a list of tests that are numbered like failures but did not fail.
    pending: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum NumberedSection {
    #[default]
    Title,
    Message,
    /// Lines of source between the message and the stack.
    Source,
    Stack,
}

static HEADING: LinePattern = LinePattern::new(r"^\s{0,4}\d{1,5}\) (?P<title>\S.*)$");
static RUBY_PLACE: LinePattern =
    LinePattern::new(r"^(?P<id>.+?) \[(?P<file>[^\]]+):(?P<line>\d+)\]:?$");
static MINITEST: LinePattern = LinePattern::new(
    r"^(?P<all>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors(?:, (?P<skipped>\d+) skips)?",
);
static EXUNIT: LinePattern = LinePattern::new(
    r"^(?:(?:\d+ \w+, )*)\d+ (?:tests?|doctests?|properties), (?P<failed>\d+) failures?(?:, (?P<excluded>\d+) excluded)?(?:, (?P<skipped>\d+) skipped)?$",
);
static RSPEC: LinePattern = LinePattern::new(
    r"^(?P<all>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?(?:, (?P<errors>\d+) errors? occurred outside of examples)?",
);
static PHPUNIT: LinePattern = LinePattern::new(r"^Tests: (?P<all>\d+), Assertions: \d+");
static EXUNIT_TESTS: LinePattern =
    LinePattern::new(r"(?:^|, )(?P<count>\d+) (?:test|doctest|propert)");
static PHP_COUNT: LinePattern = LinePattern::new(r"(Failures|Errors|Skipped|Incomplete): (\d+)");
static MOCHA: LinePattern =
    LinePattern::new(r"^\s+(?P<count>\d+) (?P<what>passing|failing|pending)(?: \(.*\))?$");

impl FormatParser for NumberedListParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text == "Error:" || line.text == "Failure:" {
            // Minitest in a Rails application reports inline, without numbers.
            self.close(findings);
            self.dialect = Some("minitest");
            self.title.clear();
            self.section = NumberedSection::Title;
            self.draft = Some(FailureBuilder::new(FailureKind::Test, "minitest", line));
            return LineClaim::Evidence;
        }
        if let Some(file) = line.text.strip_prefix("An error occurred while loading ") {
            self.close(findings);
            self.record_load_error(file, line, findings);
            return LineClaim::Evidence;
        }
        if let Some(pending) = starts_pending_list(line.text) {
            self.close(findings);
            self.pending = pending;
            return LineClaim::NotMine;
        }
        let body = line.body();
        let numbered = body.starts_with(|c: char| c.is_ascii_digit());
        if numbered && let Some(heading) = HEADING.captures(line.text) {
            self.close(findings);
            if self.pending {
                return LineClaim::Ignore;
            }
            let title = &heading["title"];
            let draft =
                FailureBuilder::new(FailureKind::Test, self.dialect.unwrap_or("tests"), line);
            self.title = vec![title.to_owned()];
            self.section = NumberedSection::Title;
            if title == "Failure:" || title == "Error:" {
                self.dialect = Some("minitest");
                self.title.clear();
            }
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        if (numbered || body.starts_with("Tests: ")) && self.parse_totals(line, findings) {
            return LineClaim::Evidence;
        }
        self.parse_body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        self.close_mocha(findings);
    }
}

impl NumberedListParser {
    /// RSpec could not load a file; the error is below.
    fn record_load_error(&mut self, file: &str, line: &CleanLine<'_>, findings: &mut Findings) {
        let file = file.split(' ').next().unwrap_or(file).trim_end_matches('.');
        findings.add_tool("rspec");
        self.dialect = Some("rspec");
        self.section = NumberedSection::Message;
        let mut draft = FailureBuilder::test("rspec", file, line);
        draft.push_excerpt(line);
        self.draft = Some(draft);
    }

    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let (text, body) = (line.text, line.body());
        if self.section == NumberedSection::Title {
            if line.is_blank() {
                // A heading in a tree of passing tests, not yet in the list.
                self.draft = None;
                return LineClaim::NotMine;
            }
            return self.parse_title_line(line, findings);
        }
        let is_minitest = self.dialect == Some("minitest");
        if is_minitest
            && line.is_blank()
            && self.section == NumberedSection::Message
            && draft.failure.file.is_none()
        {
            // The source of an exception, marked by error_highlight, and the trace follow.
            self.section = NumberedSection::Source;
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if is_minitest && line.is_blank() || text.starts_with("Finished in ") {
            self.close(findings);
            return LineClaim::Evidence;
        }
        let frame = body.starts_with("at ")
            || body.starts_with("# ")
            || body.starts_with('/')
            || (self.section == NumberedSection::Stack && parse_colon_frame(body).is_some())
            || is_minitest && body.contains(":in ");
        if frame && let Some(place) = parse_colon_frame(body) {
            self.section = NumberedSection::Stack;
            if is_foreign(place.file) {
                draft.skip_line(line);
            } else {
                draft.set_location(place.file, place.line, place.column);
                draft.push_excerpt(line);
            }
            return LineClaim::Evidence;
        }
        if body.starts_with("stacktrace:") {
            self.section = NumberedSection::Stack;
        }
        if body.starts_with("Failure/Error:") {
            draft.failure.message = None;
        } else if self.section == NumberedSection::Message {
            append_message(draft, body);
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    /// A line below the heading, before the message is reached.
    fn parse_title_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let body = line.body();
        // The id and the place already contain this.
        draft.skip_line(line);
        if self.dialect == Some("minitest") && self.title.is_empty() {
            let place = RUBY_PLACE.captures(body);
            let id = place
                .as_ref()
                .map_or(body.trim_end_matches(':'), |p| p.text("id"));
            draft.failure.id = Some(id.to_owned());
            if let Some(place) = &place {
                draft.locate(place);
            }
            self.section = NumberedSection::Message;
        } else if body.starts_with("Failure/Error:") {
            self.dialect = Some("rspec");
            self.section = NumberedSection::Message;
            draft.push_excerpt(line);
            draft.failure.id = Some(self.title.join(" "));
        } else if let Some(place) =
            parse_colon_frame(body).filter(|_| !body.contains(' ') && self.title.len() == 1)
        {
            // ExUnit's test and PHPUnit's place are below their headings.
            self.dialect = Some(if extension(place.file) == "php" {
                "phpunit"
            } else {
                "exunit"
            });
            draft.failure.id = Some(self.title.join(" "));
            draft.set_location(place.file, place.line, place.column);
            self.section = NumberedSection::Message;
        } else if let Some(last) = body
            .strip_suffix(':')
            .filter(|_| line.indent() > 4 && !body.contains("Error: "))
        {
            self.dialect = Some("mocha");
            self.title.push(last.to_owned());
            draft.failure.id = Some(self.title.join(" "));
            self.section = NumberedSection::Message;
        } else if self.title.len() == 1 && is_php_test(&self.title[0]) {
            self.dialect = Some("phpunit");
            draft.failure.id = Some(self.title[0].clone());
            draft.push_message(body);
            self.section = NumberedSection::Message;
        } else if self.title.len() > 12 || line.indent() < 2 {
            self.draft = None;
            return LineClaim::NotMine;
        } else {
            self.title.push(body.to_owned());
        }
        if let (Some(dialect), Some(draft)) = (self.dialect, &mut self.draft) {
            draft.failure.tool = Some(dialect.to_owned());
            findings.add_tool(dialect);
        }
        LineClaim::Evidence
    }

    /// Whether the line holds closing totals.
    fn parse_totals(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> bool {
        let text = line.text;
        if let Some(count) = MOCHA.captures_marked(text, "ing") {
            self.close(findings);
            let totals = self.mocha.get_or_insert_default();
            *totals.slot_mut(&count["what"]) = count.count("count");
            return true;
        }
        if !line.signals.intersects(LineSignals::FAIL) && !text.starts_with("Tests: ") {
            return false;
        }
        let runners = [
            ("minitest", &MINITEST),
            ("rspec", &RSPEC),
            ("phpunit", &PHPUNIT),
            ("exunit", &EXUNIT),
        ];
        let mut runners = runners.into_iter();
        let Some((tool, found)) =
            runners.find_map(|(tool, totals)| Some((tool, totals.captures(text)?)))
        else {
            return false;
        };
        self.close(findings);
        self.pending = false;
        let all = match tool {
            "exunit" => EXUNIT_TESTS
                .captures_iter(text)
                .map(|found| found.count("count"))
                .sum(),
            _ => found.count("all"),
        };
        let mut totals = TestTotals::captured(&found);
        totals.skipped += found.count("excluded");
        for count in PHP_COUNT.captures_iter(text).filter(|_| tool == "phpunit") {
            totals.add_count(&count[1], count[2].parse().unwrap_or(0));
        }
        let totals = TestTotals::from_total(all, totals.failed, totals.skipped);
        findings.close_run(tool, totals);
        true
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        if self.section == NumberedSection::Title {
            return;
        }
        let Some(dialect) = self.dialect else { return };
        draft.tool = dialect;
        findings.add_test(draft);
    }

    fn close_mocha(&mut self, findings: &mut Findings) {
        if let Some(totals) = self.mocha.take() {
            findings.add_tool("mocha");
            findings.runs.close("mocha", totals);
        }
    }
}

/// Whether a line heads a list of tests that did not fail, or one of failures: RSpec's `Pending:`,
/// PHPUnit's `There was 1 risky test:`.
fn starts_pending_list(text: &str) -> Option<bool> {
    if text.starts_with("Pending:") || text.starts_with("Failures:") {
        return Some(text.starts_with('P'));
    }
    let list = text.strip_prefix("There w")?.strip_suffix(':')?;
    if list.ends_with("failure") || list.ends_with("failures") {
        return Some(false);
    }
    let sorts = ["risky", "skipped", "incomplete"];
    let sort = list.trim_end_matches('s').strip_suffix(" test")?;
    Some(sorts.iter().any(|name| sort.ends_with(name)))
}

/// Adds a line to the message. An exception's class on a line of its own is joined with the next line, and
/// the actual value with the expected one.
fn append_message(draft: &mut FailureBuilder, body: &str) {
    let got = body.starts_with("got:") || body.starts_with("Actual: ");
    match &mut draft.failure.message {
        Some(expected) if got && expected.starts_with(['e', 'E']) && !expected.contains('\n') => {
            expected.push_str(", ");
            expected.push_str(body);
        }
        Some(class) if class.ends_with(':') && !class.contains([' ', '\n']) => {
            class.push(' ');
            class.push_str(body);
        }
        _ => draft.push_message(body),
    }
}

/// `Tests\CartTest::testTotal with data set #0`; in Ruby a class would follow the colons.
fn is_php_test(title: &str) -> bool {
    title
        .split(' ')
        .next()
        .and_then(|word| word.rsplit_once("::"))
        .is_some_and(|(_, test)| test.starts_with(|c: char| c.is_ascii_lowercase()))
}
