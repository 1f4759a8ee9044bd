//! JUnit XML: a suite for each attempt, a case for each check in it, for each tier above, and for a person
//! who accepted it. What
//! keeps the work from being verified and is no check's failure is a case `outcome` in the last suite.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::account::{Account, Standing, Told};
use crate::model::{CheckReport, CheckStatus, Closing, GateReport, ReviewRecord, SessionStatus};
use crate::prompt::{clean, one_line};
use crate::words::{gate_result, marks};

/// Longest attribute, in characters.
const ATTRIBUTE: usize = 300;

/// What a case came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Pass,
    Flaky,
    Skipped,
    Failure,
    Error,
}

struct Case {
    name: String,
    millis: u64,
    came: Came,
    /// A word for what sort of failure it is.
    kind: &'static str,
    message: String,
    body: String,
    output: String,
}

struct Suite {
    name: String,
    class: String,
    began: String,
    millis: u64,
    cases: Vec<Case>,
}

/// The whole document.
pub fn junit(account: &Account<'_>) -> String {
    let mut suites: Vec<Suite> = account.attempts.iter().map(suite).collect();
    let notes = notes(account);
    if let Some(case) = outcome(account, &notes) {
        if suites.is_empty() {
            suites.push(Suite {
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
    // Writing to memory does not fail; what cannot be told is then not told as a pass.
    write(&account.title, &suites).unwrap_or_default()
}

fn suite(told: &Told<'_>) -> Suite {
    let subtask = told.subtask.map(|id| format!("{id}."));
    let class = match told.number {
        Some(number) => format!("selvedge.{}attempt-{number}", subtask.unwrap_or_default()),
        None => "selvedge.verification".to_owned(),
    };
    let report = told.report;
    let checks = report.iter().flat_map(|report| &report.checks).map(checked);
    let gates = report.iter().flat_map(|report| &report.gates).map(judged);
    Suite {
        name: told.name(),
        class,
        began: told.began_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        millis: told.duration_ms(),
        cases: session(told)
            .into_iter()
            .chain(checks)
            .chain(gates)
            .chain(told.accepted.map(accepted))
            .collect(),
    }
}

/// The agent's session, where it did not succeed.
fn session(told: &Told<'_>) -> Option<Case> {
    told.number?;
    let (kind, message) = match (told.session, told.closing) {
        (Some(session), _) if session.status == SessionStatus::Success => return None,
        (Some(session), _) => {
            let error = session.error.as_deref();
            ("session", error.unwrap_or("the session did not succeed"))
        }
        (None, Some(Closing::Cancelled)) => ("cancelled", "cancelled"),
        (None, _) => ("interrupted", "the session was cut off"),
    };
    Some(Case {
        name: "agent session".to_owned(),
        millis: told.session.map_or(0, |session| session.duration_ms),
        came: Came::Error,
        kind,
        message: message.to_owned(),
        body: message.to_owned(),
        output: String::new(),
    })
}

fn checked(check: &CheckReport) -> Case {
    let is_known = check.status == CheckStatus::Pass && check.marks.preexisting;
    let (came, kind) = match check.status {
        CheckStatus::Pass if check.marks.missing => (Came::Skipped, "missing"),
        CheckStatus::Pass if is_known => (Came::Skipped, "known failure"),
        CheckStatus::Pass if check.marks.flaky => (Came::Flaky, "flaky"),
        CheckStatus::Pass => (Came::Pass, ""),
        CheckStatus::Skip => (Came::Skipped, "skipped"),
        CheckStatus::Fail => (Came::Failure, "fail"),
        CheckStatus::Timeout => (Came::Failure, "timeout"),
        CheckStatus::Error => (Came::Error, "error"),
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
    let is_shown = matches!(came, Came::Failure | Came::Error);
    Case {
        name: check.label().to_owned(),
        millis: check.duration_ms,
        came,
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

fn judged(gate: &GateReport) -> Case {
    let (came, kind) = match gate.passed {
        Some(true) => (Came::Pass, ""),
        Some(false) => (Came::Failure, "rejected"),
        None => (Came::Error, "undecided"),
    };
    let why = gate.error.as_deref().or(gate.feedback.as_deref());
    let why = why.unwrap_or_default();
    let said = match came {
        Came::Pass => String::new(),
        _ => format!(
            "the checks passed, but tier {} {}: {why}",
            gate.tier,
            gate_result(gate)
        ),
    };
    Case {
        name: format!("tier {}", gate.tier),
        millis: gate.duration_ms,
        came,
        kind,
        message: said.clone(),
        body: said,
        output: String::new(),
    }
}

fn accepted(review: &ReviewRecord) -> Case {
    Case {
        name: "review".to_owned(),
        millis: 0,
        came: Came::Pass,
        kind: "",
        message: String::new(),
        body: String::new(),
        output: review.summary(),
    }
}

/// Invariant: what is not verified is not green.
fn outcome(account: &Account<'_>, notes: &str) -> Option<Case> {
    let verdict = &account.verdict;
    let (came, kind) = match verdict.standing {
        Standing::Verified if notes.is_empty() => return None,
        Standing::Verified => (Came::Pass, ""),
        Standing::Unchecked => (Came::Skipped, "unchecked"),
        Standing::NotVerified => (Came::Failure, "not verified"),
        Standing::NotJudged => (Came::Error, "not judged"),
    };
    let message = format!("{}: {}", verdict.word, verdict.reason);
    Some(Case {
        name: "outcome".to_owned(),
        millis: 0,
        came,
        kind,
        body: message.clone(),
        message,
        output: notes.to_owned(),
    })
}

/// Remarks beside the verdict: unchanged work, and deleted files that cannot be restored.
fn notes(account: &Account<'_>) -> String {
    let unchanged = account.unchanged == Some(true);
    let reason = &account.verdict.reason;
    let unchanged = unchanged.then(|| format!("{}: {reason}", account.verdict.word));
    let lines = unchanged.iter().chain(&account.deletions);
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    lines.join("\n")
}

fn write(title: &str, suites: &[Suite]) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let count = |came| all().filter(|case| case.came == came).count().to_string();
    let millis = suites
        .iter()
        .map(|it| it.millis)
        .fold(0, u64::saturating_add);
    let (tests, failures, errors) = (all().count(), count(Came::Failure), count(Came::Error));
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

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let cases = &suite.cases;
    let count = |came| {
        cases
            .iter()
            .filter(|case| case.came == came)
            .count()
            .to_string()
    };
    let mut element = writer.create_element("testsuite").with_attributes([
        ("name", attribute(&suite.name).as_str()),
        ("tests", &cases.len().to_string()),
        ("failures", &count(Came::Failure)),
        ("errors", &count(Came::Error)),
        ("skipped", &count(Came::Skipped)),
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

fn write_case(writer: &mut Writer<Vec<u8>>, class: &str, case: &Case) -> io::Result<()> {
    let element = writer.create_element("testcase").with_attributes([
        ("classname", attribute(class).as_str()),
        ("name", &attribute(&case.name)),
        ("time", &seconds(case.millis)),
    ]);
    let told = match case.came {
        Came::Pass => None,
        Came::Flaky => Some("flakyFailure"),
        Came::Skipped => Some("skipped"),
        Came::Failure => Some("failure"),
        Came::Error => Some("error"),
    };
    if told.is_none() && case.output.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|writer| {
        if let Some(told) = told {
            writer
                .create_element(told)
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

/// Foreign text as an attribute's value: one line, for a parser would make one of it.
fn attribute(value: &str) -> String {
    text(&one_line(value, ATTRIBUTE))
}

/// Foreign text of characters that XML allows. Escaping its signs is the writer's.
fn text(value: &str) -> String {
    let allowed = |c: &char| !matches!(c, '\u{fffe}' | '\u{ffff}');
    clean(value).chars().filter(allowed).collect()
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}
