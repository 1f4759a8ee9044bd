//! The review of an attempt: its changes since the start with findings at their lines, and next to them everything that
//! a decision depends on.

use askama::Template;
use selvedge_core::describe::report_result;
use selvedge_core::model::{CheckStatus, CrossedReport, FindingSeverity, Report};
use selvedge_core::run::{Attempt, Run};

use super::attempt::GateView;
use super::diff::{FileDiffView, LineFinding, file_views};
use super::frame::{PageFrame, reviewed_work};
use crate::backend::{DiffContent, PendingReview, TaskDetail};
use crate::diff::words_deadline;
use crate::grid::GridCell;
use crate::text::{make_visible, single_line};

/// Maximum number of rows of the changes.
const MAX_ROWS: usize = 3_000;

/// The page.
#[derive(Template)]
#[template(path = "review.html")]
pub(crate) struct ReviewPage {
    frame: PageFrame,
    id: String,
    title: String,
    reason: String,
    work: String,
    attempt: String,
    tree: String,
    another_attempt: bool,
    task: String,
    criteria: Option<String>,
    result: String,
    checks: Vec<(GridCell, String, String)>,
    original: Option<OriginalTestsView>,
    gates: Vec<GateView>,
    claim: Option<String>,
    /// Findings in files that are not among the changes.
    findings: Vec<(&'static str, String)>,
    files: Vec<FileDiffView>,
    truncated: bool,
}

/// The checks with the tests from before the attempt.
struct OriginalTestsView {
    class: &'static str,
    words: String,
    reason: String,
    tests: Vec<String>,
}

impl OriginalTestsView {
    fn new(crossed: &CrossedReport) -> Self {
        let passed = crossed.checks.iter();
        let passed = passed.filter(|it| it.status == CheckStatus::Pass).count();
        let all = crossed.checks.len();
        let tests = crossed.checks.iter().filter_map(|it| it.tests.as_ref());
        let (failed, executed) = tests.fold((0, 0), |(failed, executed), summary| {
            (failed + summary.failed, executed + summary.executed)
        });
        let words = match executed {
            0 if all == 0 => "not run".to_owned(),
            0 => format!("{passed} of {all} checks pass"),
            executed => format!(
                "{} of {executed} tests pass",
                executed.saturating_sub(failed)
            ),
        };
        Self {
            class: match passed {
                _ if all == 0 => "error",
                passed if passed == all => "pass",
                _ => "fail",
            },
            words,
            reason: make_visible(&crossed.reason),
            tests: crossed
                .still_failing
                .iter()
                .take(8)
                .map(|test| single_line(test, 120))
                .collect(),
        }
    }
}

impl ReviewPage {
    pub(crate) fn new(
        frame: PageFrame,
        task: &TaskDetail,
        run: &Run,
        attempt: &Attempt,
        pending: &PendingReview,
        diff: &DiffContent,
    ) -> Self {
        let report = attempt.report.as_ref();
        let findings = report.map_or_else(Vec::new, line_findings);
        let files = file_views(diff, MAX_ROWS, &findings, words_deadline());
        let elsewhere = findings
            .iter()
            .filter(|it| files.iter().all(|file| file.name != it.path));
        let checks = report.iter().flat_map(|report| &report.checks);
        let target = &pending.target;
        Self {
            frame,
            id: pending.task.clone(),
            title: single_line(&task.row.description, 120),
            reason: run.review.as_deref().map(make_visible).unwrap_or_default(),
            work: reviewed_work(target),
            attempt: target.attempt.map_or_else(String::new, |it| it.to_string()),
            tree: target
                .tree
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
            another_attempt: task.rights.another_attempt,
            task: make_visible(run.spec.description.trim()),
            criteria: run.spec.acceptance_criteria.as_deref().map(make_visible),
            result: report.map_or_else(String::new, report_result),
            checks: checks
                .map(|check| {
                    let reason = check.reason.as_deref().unwrap_or_default();
                    let label = single_line(check.label(), 80);
                    (GridCell::from_check(check), label, single_line(reason, 200))
                })
                .collect(),
            original: report
                .and_then(|it| it.crossed.as_deref())
                .map(OriginalTestsView::new),
            gates: attempt.gates().iter().map(GateView::new).collect(),
            claim: attempt
                .session
                .as_ref()
                .map(|session| single_line(&session.text, 600))
                .filter(|text| !text.is_empty()),
            findings: elsewhere
                .map(|it| (it.class, make_visible(&format!("{}: {}", it.path, it.text))))
                .collect(),
            files,
            truncated: diff.truncated,
        }
    }
}

/// Findings of the guard.
fn line_findings(report: &Report) -> Vec<LineFinding> {
    let findings = report.guard.iter().flat_map(|guard| &guard.findings);
    findings
        .map(|finding| LineFinding {
            path: finding.path.clone(),
            line: finding.line,
            class: match finding.strength {
                FindingSeverity::Violation => "fail",
                FindingSeverity::Strong => "error",
                FindingSeverity::Weak => "skip",
            },
            text: finding.what.clone(),
        })
        .collect()
}
