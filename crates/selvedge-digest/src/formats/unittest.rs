//! Python's unittest, and runners with the same output (Django, nose, Twisted's trial, zope).

use super::location::{is_foreign, parse_python_frame};
use super::prelude::*;

const TOOL: &str = "unittest";

/// Reads unittest's text.
#[derive(Debug, Default)]
pub(super) struct UnittestParser {
    draft: Option<FailureBuilder>,
    /// Number of lines since a heading that may belong to another tool (`FAIL: name`); `None` once a class, a rule or a
    /// traceback identifies unittest.
    unproven_lines: Option<u32>,
    /// The frames have ended; the exception follows.
    message: bool,
    ran: Option<u64>,
    /// The place is known to be in the test's own module.
    own: bool,
}

static HEADING: LinePattern = LinePattern::new(
    r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (?P<name>\S+)(?: \((?P<class>[\w.]+)\))?(?P<subtest>(?: [\[(].*)?)$",
);
static RESULT: LinePattern = LinePattern::new(
    r"^(?P<name>\w+) \((?P<class>[\w.]+)\)(?:.*?) \.\.\. (?P<outcome>ok|FAIL|ERROR|skipped|expected failure)",
);
static RAN: LinePattern = LinePattern::new(r"^Ran (\d+) tests? in [\d.]+s");
static COUNT: LinePattern =
    LinePattern::new(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)");

/// Number of lines between a heading and the rule or traceback: the description of a test.
const DESCRIPTION_LINES: u32 = 4;

impl FormatParser for UnittestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if (text.starts_with("FAIL: ")
            || text.starts_with("ERROR: ")
            || text.starts_with("UNEXPECTED"))
            // Other runners print one line for each failed test.
            && line.heading.starts_with("==")
            && let Some(heading) = HEADING.captures(text)
        {
            self.close(findings);
            let class = heading.text("class");
            let id = full_id(&heading["name"], class) + &heading["subtest"];
            let mut draft = FailureBuilder::test(TOOL, id, line);
            if text.starts_with('U') {
                draft.push_message("unexpected success");
            }
            self.draft = Some(draft);
            self.message = false;
            self.own = false;
            self.unproven_lines = class.is_empty().then_some(0);
            return match self.unproven_lines {
                Some(_) => LineClaim::NotMine,
                None => LineClaim::Evidence,
            };
        }
        if let Some(ran) = RAN.captures_prefixed(text, "Ran ") {
            self.close(findings);
            findings.add_tool(TOOL);
            self.ran = ran[1].parse().ok();
            return LineClaim::Ignore;
        }
        if self.ran.is_some() && (text.starts_with("OK") || text.starts_with("FAILED (")) {
            self.parse_total(text, findings);
            return LineClaim::Ignore;
        }
        if self.draft.is_some() && !self.is_of_other_tool(text) {
            return self.parse_body(line, findings);
        }
        if self.draft.is_some() {
            return LineClaim::NotMine;
        }
        let candidate = text.contains(") ") && text.contains(" ... ");
        let Some(result) = candidate.then(|| RESULT.captures(text)).flatten() else {
            return LineClaim::NotMine;
        };
        let id = full_id(&result["name"], &result["class"]);
        findings.add_tool(TOOL);
        match &result["outcome"] {
            "ok" => findings.record_test(TOOL, TestOutcome::Passed, &id),
            "skipped" | "expected failure" => {
                findings.record_test(TOOL, TestOutcome::Skipped, &id);
            }
            _ => {}
        }
        LineClaim::Ignore
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.ran.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl UnittestParser {
    /// Whether it is still open whether the heading is unittest's. Drops the heading if nothing identifies it.
    fn is_of_other_tool(&mut self, text: &str) -> bool {
        let Some(lines) = &mut self.unproven_lines else {
            return false;
        };
        *lines += 1;
        if text.starts_with("Traceback ") || is_rule(text, b'-') {
            self.unproven_lines = None;
            return false;
        }
        if *lines > DESCRIPTION_LINES {
            self.draft = None;
        }
        true
    }

    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if is_rule(text, b'=') {
            self.close(findings);
            return LineClaim::Ignore;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if is_rule(text, b'-') {
            draft.skip_line(line);
            return LineClaim::Ignore;
        }
        if let Some(place) = parse_python_frame(text) {
            // The exception may follow another one that it was raised for; its frames count.
            self.message = false;
            // The line in the test itself takes precedence over lines in functions it calls.
            if !is_foreign(place.file) && !self.own {
                draft.replace_location(place.file, place.line, None);
                self.own = is_module(place.file, draft.failure.id.as_deref());
            }
            draft.push_excerpt(line);
        } else if text.starts_with("Traceback ") {
            self.message = false;
            draft.failure.message = None;
            draft.skip_line(line);
        } else if text.starts_with(' ') && !self.message {
            draft.push_excerpt(line);
        } else if text.starts_with("Stdout:") || text.starts_with("Stderr:") {
            self.message = false;
            draft.skip_line(line);
        } else if self.message || text.contains([':', '.']) || text.ends_with("Error") {
            self.message = true;
            draft.push_message(text);
            draft.push_excerpt(line);
        } else {
            draft.push_excerpt(line);
        }
        LineClaim::Evidence
    }

    fn parse_total(&mut self, text: &str, findings: &mut Findings) {
        let ran = self.ran.take().unwrap_or(0);
        let mut totals = TestTotals::default();
        for count in COUNT.captures_iter(text) {
            totals.add_count(&count[1], count[2].parse().unwrap_or(0));
        }
        totals = TestTotals::from_total(ran, totals.failed, totals.skipped);
        findings.runs.close(TOOL, totals);
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        // `FAIL: …` alone may belong to any tool.
        if self.unproven_lines.take().is_none() {
            findings.add_tool(TOOL);
            findings.add_test(draft);
        }
    }
}

fn is_rule(text: &str, mark: u8) -> bool {
    text.len() > 60 && text.bytes().all(|byte| byte == mark)
}

/// Since Python 3.11 the class in parentheses includes the name of the test.
fn full_id(name: &str, class: &str) -> String {
    match class {
        "" => name.to_owned(),
        _ if class.ends_with(name) => class.to_owned(),
        _ => format!("{class}.{name}"),
    }
}

/// Whether a test with this id is in this file: `a.test_b.C.test_d` in `…/a/test_b.py`.
fn is_module(file: &str, id: Option<&str>) -> bool {
    let stem = file
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(file)
        .trim_end_matches(".py");
    id.is_some_and(|id| id.split('.').any(|part| part == stem))
}
