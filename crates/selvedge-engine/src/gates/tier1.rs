//! Tier 1: every step of the plan is checked, and all that was found becomes one report.
//!
//! There is no fail-fast: the next attempt is told everything. Steps that say so run side by side
//! with their neighbours. Each verification run has its own time, afresh.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use selvedge_core::model::{
    CheckMarks, CheckReport, CheckStatus, Report, ReportStatus, ReportSummary, Step, TaskId,
    Timestamp, TreeId, VerificationPlan,
};
use selvedge_digest::{Budget, render_shared};
use tokio_util::sync::CancellationToken;

use crate::activity::{Activity, Progress};
use crate::checks::{CheckAborted, Finding, Scene, check_for};
use crate::process::Supervisor;

/// One verification run.
#[derive(Debug, Clone)]
pub struct Verification {
    /// The task.
    pub task_id: TaskId,
    /// The attempt that is judged.
    pub run_number: u32,
    /// What must hold.
    pub plan: VerificationPlan,
    /// Time for the whole of it.
    pub limit: Duration,
    /// The workspace, canonical.
    pub workspace: PathBuf,
    /// Where outputs are kept; exists.
    pub run_dir: PathBuf,
    /// Begins the mark of every process.
    pub tag: String,
    /// Held for as long as anything of a check's process tree lives.
    pub lock: PathBuf,
    /// How to start a supervised process.
    pub supervisor: Supervisor,
    /// The tree that is judged.
    pub tree: Option<TreeId>,
    /// When it begins.
    pub started_at: Timestamp,
}

/// Checks every step and reports.
///
/// # Errors
///
/// [`CheckAborted`] when there is no report: the run is being stopped, or nothing can be stored.
pub async fn verify(
    verification: &Verification,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Report, CheckAborted> {
    let began = Instant::now();
    let steps = match &verification.plan {
        VerificationPlan::Skip => return Ok(empty(verification, ReportStatus::Skip)),
        VerificationPlan::AutoPass => return Ok(empty(verification, ReportStatus::AutoPass)),
        VerificationPlan::Steps { steps } => steps,
    };
    let deadline = began + verification.limit;
    let mut findings = Vec::with_capacity(steps.len());
    for group in side_by_side(steps) {
        let first = findings.len();
        let width = std::thread::available_parallelism().map_or(1, usize::from);
        let found = stream::iter(group.iter().enumerate())
            .map(|(offset, step)| {
                one(
                    verification,
                    first + offset,
                    step,
                    deadline,
                    progress,
                    cancel,
                )
            })
            .buffered(width)
            .collect::<Vec<_>>()
            .await;
        for finding in found {
            findings.push(finding?);
        }
    }
    let out_of_time = Instant::now() >= deadline;
    Ok(report(
        verification,
        steps,
        findings,
        out_of_time,
        began.elapsed(),
    ))
}

/// Cuts a plan into groups: neighbours that may run side by side, and every other step alone.
fn side_by_side(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    steps.chunk_by(|one, next| one.parallel && next.parallel)
}

async fn one(
    verification: &Verification,
    index: usize,
    step: &Step,
    deadline: Instant,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Finding, CheckAborted> {
    let label = step.label().to_owned();
    let left = deadline.saturating_duration_since(Instant::now());
    let own = step.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
    let number = verification.run_number;
    let scene = Scene {
        workspace: verification.workspace.clone(),
        run_dir: verification.run_dir.clone(),
        output_file: format!("attempt-{number}.check-{}.out", index + 1),
        tag: format!("{}.check-{}", verification.tag, index + 1),
        lock: verification.lock.clone(),
        supervisor: verification.supervisor.clone(),
        limit: left.min(own),
    };
    progress.activity(Activity::CheckStarted {
        label: label.clone(),
    });
    let finding = if left.is_zero() {
        Finding::timeout("the verification run's time was used up before it began")
    } else {
        check_for(step).run(&scene, cancel).await?
    };
    progress.activity(Activity::CheckEnded {
        label,
        status: finding.status,
        reason: finding.reason.clone(),
        duration_ms: millis(finding.duration),
    });
    Ok(finding)
}

fn report(
    verification: &Verification,
    steps: &[Step],
    findings: Vec<Finding>,
    out_of_time: bool,
    took: Duration,
) -> Report {
    let digests = digests(&findings);
    let checks: Vec<CheckReport> = steps
        .iter()
        .zip(findings)
        .zip(digests)
        .map(|((step, finding), digest)| check_report(step, finding, digest))
        .collect();
    let summary = ReportSummary::of(&checks);
    let timed_out = checks
        .iter()
        .any(|check| check.status == CheckStatus::Timeout);
    let status = match summary {
        _ if out_of_time && timed_out => ReportStatus::Timeout,
        ReportSummary { failed: 1.., .. } => ReportStatus::Fail,
        ReportSummary { errors: 1.., .. } => ReportStatus::Error,
        // A plan without a single step that was looked at has proved nothing.
        ReportSummary { passed: 0, .. } => ReportStatus::AutoPass,
        _ => ReportStatus::Pass,
    };
    Report {
        checks,
        summary,
        status,
        duration_ms: millis(took),
        ..empty(verification, status)
    }
}

/// The digests of all checks that failed, within one budget; for each check its own, if it has any.
fn digests(findings: &[Finding]) -> Vec<Option<String>> {
    let failed = |finding: &&Finding| finding.status.is_failure();
    let analyses: Vec<_> = findings
        .iter()
        .filter(failed)
        .filter_map(|finding| finding.analysis.as_ref())
        .collect();
    let mut rendered = render_shared(&analyses, Budget::default()).into_iter();
    findings
        .iter()
        .map(|finding| {
            let has_one = finding.status.is_failure() && finding.analysis.is_some();
            if has_one {
                rendered.next().map(|digest| digest.text)
            } else {
                None
            }
        })
        .collect()
}

fn check_report(step: &Step, finding: Finding, digest: Option<String>) -> CheckReport {
    let (failures, tests) = match finding.analysis {
        Some(analysis) if finding.status.is_failure() => (analysis.failures, analysis.tests),
        Some(analysis) => (Vec::new(), analysis.tests),
        None => (Vec::new(), None),
    };
    CheckReport {
        kind: step.kind,
        target: step.target.clone(),
        name: step.name.clone(),
        status: finding.status,
        reason: finding.reason,
        exit_code: finding.exit_code,
        duration_ms: millis(finding.duration),
        output: finding.output,
        output_ref: finding.output_ref,
        failures,
        digest,
        tests,
        marks: CheckMarks::default(),
    }
}

fn empty(verification: &Verification, status: ReportStatus) -> Report {
    Report {
        task_id: verification.task_id,
        run_number: verification.run_number,
        status,
        summary: ReportSummary::default(),
        checks: Vec::new(),
        gates: Vec::new(),
        tree: verification.tree.clone(),
        started_at: verification.started_at,
        duration_ms: 0,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
