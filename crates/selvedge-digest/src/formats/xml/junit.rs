//! JUnit's XML, as pytest, Surefire, Gradle, jest-junit, mocha, vitest, nextest, GoogleTest and many others
//! write it. There is no single schema: suites may be nested, and every attribute may be missing.
//!
//! A suite that counts more failures than its tests have did not load, or failed outside of them: this counts
//! as a failure, too.

use super::{XmlReportParser, XmlTag};
use crate::formats::location::extension;
use crate::formats::prelude::*;
use crate::formats::stack_trace;

const TOOL: &str = "junit";
/// Maximum length of a failure's text, in bytes.
const TEXT_BYTES: usize = 256 << 10;

/// Reads JUnit's report.
#[derive(Debug, Default)]
pub(super) struct JunitXmlParser {
    elements: Vec<JunitElement>,
    suites: Vec<JunitSuite>,
    case: Option<JunitCase>,
    /// The test that failed last.
    failed: String,
    number: u64,
}

/// The kind of an open element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JunitElement {
    Suite,
    Case,
    /// `failure` or `error`.
    Failure,
    /// Output of the test.
    Output,
    Other,
}

#[derive(Debug, Default)]
struct JunitSuite {
    name: String,
    file: Option<String>,
    is_libtest: bool,
    /// Number of tests and failures that its attributes state.
    tests: u64,
    failed: u64,
    skipped: u64,
    /// Number of tests and failures that were read, including nested suites.
    tests_seen: u64,
    failed_seen: u64,
}

#[derive(Debug, Default)]
struct JunitCase {
    id: String,
    file: Option<String>,
    line: Option<u32>,
    skipped: bool,
    failures: Vec<JunitFailure>,
    /// Output of the test: it has the explanation if a failure has no text.
    output: String,
}

#[derive(Debug, Default)]
struct JunitFailure {
    message: String,
    text: String,
}

impl XmlReportParser for JunitXmlParser {
    fn open_element(&mut self, tag: &XmlTag<'_>, number: u64, findings: &mut Findings) {
        self.number = number;
        let element = match tag.name().as_str() {
            "testsuites" | "testsuite" => {
                if self.suites.is_empty() {
                    findings.begin_report(TOOL);
                }
                self.suites.push(parse_suite(tag));
                JunitElement::Suite
            }
            "testcase" => {
                self.case = Some(self.parse_case(tag));
                JunitElement::Case
            }
            "failure" | "error" => {
                let case = self.case.get_or_insert_default();
                case.failures.push(JunitFailure {
                    message: failure_message(tag),
                    text: String::new(),
                });
                JunitElement::Failure
            }
            "skipped" | "disabled" => {
                if let Some(case) = &mut self.case {
                    case.skipped = true;
                }
                JunitElement::Other
            }
            "system-out" | "system-err" => JunitElement::Output,
            _ => JunitElement::Other,
        };
        self.elements.push(element);
    }

    fn push_text(&mut self, text: &str) {
        let Some(case) = &mut self.case else {
            return;
        };
        let into = match (self.elements.last(), case.failures.last_mut()) {
            (Some(JunitElement::Failure), Some(failure)) => &mut failure.text,
            (Some(JunitElement::Output), _) => &mut case.output,
            _ => return,
        };
        let room = TEXT_BYTES.saturating_sub(into.len());
        into.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn close_element(&mut self, findings: &mut Findings) {
        match self.elements.pop() {
            Some(JunitElement::Case) => self.close_case(findings),
            // A failure of the suite itself, not of a test.
            Some(JunitElement::Failure) if !self.elements.contains(&JunitElement::Case) => {
                if let (Some(case), Some(suite)) = (&mut self.case, self.suites.last()) {
                    case.id.clone_from(&suite.name);
                    case.file.clone_from(&suite.file);
                }
                self.close_case(findings);
            }
            Some(JunitElement::Suite) => self.close_suite(findings),
            _ => {}
        }
    }

    fn finish_truncated(&mut self, findings: &mut Findings) {
        if self
            .case
            .as_ref()
            .is_some_and(|case| !case.failures.is_empty())
        {
            self.close_case(findings);
        }
    }
}

impl JunitXmlParser {
    fn parse_case(&self, tag: &XmlTag<'_>) -> JunitCase {
        let suite = self.suites.last();
        let status = tag.attribute("status").unwrap_or_default();
        let result = tag.attribute("result").unwrap_or_default();
        JunitCase {
            id: self.test_id(tag),
            file: tag
                .attribute("file")
                .or_else(|| suite.and_then(|suite| suite.file.clone())),
            line: tag.number_attribute("line"),
            // GoogleTest marks tests this way that it did not run.
            skipped: status == "notrun" || result == "suppressed" || result == "skipped",
            failures: Vec::new(),
            output: String::new(),
        }
    }

    /// The id as the runner itself writes it, as far as the report allows.
    fn test_id(&self, tag: &XmlTag<'_>) -> String {
        let name = tag.attribute("name").unwrap_or_default();
        let class = tag.attribute("classname").unwrap_or_default();
        let within = |suite: &str| self.suites.iter().any(|s| s.name == suite);
        if within("pytest") {
            return pytest_id(tag.attribute("file").as_deref(), &class, &name);
        }
        if let Some(id) = php_id(tag, &name) {
            return id;
        }
        if class.is_empty() || name.contains(&class) || is_script(&name) {
            return name;
        }
        if name.is_empty() {
            // Setup before all tests of a class.
            return class;
        }
        if self.suites.last().is_some_and(|suite| suite.is_libtest) {
            return format!("{class}::{name}");
        }
        if class == "test" {
            // node:test uses this for all its tests.
            let suites = self.suites.iter().map(|suite| suite.name.as_str());
            let path: Vec<&str> = suites
                .chain([name.as_str()])
                .filter(|s| !s.is_empty())
                .collect();
            return path.join(" > ");
        }
        if class.contains(['/', '\\']) || within(&class) && is_script(&class) {
            return format!("{class} > {name}");
        }
        if class.contains(' ') || within("Mocha Tests") {
            return format!("{class} {name}");
        }
        if class.contains("::") || name.contains("::") || within("nextest-run") {
            return format!("{class} {name}");
        }
        // karma ends the class with the suite that its test's name begins with.
        let (package, suite) = class.split_at(class.rfind('.').map_or(0, |at| at + 1));
        match name.strip_prefix(suite) {
            Some(test) if test.starts_with(' ') => format!("{package}{name}"),
            _ => format!("{class}.{name}"),
        }
    }

    fn close_case(&mut self, findings: &mut Findings) {
        let Some(case) = self.case.take() else {
            return;
        };
        // jest-junit repeats a suite that did not load, as the error object in JSON.
        let again = case.id == self.failed && !case.failures.is_empty();
        if again
            && case
                .failures
                .iter()
                .all(|failure| failure.text.trim_start().starts_with("{\""))
        {
            return;
        }
        let outcome = match (case.failures.is_empty(), case.skipped) {
            (false, _) => TestOutcome::Failed,
            (true, true) => TestOutcome::Skipped,
            (true, false) => TestOutcome::Passed,
        };
        findings.record_test(TOOL, outcome, &case.id);
        if let Some(suite) = self.suites.last_mut() {
            suite.tests_seen += 1;
            suite.failed_seen += u64::from(outcome == TestOutcome::Failed);
        }
        if outcome == TestOutcome::Failed {
            case.id.clone_into(&mut self.failed);
        }
        for failure in &case.failures {
            let mut draft = FailureBuilder::structured(FailureKind::Test, TOOL, self.number);
            draft.failure.id = Some(case.id.clone());
            draft.push_message(&failure.message);
            stack_trace::parse_trace(
                &mut draft,
                failure.text.trim_matches('\n'),
                case.file.as_deref(),
            );
            if let Some(file) = &case.file {
                draft.set_location(file, case.line, None);
            }
            draft.default_message("failed");
            findings.add(draft.build());
        }
    }

    fn close_suite(&mut self, findings: &mut Findings) {
        let Some(mut suite) = self.suites.pop() else {
            return;
        };
        let unlisted = suite.failed.saturating_sub(suite.failed_seen);
        if unlisted > 0 {
            let mut draft = FailureBuilder::structured(FailureKind::Test, TOOL, self.number);
            draft.failure.id = (!suite.name.is_empty()).then(|| suite.name.clone());
            if let Some(file) = &suite.file {
                draft.set_location(file, None, None);
            }
            draft.push_message(&format!("{unlisted} failed outside of the listed tests"));
            findings.add_test(draft);
            suite.failed_seen += unlisted;
            suite.tests_seen += unlisted;
        }
        if let Some(around) = self.suites.last_mut() {
            around.tests_seen += suite.tests_seen;
            around.failed_seen += suite.failed_seen;
            return;
        }
        findings.runs.close_as_seen(TOOL);
        // Some reports omit skipped tests.
        if suite.tests > suite.tests_seen.saturating_add(suite.skipped) {
            findings.add_note(format!(
                "junit: the report counts {} tests and lists {}",
                suite.tests, suite.tests_seen
            ));
        }
    }
}

fn parse_suite(tag: &XmlTag<'_>) -> JunitSuite {
    let count = |name| tag.number_attribute::<u64>(name).unwrap_or(0);
    JunitSuite {
        name: tag.attribute("name").unwrap_or_default(),
        file: tag.attribute("file").or_else(|| tag.attribute("filepath")),
        is_libtest: tag.attribute("package").as_deref() == Some("test"),
        tests: count("tests"),
        failed: count("failures").saturating_add(count("errors")),
        skipped: count("skipped").saturating_add(count("disabled")),
        ..JunitSuite::default()
    }
}

/// The message of a failure, with its type if the message does not begin with it.
fn failure_message(tag: &XmlTag<'_>) -> String {
    let message = tag.attribute("message").unwrap_or_default();
    // Rust's place, and pytest's message for every file that could not be loaded: the text has more
    // information.
    if message.contains(" panicked at ") || message == "collection failure" {
        return String::new();
    }
    let class = tag.attribute("type").unwrap_or_default();
    let plain = class.rsplit('.').next().unwrap_or(&class);
    let telling = class.ends_with("Error") || class.ends_with("Exception");
    if !telling || message.contains(plain) {
        message
    } else if message.is_empty() {
        class
    } else {
        format!("{class}: {message}")
    }
}

/// PHPUnit writes the class in PHP notation, in addition to the dotted name that other runners
/// write.
fn php_id(tag: &XmlTag<'_>, name: &str) -> Option<String> {
    let file = tag.attribute("file")?;
    (extension(&file) == "php").then_some(())?;
    let class = tag.attribute("class")?;
    Some(format!("{class}::{name}"))
}

/// `tests/test_a.py::TestB::test_c`: the file is part of the class name, unless it is a separate attribute.
fn pytest_id(file: Option<&str>, class: &str, name: &str) -> String {
    if class.is_empty() {
        // A file that could not be collected.
        return format!("{}.py", name.replace('.', "/"));
    }
    let is_class = |part: &&str| part.starts_with(|c: char| c.is_ascii_uppercase());
    let parts: Vec<&str> = class.split('.').collect();
    let modules = parts.iter().take_while(|part| !is_class(part)).count();
    let module = || format!("{}.py", parts[..modules].join("/"));
    let mut id = file.map_or_else(module, str::to_owned);
    for part in parts[modules..].iter().copied().chain([name]) {
        id.push_str("::");
        id.push_str(part);
    }
    id
}

fn is_script(name: &str) -> bool {
    matches!(
        extension(name),
        "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" | "mts" | "cts"
    )
}
