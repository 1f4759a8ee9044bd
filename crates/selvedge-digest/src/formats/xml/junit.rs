//! JUnit's XML, as pytest, Surefire, Gradle, jest-junit, mocha, vitest, nextest, GoogleTest and many
//! others write it. There is no one schema: suites may be nested, every attribute may be missing.
//!
//! A suite that counts more failures than its tests tell did not load, or failed outside of them:
//! that is a failure, too.

use super::{Report, Tag};
use crate::findings::{Draft, Findings, Outcome};
use crate::formats::place::extension;
use crate::formats::trace;
use crate::record::FailureKind;

const TOOL: &str = "junit";
/// How much text of a failure is read.
const TEXT_BYTES: usize = 256 << 10;

/// Reads JUnit's report.
#[derive(Debug, Default)]
pub(super) struct Junit {
    elements: Vec<Element>,
    suites: Vec<Suite>,
    case: Option<Case>,
    /// The test that failed last.
    failed: String,
    number: u64,
}

/// What an open element is, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Suite,
    Case,
    /// `failure` or `error`.
    Failure,
    /// What the test printed.
    Output,
    Other,
}

#[derive(Debug, Default)]
struct Suite {
    name: String,
    file: Option<String>,
    is_libtest: bool,
    /// How many tests and failures it says it has.
    tests: u64,
    failed: u64,
    skipped: u64,
    /// How many were told, those of the suites within it included.
    tests_told: u64,
    failed_told: u64,
}

#[derive(Debug, Default)]
struct Case {
    id: String,
    file: Option<String>,
    line: Option<u32>,
    skipped: bool,
    failures: Vec<Failure>,
    /// What it printed: where a failure has no text, the explanation is here.
    output: String,
}

#[derive(Debug, Default)]
struct Failure {
    message: String,
    text: String,
}

impl Report for Junit {
    fn open(&mut self, tag: &Tag<'_>, number: u64, findings: &mut Findings) {
        self.number = number;
        let element = match tag.name().as_str() {
            "testsuites" | "testsuite" => {
                findings.tool(TOOL);
                if self.suites.is_empty() {
                    findings.runs.begin(TOOL);
                    findings.runs.mode(TOOL, "report");
                }
                self.suites.push(suite(tag));
                Element::Suite
            }
            "testcase" => {
                self.case = Some(self.case(tag));
                Element::Case
            }
            "failure" | "error" => {
                let case = self.case.get_or_insert_default();
                case.failures.push(Failure {
                    message: message(tag),
                    text: String::new(),
                });
                Element::Failure
            }
            "skipped" | "disabled" => {
                if let Some(case) = &mut self.case {
                    case.skipped = true;
                }
                Element::Other
            }
            "system-out" | "system-err" => Element::Output,
            _ => Element::Other,
        };
        self.elements.push(element);
    }

    fn text(&mut self, text: &str) {
        let Some(case) = &mut self.case else {
            return;
        };
        let into = match (self.elements.last(), case.failures.last_mut()) {
            (Some(Element::Failure), Some(failure)) => &mut failure.text,
            (Some(Element::Output), _) => &mut case.output,
            _ => return,
        };
        let room = TEXT_BYTES.saturating_sub(into.len());
        into.push_str(&text[..text.floor_char_boundary(room)]);
    }

    fn close(&mut self, findings: &mut Findings) {
        match self.elements.pop() {
            Some(Element::Case) => self.close_case(findings),
            // A failure of the suite itself, in no test of it.
            Some(Element::Failure) if !self.elements.contains(&Element::Case) => {
                if let (Some(case), Some(suite)) = (&mut self.case, self.suites.last()) {
                    case.id.clone_from(&suite.name);
                    case.file.clone_from(&suite.file);
                }
                self.close_case(findings);
            }
            Some(Element::Suite) => self.close_suite(findings),
            _ => {}
        }
    }

    fn cut_off(&mut self, findings: &mut Findings) {
        if self
            .case
            .as_ref()
            .is_some_and(|case| !case.failures.is_empty())
        {
            self.close_case(findings);
        }
    }
}

impl Junit {
    fn case(&self, tag: &Tag<'_>) -> Case {
        let suite = self.suites.last();
        let status = tag.get("status").unwrap_or_default();
        let result = tag.get("result").unwrap_or_default();
        Case {
            id: self.id(tag),
            file: tag
                .get("file")
                .or_else(|| suite.and_then(|suite| suite.file.clone())),
            line: tag.number("line"),
            // GoogleTest tells so what it did not run.
            skipped: status == "notrun" || result == "suppressed" || result == "skipped",
            failures: Vec::new(),
            output: String::new(),
        }
    }

    /// The id as the runner itself writes it, as far as the report lets one know.
    fn id(&self, tag: &Tag<'_>) -> String {
        let name = tag.get("name").unwrap_or_default();
        let class = tag.get("classname").unwrap_or_default();
        let within = |suite: &str| self.suites.iter().any(|s| s.name == suite);
        if within("pytest") {
            return pytest_id(tag.get("file").as_deref(), &class, &name);
        }
        if let Some(id) = php_id(tag, &name) {
            return id;
        }
        if class.is_empty() || name.contains(&class) || is_script(&name) {
            return name;
        }
        if name.is_empty() {
            // What goes before all tests of a class.
            return class;
        }
        if self.suites.last().is_some_and(|suite| suite.is_libtest) {
            return format!("{class}::{name}");
        }
        if class == "test" {
            // node:test says that of all its tests.
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
        format!("{class}.{name}")
    }

    fn close_case(&mut self, findings: &mut Findings) {
        let Some(case) = self.case.take() else {
            return;
        };
        // jest-junit tells a suite that did not load again, as the error object in JSON.
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
            (false, _) => Outcome::Failed,
            (true, true) => Outcome::Skipped,
            (true, false) => Outcome::Passed,
        };
        findings.runs.test(TOOL, outcome, Some(&case.id));
        if let Some(suite) = self.suites.last_mut() {
            suite.tests_told += 1;
            suite.failed_told += u64::from(outcome == Outcome::Failed);
        }
        if outcome == Outcome::Failed {
            case.id.clone_into(&mut self.failed);
        }
        for failure in &case.failures {
            let mut draft = Draft::structured(FailureKind::Test, TOOL, self.number);
            draft.failure.id = Some(case.id.clone());
            draft.message(&failure.message);
            trace::read(
                &mut draft,
                failure.text.trim_matches('\n'),
                case.file.as_deref(),
            );
            if let Some(file) = &case.file {
                draft.place(file, case.line, None);
            }
            draft
                .failure
                .message
                .get_or_insert_with(|| "failed".to_owned());
            findings.add(draft.found());
        }
    }

    fn close_suite(&mut self, findings: &mut Findings) {
        let Some(mut suite) = self.suites.pop() else {
            return;
        };
        let untold = suite.failed.saturating_sub(suite.failed_told);
        if untold > 0 {
            let mut draft = Draft::structured(FailureKind::Test, TOOL, self.number);
            draft.failure.id = (!suite.name.is_empty()).then(|| suite.name.clone());
            if let Some(file) = &suite.file {
                draft.place(file, None, None);
            }
            draft.message(&format!(
                "{untold} failed outside of the tests that are told"
            ));
            findings.add_test(TOOL, draft);
            suite.failed_told += untold;
            suite.tests_told += untold;
        }
        if let Some(around) = self.suites.last_mut() {
            around.tests_told += suite.tests_told;
            around.failed_told += suite.failed_told;
            return;
        }
        findings.runs.close_as_seen(TOOL);
        // Some reports leave out what was skipped.
        if suite.tests > suite.tests_told.saturating_add(suite.skipped) {
            findings.note(format!(
                "junit: the report counts {} tests and tells {}",
                suite.tests, suite.tests_told
            ));
        }
    }
}

fn suite(tag: &Tag<'_>) -> Suite {
    let count = |name| tag.number::<u64>(name).unwrap_or(0);
    Suite {
        name: tag.get("name").unwrap_or_default(),
        file: tag.get("file").or_else(|| tag.get("filepath")),
        is_libtest: tag.get("package").as_deref() == Some("test"),
        tests: count("tests"),
        failed: count("failures").saturating_add(count("errors")),
        skipped: count("skipped").saturating_add(count("disabled")),
        ..Suite::default()
    }
}

/// The message of a failure, with its type where it does not begin with that.
fn message(tag: &Tag<'_>) -> String {
    let message = tag.get("message").unwrap_or_default();
    // Rust's place, and what pytest says of every file that it could not load: the text says more.
    if message.contains(" panicked at ") || message == "collection failure" {
        return String::new();
    }
    let class = tag.get("type").unwrap_or_default();
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

/// PHPUnit tells the class as PHP writes it, beside a name with dots as others have it.
fn php_id(tag: &Tag<'_>, name: &str) -> Option<String> {
    let file = tag.get("file")?;
    (extension(&file) == "php").then_some(())?;
    let class = tag.get("class")?;
    Some(format!("{class}::{name}"))
}

/// `tests/test_a.py::TestB::test_c`: the file stands in the class's name, where not apart.
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
