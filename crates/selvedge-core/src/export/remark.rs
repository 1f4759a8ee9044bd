//! What is worth pointing at, as a list: failures with their places, what the guard noticed, what
//! judges found. SARIF and the annotations of code hosts are views of it.

use super::account::{Account, Standing};
use super::place::{Place, Places};
use crate::guard::{Finding, Strength};
use crate::model::{CheckReport, CheckStatus, Failure, GateReport, Step};
use crate::prompt::{clean, one_line};
use crate::words::{gate_result, marks};

/// How much a remark weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It stands in the way of the verdict.
    Error,
    /// Somebody should look.
    Warning,
    /// For the record.
    Note,
}

/// One thing worth pointing at. Its texts are clean of control characters, and foreign all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How much it weighs.
    pub level: Level,
    /// What sort of thing, as a stable word: `rustc/E0308`, `test`, `guard/skip_marker`, `tier-2`.
    pub rule: String,
    /// One line that says who remarks it: the check's name, the failing test.
    pub title: String,
    /// What is the matter.
    pub text: String,
    /// Where, if that is in the repository.
    pub place: Option<Place>,
    /// It fails, and the task excuses it.
    pub is_known: bool,
}

/// Longest title, in characters.
const TITLE: usize = 120;

/// All that is worth pointing at in what stands in the workspace. When something
/// keeps the work from being verified and no failure says what, the verdict itself is a remark.
pub fn remarks(account: &Account<'_>, places: &Places<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (told, report) in account.standing() {
        for check in &report.checks {
            let step = told.steps.iter().find(|step| is_of(check, step));
            let name = |file: &str| places.name(file, step, told.workspace);
            remarks.extend(of_check(check, &name));
        }
        let findings = report.guard.iter().flat_map(|guard| &guard.findings);
        let name = |file: &str| places.name(file, None, told.workspace);
        remarks.extend(findings.map(|finding| of_finding(finding, &name)));
        remarks.extend(report.gates.iter().flat_map(of_gate));
    }
    remarks.extend(account.deletions.iter().map(|deletion| Remark {
        level: Level::Warning,
        rule: "deleted-unkept".to_owned(),
        title: "Selvedge".to_owned(),
        text: clean(deletion),
        place: None,
        is_known: false,
    }));
    let is_said = remarks.iter().any(|remark| remark.level == Level::Error);
    if account.verdict.standing != Standing::Verified && !is_said {
        remarks.push(of_verdict(account));
    }
    remarks
}

/// The verdict itself.
pub(super) fn of_verdict(account: &Account<'_>) -> Remark {
    let verdict = &account.verdict;
    let level = match verdict.standing {
        Standing::Verified => Level::Note,
        Standing::Unchecked => Level::Warning,
        Standing::NotVerified | Standing::NotJudged => Level::Error,
    };
    Remark {
        level,
        rule: "verdict".to_owned(),
        title: format!("Selvedge: {}", verdict.word),
        text: clean(&verdict.reason),
        place: None,
        is_known: false,
    }
}

fn is_of(check: &CheckReport, step: &Step) -> bool {
    check.kind == step.kind && check.target == step.target && check.name == step.name
}

/// What a check found; `name` says how a file is called in the repository.
fn of_check(check: &CheckReport, name: &dyn Fn(&str) -> Option<String>) -> Vec<Remark> {
    let is_known = check.status == CheckStatus::Pass && check.marks.preexisting;
    let level = match check.status {
        CheckStatus::Fail | CheckStatus::Timeout | CheckStatus::Error => Level::Error,
        CheckStatus::Pass if check.marks.missing => Level::Warning,
        CheckStatus::Pass if is_known => Level::Note,
        CheckStatus::Pass if check.marks.flaky => Level::Warning,
        CheckStatus::Pass | CheckStatus::Skip => return Vec::new(),
    };
    // What failed in a check that did not run is no failure of the work, and what failed in a flaky
    // one also passed.
    let speaks = check.status.is_failure() || is_known;
    let failures = if speaks { &check.failures[..] } else { &[] };
    let remark = |failure: &Failure, place: Option<Place>| Remark {
        level,
        rule: rule(failure),
        title: title(check, failure),
        text: match (&place, &failure.file) {
            (None, Some(file)) => format!("{}: {}", clean(file), text(failure)),
            _ => text(failure),
        },
        place,
        is_known,
    };
    let mut remarks: Vec<Remark> = failures
        .iter()
        .map(|failure| remark(failure, place(failure, name)))
        .collect();
    if remarks.is_empty() {
        remarks.push(Remark {
            level,
            rule: format!("check/{}", check.kind.as_str()),
            title: one_line(check.label(), TITLE),
            text: why(check),
            place: None,
            is_known,
        });
    }
    remarks
}

/// Why a check does not hold, where no single failure is known.
fn why(check: &CheckReport) -> String {
    let reason = check.reason.as_deref().unwrap_or(check.status.label());
    let digest = check.digest.iter().map(|digest| format!("\n{digest}"));
    let marks = marks(check).filter(|marks| marks != reason);
    let marks = marks.map(|marks| format!(" ({marks})")).unwrap_or_default();
    clean(&(format!("{reason}{marks}") + &digest.collect::<String>()))
}

fn rule(failure: &Failure) -> String {
    let kind = failure.kind.as_str();
    let named = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c);
        let kept: String = text.chars().filter(|&c| plain(c)).take(80).collect();
        (!kept.is_empty()).then_some(kept)
    };
    match (&failure.tool, &failure.code) {
        (Some(tool), Some(code)) => named(tool)
            .zip(named(code))
            .map_or_else(|| kind.to_owned(), |(tool, code)| format!("{tool}/{code}")),
        _ => kind.to_owned(),
    }
}

fn title(check: &CheckReport, failure: &Failure) -> String {
    let label = check.label();
    match &failure.id {
        Some(id) => one_line(&format!("{label}: {id}"), TITLE),
        None => one_line(label, TITLE),
    }
}

/// The failure in its tool's words, with what its place would leave out.
fn text(failure: &Failure) -> String {
    let code = failure.code.iter().map(|code| format!(" [{code}]"));
    let mut text = failure.summary.clone() + &code.collect::<String>();
    if let Some(message) = &failure.message {
        text += &format!("\n{message}");
    }
    if failure.count > 1 {
        text += &format!("\n({} times)", failure.count);
    }
    clean(&text)
}

fn place(failure: &Failure, name: &dyn Fn(&str) -> Option<String>) -> Option<Place> {
    let path = name(failure.file.as_deref()?)?;
    let line = failure.line.filter(|line| *line > 0);
    let column = failure.column.filter(|column| *column > 0);
    Some(Place {
        path,
        line,
        column: line.and(column),
    })
}

fn of_finding(finding: &Finding, name: &dyn Fn(&str) -> Option<String>) -> Remark {
    let level = match finding.strength {
        Strength::Offence | Strength::Strong => Level::Warning,
        Strength::Weak => Level::Note,
    };
    let kind = serde_json::to_value(finding.kind).unwrap_or_default();
    let place = name(&finding.path).map(|path| Place {
        path,
        line: finding.line.filter(|line| *line > 0),
        column: None,
    });
    Remark {
        level,
        rule: format!("guard/{}", kind.as_str().unwrap_or("finding")),
        title: "guard".to_owned(),
        text: clean(&finding.what),
        place,
        is_known: false,
    }
}

fn of_gate(gate: &GateReport) -> Vec<Remark> {
    let level = match gate.passed {
        Some(true) => return Vec::new(),
        Some(false) => Level::Error,
        None => Level::Warning,
    };
    let said = |text: &str| Remark {
        level,
        rule: format!("tier-{}", gate.tier),
        title: format!("tier {} {}", gate.tier, gate_result(gate)),
        text: clean(text),
        place: None,
        is_known: false,
    };
    let issues = gate.judgements.iter().flat_map(|it| &it.issues);
    let mut remarks: Vec<Remark> = issues.map(|issue| said(issue)).collect();
    if remarks.is_empty() {
        let why = gate.error.as_deref().or(gate.feedback.as_deref());
        remarks.push(said(why.unwrap_or("gave no reason")));
    }
    remarks
}
