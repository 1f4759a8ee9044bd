//! jest: `FAIL file`, then a block for each failure headed by `● suite › test`.

use super::location::{is_foreign, parse_colon_frame};
use super::prelude::*;

const TOOL: &str = "jest";

/// Reads the output of jest's default reporters.
#[derive(Debug, Default)]
pub(super) struct JestParser {
    file: Option<String>,
    draft: Option<FailureBuilder>,
    /// Within the message; the code frame and the stack come after.
    message: bool,
    /// The titles of the suites around a test in the verbose tree, with their indentation.
    suites: Vec<(usize, String)>,
    /// Within the list at the end of a long log, which repeats all failures.
    in_summary: bool,
}

static FILE: LinePattern = LinePattern::new(
    r"^\s?(?P<outcome>FAIL|PASS)\s+(?:\S+ › |[\w@-]+ )?(?P<file>\S+\.[cm]?[jt]sx?)(?: \([\d.]+ ?m?s\))?$",
);
static TESTS: LinePattern = LinePattern::new(r"^Tests:\s+(?:\d+ \w+, )*\d+ total");
static GUTTER: LinePattern = LinePattern::new(r"^\s*>?\s*\d+ \||^\s+\|\s*\^?");

/// Duration after a test's name; a name may also end with words in parentheses.
static DURATION: LinePattern = LinePattern::new(r" \([\d.]+ m?s\)$");

impl FormatParser for JestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let head = line.body();
        if (head.starts_with("FAIL") || head.starts_with("PASS"))
            && let Some(file) = FILE.captures(line.text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            self.suites.clear();
            self.file = Some(file["file"].to_owned());
            return LineClaim::Ignore;
        }
        if head.starts_with("Tests:") && TESTS.is_match(line.text) {
            self.close(findings);
            findings.close_run(TOOL, TestTotals::listed(line.text));
            self.file = None;
            self.in_summary = false;
            return LineClaim::Evidence;
        }
        if self.file.is_none() {
            return LineClaim::NotMine;
        }
        let body = line.body();
        if let Some(title) = body.strip_prefix("● ") {
            self.close(findings);
            if title.starts_with("Console") || title.contains("Deprecation") {
                return LineClaim::Ignore;
            }
            self.start_failure(title, line);
            return LineClaim::Evidence;
        }
        if body.starts_with("Test Suites: ") || body.starts_with("Summary of all failing tests") {
            self.close(findings);
            self.in_summary = body.starts_with('S');
            return LineClaim::Ignore;
        }
        if self.draft.is_none() {
            return self.parse_verbose_tree(line, findings);
        }
        self.parse_body(line)
    }

    fn is_open(&self) -> bool {
        self.file.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl JestParser {
    fn start_failure(&mut self, title: &str, line: &CleanLine<'_>) {
        let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
        if title.starts_with("Test suite failed to run") {
            draft.failure.id.clone_from(&self.file);
        } else {
            draft.failure.id = Some(title.trim().to_owned());
        }
        self.draft = Some(draft);
        self.message = true;
    }

    fn parse_body(&mut self, line: &CleanLine<'_>) -> LineClaim {
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let body = line.body();
        if body.starts_with("at ")
            && let Some(place) = parse_colon_frame(body)
        {
            self.message = false;
            let own = self
                .file
                .as_deref()
                .is_some_and(|file| place.file.ends_with(file));
            let known = draft.failure.file.is_some();
            if own && draft.failure.file.as_deref() != Some(place.file)
                || !known && !is_foreign(place.file)
            {
                draft.replace_location(place.file, place.line, place.column);
            }
            if is_foreign(place.file) {
                draft.skip_line(line);
            } else {
                draft.push_excerpt(line);
            }
            return LineClaim::Evidence;
        }
        if GUTTER.is_match(line.text) {
            self.message = false;
        }
        if self.message {
            draft.push_message(line.text.strip_prefix("    ").unwrap_or(body));
            draft.skip_line(line);
        } else {
            draft.push_excerpt(line);
        }
        LineClaim::Evidence
    }

    /// The tree of `--verbose`: suites indented, tests with a tick or a cross.
    fn parse_verbose_tree(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let (indent, body) = (line.indent(), line.body());
        let outcome = match body.chars().next() {
            Some('✓' | '√') => TestOutcome::Passed,
            Some('✕' | '×') => TestOutcome::Failed,
            Some('○' | '✎') => TestOutcome::Skipped,
            _ => {
                self.suites.retain(|(at, _)| *at < indent);
                if !body.is_empty() && indent > 0 && self.suites.len() < 32 {
                    self.suites.push((indent, body.to_owned()));
                }
                return LineClaim::NotMine;
            }
        };
        let name = body.split_once(' ').map_or("", |(_, name)| name);
        let duration = DURATION.find(name);
        let name = duration.map_or(name, |it| &name[..it.start()]);
        let mut id: String = self
            .suites
            .iter()
            .filter(|(at, _)| *at < indent)
            .flat_map(|(_, suite)| [suite.as_str(), " › "])
            .collect();
        id.push_str(name);
        if outcome != TestOutcome::Failed {
            findings.record_test(TOOL, outcome, &id);
        }
        LineClaim::Ignore
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        if let Some(file) = &self.file {
            draft.set_location(file, None, None);
        }
        let id = draft.failure.id.as_deref().unwrap_or_default();
        if self.in_summary && findings.has_test_failure(id) {
            findings.mark_reported(draft.lines());
        } else {
            findings.add_test(draft);
        }
    }
}
