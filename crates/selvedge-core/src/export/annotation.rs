//! Annotations: failures with their positions, findings of the guard, and issues of judges. SARIF and the annotations
//! of code hosts are rendered from them.

use super::input::{ReportInput, ResultCategory};
use super::location::{FileLocation, LocationResolver};
use crate::describe::{gate_result, marks};
use crate::model::{CheckReport, CheckStatus, Failure, Finding, FindingSeverity, GateReport, Step};
use crate::prompt::one_line;
use crate::sanitize::sanitize_text;

/// Severity of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnnotationLevel {
    /// It prevents a passing verdict.
    Error,
    /// A person should look at it.
    Warning,
    /// Information only.
    Note,
}

/// A single annotation. Its texts have no control characters, but are still untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// Severity.
    pub level: AnnotationLevel,
    /// Stable identifier of its kind: `rustc/E0308`, `test`, `guard/early_exit`, `tier-2`.
    pub rule: String,
    /// Its source in one line: the check's name, the failing test.
    pub title: String,
    /// Description of the problem.
    pub text: String,
    /// Position, if it is in the repository.
    pub location: Option<FileLocation>,
    /// It fails, but the task excuses it.
    pub is_known: bool,
}

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 120;

/// All annotations of the current attempts. If the work is not verified and no failure explains why, the verdict itself
/// becomes an annotation.
pub fn annotations(account: &ReportInput<'_>, places: &LocationResolver<'_>) -> Vec<Annotation> {
    let mut remarks = Vec::new();
    for (attempt, report) in account.current_attempts() {
        for check in &report.checks {
            let step = attempt.steps.iter().find(|step| is_report_of(check, step));
            let name = |file: &str| places.repository_path(file, step, attempt.workspace);
            remarks.extend(check_annotations(check, &name));
        }
        let findings = report.guard.iter().flat_map(|guard| &guard.findings);
        let name = |file: &str| places.repository_path(file, None, attempt.workspace);
        remarks.extend(findings.map(|finding| finding_annotation(finding, &name)));
        remarks.extend(report.gates.iter().flat_map(gate_annotations));
    }
    remarks.extend(
        account
            .unrestorable_files
            .iter()
            .map(|deletion| Annotation {
                level: AnnotationLevel::Warning,
                rule: "deleted-unkept".to_owned(),
                title: "Selvedge".to_owned(),
                text: sanitize_text(deletion),
                location: None,
                is_known: false,
            }),
    );
    let is_listed = remarks
        .iter()
        .any(|remark| remark.level == AnnotationLevel::Error);
    if account.verdict.category != ResultCategory::Verified && !is_listed {
        remarks.push(verdict_annotation(account));
    }
    remarks
}

/// The verdict as an annotation.
pub(super) fn verdict_annotation(account: &ReportInput<'_>) -> Annotation {
    let verdict = &account.verdict;
    let level = match verdict.category {
        ResultCategory::Verified => AnnotationLevel::Note,
        ResultCategory::Unchecked => AnnotationLevel::Warning,
        ResultCategory::NotVerified | ResultCategory::NotJudged => AnnotationLevel::Error,
    };
    Annotation {
        level,
        rule: "verdict".to_owned(),
        title: format!("Selvedge: {}", verdict.label),
        text: sanitize_text(&verdict.reason),
        location: None,
        is_known: false,
    }
}

fn is_report_of(check: &CheckReport, step: &Step) -> bool {
    check.kind == step.kind && check.target == step.target && check.name == step.name
}

/// The annotations of a check; `name` maps a file to its path in the repository.
fn check_annotations(
    check: &CheckReport,
    name: &dyn Fn(&str) -> Option<String>,
) -> Vec<Annotation> {
    let is_known = check.status == CheckStatus::Pass && check.marks.preexisting;
    let level = match check.status {
        CheckStatus::Fail | CheckStatus::Timeout | CheckStatus::Error => AnnotationLevel::Error,
        CheckStatus::Pass if check.marks.missing => AnnotationLevel::Warning,
        CheckStatus::Pass if is_known => AnnotationLevel::Note,
        CheckStatus::Pass if check.marks.flaky => AnnotationLevel::Warning,
        CheckStatus::Pass | CheckStatus::Skip => return Vec::new(),
    };
    // A failure in a check that did not run is not a failure of the work, and one in a flaky check also passed.
    let shows_failures = check.status.is_failure() || is_known;
    let failures = if shows_failures {
        &check.failures[..]
    } else {
        &[]
    };
    let remark = |failure: &Failure, place: Option<FileLocation>| Annotation {
        level,
        rule: rule(failure),
        title: title(check, failure),
        text: match (&place, &failure.file) {
            (None, Some(file)) => format!("{}: {}", sanitize_text(file), text(failure)),
            _ => text(failure),
        },
        location: place,
        is_known,
    };
    let mut remarks: Vec<Annotation> = failures
        .iter()
        .map(|failure| remark(failure, location_of(failure, name)))
        .collect();
    if remarks.is_empty() {
        remarks.push(Annotation {
            level,
            rule: format!("check/{}", check.kind.as_str()),
            title: one_line(check.label(), MAX_TITLE_CHARS),
            text: failure_reason(check),
            location: None,
            is_known,
        });
    }
    remarks
}

/// The reason why a check failed, if no single failure is known.
fn failure_reason(check: &CheckReport) -> String {
    let reason = check.reason.as_deref().unwrap_or(check.status.label());
    let digest = check.digest.iter().map(|digest| format!("\n{digest}"));
    let marks = marks(check).filter(|marks| marks != reason);
    let marks = marks.map(|marks| format!(" ({marks})")).unwrap_or_default();
    sanitize_text(&(format!("{reason}{marks}") + &digest.collect::<String>()))
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
        Some(id) => one_line(&format!("{label}: {id}"), MAX_TITLE_CHARS),
        None => one_line(label, MAX_TITLE_CHARS),
    }
}

/// The failure's original message, with the details that its position does not show.
fn text(failure: &Failure) -> String {
    let code = failure.code.iter().map(|code| format!(" [{code}]"));
    let mut text = failure.summary.clone() + &code.collect::<String>();
    if let Some(message) = &failure.message {
        text += &format!("\n{message}");
    }
    if failure.count > 1 {
        text += &format!("\n({} times)", failure.count);
    }
    sanitize_text(&text)
}

fn location_of(failure: &Failure, name: &dyn Fn(&str) -> Option<String>) -> Option<FileLocation> {
    let path = name(failure.file.as_deref()?)?;
    let line = failure.line.filter(|line| *line > 0);
    let column = failure.column.filter(|column| *column > 0);
    Some(FileLocation {
        path,
        line,
        column: line.and(column),
    })
}

fn finding_annotation(finding: &Finding, name: &dyn Fn(&str) -> Option<String>) -> Annotation {
    let level = match finding.strength {
        FindingSeverity::Violation | FindingSeverity::Strong => AnnotationLevel::Warning,
        FindingSeverity::Weak => AnnotationLevel::Note,
    };
    let kind = serde_json::to_value(finding.kind).unwrap_or_default();
    let place = name(&finding.path).map(|path| FileLocation {
        path,
        line: finding.line.filter(|line| *line > 0),
        column: None,
    });
    Annotation {
        level,
        rule: format!("guard/{}", kind.as_str().unwrap_or("finding")),
        title: "guard".to_owned(),
        text: sanitize_text(&finding.what),
        location: place,
        is_known: false,
    }
}

fn gate_annotations(gate: &GateReport) -> Vec<Annotation> {
    let level = match gate.passed {
        Some(true) => return Vec::new(),
        Some(false) => AnnotationLevel::Error,
        None => AnnotationLevel::Warning,
    };
    let annotation = |text: &str| Annotation {
        level,
        rule: format!("tier-{}", gate.tier),
        title: format!("tier {} {}", gate.tier, gate_result(gate)),
        text: sanitize_text(text),
        location: None,
        is_known: false,
    };
    let issues = gate.judgements.iter().flat_map(|it| &it.issues);
    let mut remarks: Vec<Annotation> = issues.map(|issue| annotation(issue)).collect();
    if remarks.is_empty() {
        let why = gate.error.as_deref().or(gate.feedback.as_deref());
        remarks.push(annotation(why.unwrap_or("no reason given")));
    }
    remarks
}
