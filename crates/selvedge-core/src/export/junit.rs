//! JUnit XML: a suite for each attempt, with a case for each check, for each higher tier, and for a person who accepted
//! it. A reason against verification that is not a check's failure is the case `outcome` in the last suite.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::input::{AttemptSummary, ReportInput, ResultCategory};
use crate::describe::{gate_result, marks};
use crate::model::{AttemptEnd, CheckReport, CheckStatus, GateReport, ReviewRecord, SessionStatus};
use crate::prompt::one_line;
use crate::sanitize::sanitize_text;

/// Maximum length of an attribute, in characters.
const MAX_ATTRIBUTE_CHARS: usize = 300;

/// The result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseResult {
    Pass,
    Flaky,
    Skipped,
    Failure,
    Error,
}

struct TestCase {
    name: String,
    millis: u64,
    result: CaseResult,
    /// The kind of failure, as a word.
    kind: &'static str,
    message: String,
    body: String,
    output: String,
}

struct TestSuite {
    name: String,
    class: String,
    began: String,
    millis: u64,
    cases: Vec<TestCase>,
}

/// The whole document.
pub fn junit(account: &ReportInput<'_>) -> String {
    let mut suites: Vec<TestSuite> = account.attempts.iter().map(build_suite).collect();
    let notes = notes(account);
    if let Some(case) = verdict_case(account, &notes) {
        if suites.is_empty() {
            suites.push(TestSuite {
                name: account.title.clone(),
                class: "selvedge".to_owned(),
                began: String::new(),
                millis: 0,
                cases: Vec::new(),
            });
        }
        if let Some(last) = suites.last_mut() {
            last.cases.push(case);
        }
    }
    // Writing to memory does not fail; if it did, the empty document would not count as a pass.
    write(&account.title, &suites).unwrap_or_default()
}

fn build_suite(attempt: &AttemptSummary<'_>) -> TestSuite {
    let subtask = attempt.subtask.map(|id| format!("{id}."));
    let class = match attempt.number {
        Some(number) => format!("selvedge.{}attempt-{number}", subtask.unwrap_or_default()),
        None => "selvedge.verification".to_owned(),
    };
    let report = attempt.report;
    let checks = report
        .iter()
        .flat_map(|report| &report.checks)
        .map(check_case);
    let gates = report
        .iter()
        .flat_map(|report| &report.gates)
        .map(gate_case);
    TestSuite {
        name: attempt.name(),
        class,
        began: attempt.began_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        millis: attempt.duration_ms(),
        cases: session_case(attempt)
            .into_iter()
            .chain(checks)
            .chain(gates)
            .chain(attempt.accepted.map(review_case))
            .collect(),
    }
}

/// The agent's session, if it did not succeed.
fn session_case(attempt: &AttemptSummary<'_>) -> Option<TestCase> {
    attempt.number?;
    let (kind, message) = match (attempt.session, attempt.end) {
        (Some(session), _) if session.status == SessionStatus::Success => return None,
        (Some(session), _) => {
            let error = session.error.as_deref();
            ("session", error.unwrap_or("the session failed"))
        }
        (None, Some(AttemptEnd::Cancelled)) => ("cancelled", "cancelled"),
        (None, _) => ("interrupted", "the session was interrupted"),
    };
    Some(TestCase {
        name: "agent session".to_owned(),
        millis: attempt.session.map_or(0, |session| session.duration_ms),
        result: CaseResult::Error,
        kind,
        message: message.to_owned(),
        body: message.to_owned(),
        output: String::new(),
    })
}

fn check_case(check: &CheckReport) -> TestCase {
    let is_known = check.status == CheckStatus::Pass && check.marks.preexisting;
    let (came, kind) = match check.status {
        CheckStatus::Pass if check.marks.missing => (CaseResult::Skipped, "missing"),
        CheckStatus::Pass if is_known => (CaseResult::Skipped, "known failure"),
        CheckStatus::Pass if check.marks.flaky => (CaseResult::Flaky, "flaky"),
        CheckStatus::Pass => (CaseResult::Pass, ""),
        CheckStatus::Skip => (CaseResult::Skipped, "skipped"),
        CheckStatus::Fail => (CaseResult::Failure, "fail"),
        CheckStatus::Timeout => (CaseResult::Failure, "timeout"),
        CheckStatus::Error => (CaseResult::Error, "error"),
    };
    let reason = check.reason.as_deref().unwrap_or(check.status.label());
    let marks = marks(check).filter(|marks| marks != reason);
    let message = match marks {
        Some(marks) => format!("{reason} ({marks})"),
        None => reason.to_owned(),
    };
    let tests = if check.marks.missing {
        &check.missing_tests
    } else if is_known {
        &check.known_tests
    } else {
        &check.preexisting_tests
    };
    let body = check.digest.clone().unwrap_or_else(|| tests.join("\n"));
    let is_shown = matches!(came, CaseResult::Failure | CaseResult::Error);
    TestCase {
        name: check.label().to_owned(),
        millis: check.duration_ms,
        result: came,
        kind,
        message,
        body,
        output: if is_shown {
            check.output.clone()
        } else {
            String::new()
        },
    }
}

fn gate_case(gate: &GateReport) -> TestCase {
    let (came, kind) = match gate.passed {
        Some(true) => (CaseResult::Pass, ""),
        Some(false) => (CaseResult::Failure, "rejected"),
        None => (CaseResult::Error, "undecided"),
    };
    let why = gate.error.as_deref().or(gate.feedback.as_deref());
    let why = why.unwrap_or_default();
    let message = match came {
        CaseResult::Pass => String::new(),
        _ => format!(
            "the checks passed, but tier {} {}: {why}",
            gate.tier,
            gate_result(gate)
        ),
    };
    TestCase {
        name: format!("tier {}", gate.tier),
        millis: gate.duration_ms,
        result: came,
        kind,
        message: message.clone(),
        body: message,
        output: String::new(),
    }
}

fn review_case(review: &ReviewRecord) -> TestCase {
    TestCase {
        name: "review".to_owned(),
        millis: 0,
        result: CaseResult::Pass,
        kind: "",
        message: String::new(),
        body: String::new(),
        output: review.summary(),
    }
}

/// Invariant: work that is not verified is never green.
fn verdict_case(account: &ReportInput<'_>, notes: &str) -> Option<TestCase> {
    let verdict = &account.verdict;
    let (came, kind) = match verdict.category {
        ResultCategory::Verified if notes.is_empty() => return None,
        ResultCategory::Verified => (CaseResult::Pass, ""),
        ResultCategory::Unchecked => (CaseResult::Skipped, "unchecked"),
        ResultCategory::NotVerified => (CaseResult::Failure, "not verified"),
        ResultCategory::NotJudged => (CaseResult::Error, "not judged"),
    };
    let message = format!("{}: {}", verdict.label, verdict.reason);
    Some(TestCase {
        name: "outcome".to_owned(),
        millis: 0,
        result: came,
        kind,
        body: message.clone(),
        message,
        output: notes.to_owned(),
    })
}

/// Notes besides the verdict: unchanged work, and deleted files that cannot be restored.
fn notes(account: &ReportInput<'_>) -> String {
    let unchanged = account.unchanged == Some(true);
    let reason = &account.verdict.reason;
    let unchanged = unchanged.then(|| format!("{}: {reason}", account.verdict.label));
    let lines = unchanged.iter().chain(&account.unrestorable_files);
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    lines.join("\n")
}

fn write(title: &str, suites: &[TestSuite]) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let count = |came| all().filter(|case| case.result == came).count().to_string();
    let millis = suites
        .iter()
        .map(|it| it.millis)
        .fold(0, u64::saturating_add);
    let (tests, failures, errors) = (
        all().count(),
        count(CaseResult::Failure),
        count(CaseResult::Error),
    );
    writer
        .create_element("testsuites")
        .with_attributes([
            ("name", attribute(&format!("selvedge {title}")).as_str()),
            ("tests", &tests.to_string()),
            ("failures", &failures),
            ("errors", &errors),
            ("time", &seconds(millis)),
        ])
        .write_inner_content(|writer| suites.iter().try_for_each(|it| write_suite(writer, it)))?;
    let text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    Ok(text + "\n")
}

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &TestSuite) -> io::Result<()> {
    let cases = &suite.cases;
    let count = |came| {
        cases
            .iter()
            .filter(|case| case.result == came)
            .count()
            .to_string()
    };
    let mut element = writer.create_element("testsuite").with_attributes([
        ("name", attribute(&suite.name).as_str()),
        ("tests", &cases.len().to_string()),
        ("failures", &count(CaseResult::Failure)),
        ("errors", &count(CaseResult::Error)),
        ("skipped", &count(CaseResult::Skipped)),
        ("time", &seconds(suite.millis)),
    ]);
    if !suite.began.is_empty() {
        element = element.with_attribute(("timestamp", suite.began.as_str()));
    }
    element.write_inner_content(|writer| {
        let mut cases = cases.iter();
        cases.try_for_each(|case| write_case(writer, &suite.class, case))
    })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, class: &str, case: &TestCase) -> io::Result<()> {
    let element = writer.create_element("testcase").with_attributes([
        ("classname", attribute(class).as_str()),
        ("name", &attribute(&case.name)),
        ("time", &seconds(case.millis)),
    ]);
    let result_element = match case.result {
        CaseResult::Pass => None,
        CaseResult::Flaky => Some("flakyFailure"),
        CaseResult::Skipped => Some("skipped"),
        CaseResult::Failure => Some("failure"),
        CaseResult::Error => Some("error"),
    };
    if result_element.is_none() && case.output.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        if let Some(result_element) = result_element {
            writer
                .create_element(result_element)
                .with_attributes([("type", case.kind), ("message", &attribute(&case.message))])
                .write_text_content(BytesText::new(&text(&case.body)))?;
        }
        if !case.output.is_empty() {
            writer
                .create_element("system-out")
                .write_text_content(BytesText::new(&text(&case.output)))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Untrusted text as an attribute's value: a single line, because a parser would normalize line breaks anyway.
fn attribute(value: &str) -> String {
    text(&one_line(value, MAX_ATTRIBUTE_CHARS))
}

/// Untrusted text reduced to the characters that XML allows. The writer escapes markup.
fn text(value: &str) -> String {
    let allowed = |c: &char| !matches!(c, '\u{fffe}' | '\u{ffff}');
    sanitize_text(value).chars().filter(allowed).collect()
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
