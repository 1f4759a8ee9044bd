//! Tier 1: runs every check of the plan and builds one report.
//!
//! There is no fail-fast: the next attempt gets all failures. Adjacent checks that are marked as parallel run side by
//! side. Each verification has its full time limit; reruns of failed checks have time limits of their own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;
use selvedge_core::crossing::ExpectedChanges;
use selvedge_core::guard::Protection;
use selvedge_core::installed::InstalledFiles;
use selvedge_core::machine::{apply_reruns, compare};
use selvedge_core::model::{
    CheckReport, CheckStatus, CrossedReport, GuardReport, KnownFailures, Report, ReportStatus,
    ReportSummary, SandboxReport, SessionOutcome, SetupSpec, Step, StepKind, SyntaxRules, TaskId,
    Timestamp, ToolFolderChanges, TreeId, VerificationPlan,
};
use selvedge_core::redact::Redactor;
use selvedge_digest::{DigestBudget, render_shared};
use tokio_util::sync::CancellationToken;

use super::check_runner::{CheckDeadline, IndexedStep, VerificationContext, check_report, millis};
use super::cross_verification::{CrossVerification, CrossedTrees, Originals, RoomInstaller};
use super::guard::{GuardedChanges, known_diagnostics, revert_protected};
use super::known_failures::mark_touched;
use super::protected_git::ProtectedGit;
use super::reruns::CheckReruns;
use super::setup::{DependencyInstaller, InstalledAgain};
use super::syntax_check::SyntaxCheck;
use super::tool_call_check;
use super::trees::{VerificationTrees, ensure_workspace_tree};
use super::verification_room::OpenVerificationRoom;
use super::written_files::{FilesBeforeChecks, WrittenFiles};
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::checks::CheckOutcome;
use crate::process::Supervisor;
use crate::sandbox::verified_restrictions;
use crate::workspace::ProtectedSession;

/// Label of the check that parses changed files.
const SYNTAX_CHECK_LABEL: &str = "changed files";
/// Label of the check of the agent's tool calls.
const TOOL_CALL_CHECK_LABEL: &str = "tool calls";
/// Maximum number of absent files that are named in a reason.
const MAX_NAMED_ABSENT_FILES: usize = 3;

/// One verification.
#[derive(Debug, Clone)]
pub struct Verification {
    /// The task.
    pub task_id: TaskId,
    /// The attempt that is judged.
    pub attempt_number: u32,
    /// The checks.
    pub plan: VerificationPlan,
    /// Time limit for all checks together.
    pub limit: Duration,
    /// The workspace, canonical.
    pub workspace: PathBuf,
    /// Where the checks run, if not in the workspace itself.
    pub verification_room: Option<OpenVerificationRoom>,
    /// Directory for outputs; exists.
    pub run_dir: PathBuf,
    /// Prefix of the tag of every process.
    pub tag: String,
    /// Held as long as any process of a check lives.
    pub lock: PathBuf,
    /// Starts supervised processes.
    pub supervisor: Supervisor,
    /// The trees that are judged and compared, if there are snapshots.
    pub trees: Option<VerificationTrees>,
    /// The trees to compare if changes are only inspected: nothing is reverted, and the verdict does not depend on
    /// them.
    pub base_trees: Option<VerificationTrees>,
    /// Files that the attempt may not change; `None` disables the guard.
    pub protection: Option<Protection>,
    /// Rules for parsing the changed files; `None` disables the check.
    pub syntax: Option<SyntaxRules>,
    /// The session whose tool calls are checked; `None` disables the check.
    pub session: Option<SessionOutcome>,
    /// The task's description.
    pub task: String,
    /// Start of the run.
    pub run_started_at: Timestamp,
    /// For each check, its report of the baseline, if there is one.
    pub baseline: Vec<Option<CheckReport>>,
    /// The tree whose tests judge the work, if it is not the one that the run began from.
    pub test_base: Option<TreeId>,
    /// Files of tests and installed tools that the checks wrote in the baseline, if there is one.
    pub written_before: Option<Vec<String>>,
    /// Commands that install dependencies and reset state for the checks.
    pub setup: SetupSpec,
    /// Changes by the attempt in folders of installed tools.
    pub changed_tools: Option<ToolFolderChanges>,
    /// Globs of files that the task may change.
    pub allow: Vec<String>,
    /// Declared changes of tests.
    pub expect_test_changes: Vec<String>,
    /// Tests that are allowed to fail.
    pub known_failures: KnownFailures,
    /// Whether failed checks are run again, to distinguish flaky tests from failures.
    pub rerun_failed: bool,
    /// For each check, its output when it last passed in this run.
    pub passing_outputs: Vec<Option<PathBuf>>,
    /// Start of the verification.
    pub started_at: Timestamp,
}

/// Runs every check and builds the report.
///
/// # Errors
///
/// [`CheckError`] if there is no report: the run is being stopped, or results cannot be stored.
pub async fn verify(
    verification: &Verification,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Report, CheckError> {
    let began = Instant::now();
    let steps = match &verification.plan {
        VerificationPlan::Skip => return Ok(empty_report(verification, ReportStatus::Skip)),
        VerificationPlan::AutoPass => {
            return Ok(empty_report(verification, ReportStatus::AutoPass));
        }
        VerificationPlan::Steps { steps } => steps,
    };
    let mut trees = verification.trees.clone();
    let guarded = verification.revert_protected(trees.as_mut()).await?;
    let delivered = trees.as_ref().map(|trees| trees.judged.clone());
    let (mut absent, mut files) = (Vec::new(), None);
    if let (Some(open), Some(trees)) = (&verification.verification_room, trees.as_mut()) {
        let entered = trees
            .enter_verification_room(&open.verification_room)
            .await?;
        files = entered.files;
        absent = entered.absent;
    }
    let inspected = async {
        match guarded {
            Some(changes) => Ok(Some(GuardReport::of(changes.inspect().await?))),
            None => Ok(None),
        }
    };
    let checked = Box::pin(run_in_room_or_workspace(
        verification,
        steps,
        trees,
        files,
        progress,
        cancel,
    ));
    let (guard, checked) = futures_util::join!(inspected, checked);
    let (guard, (mut report, put_back)) = (guard?, checked?);
    mention_absent_files(&absent, &mut report.checks);
    Ok(Report {
        guard,
        tree: delivered,
        sandbox: Some(SandboxReport {
            put_back,
            room: verification.verification_room.is_some(),
            copied_tools: match &verification.verification_room {
                Some(open) => open.verification_room.copied_tools(),
                None => Vec::new(),
            },
            ..verified_restrictions(&verification.supervisor)
        }),
        duration_ms: millis(began.elapsed()),
        ..report
    })
}

/// Runs the checks in the verification room, or in the workspace itself, where its `.git` directory is protected. Returns
/// what was put back there.
async fn run_in_room_or_workspace(
    verification: &Verification,
    steps: &[Step],
    trees: Option<VerificationTrees>,
    files: Option<FilesBeforeChecks>,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<(Report, Vec<String>), CheckError> {
    if verification.verification_room.is_some() {
        let report = set_up_and_run(verification, steps, trees, files, progress, cancel).await?;
        return Ok((report, Vec::new()));
    }
    let (git, supervisor) = ProtectedGit::begin(
        &verification.workspace,
        &verification.run_dir,
        ProtectedSession::Check,
        &verification.supervisor,
    )
    .await?;
    let protected = Verification {
        supervisor,
        ..verification.clone()
    };
    let report = set_up_and_run(&protected, steps, trees, None, progress, cancel).await;
    // Cancelled checks have changed files, too.
    let put_back = git.end().await;
    Ok((report?, put_back))
}

/// Adds a note to failed checks that names ignored files of the attempt which are absent while checks run: those that
/// the output mentions, or else any.
fn mention_absent_files(absent: &[PathBuf], checks: &mut [CheckReport]) {
    for check in checks.iter_mut().filter(|check| check.status.is_failure()) {
        let is_named = |path: &&PathBuf| {
            let path = path.to_string_lossy();
            check.output.contains(path.as_ref()) || check.target.contains(path.as_ref())
        };
        let mut named: Vec<_> = absent
            .iter()
            .filter(is_named)
            .take(MAX_NAMED_ABSENT_FILES)
            .collect();
        if named.is_empty() {
            named.extend(absent.iter().take(MAX_NAMED_ABSENT_FILES));
        }
        if named.is_empty() {
            return;
        }
        let named: Vec<String> = named
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let reason = check.reason.take().unwrap_or_default();
        check.reason = Some(format!(
            "{reason}; the checks run without the attempt's versions of these ignored files: {} (`[setup] run` can create them)",
            named.join(", ")
        ));
    }
}

/// Installs dependencies again if the attempt changed them, then runs the checks. `files` are the current ones, if they
/// are known.
async fn set_up_and_run(
    verification: &Verification,
    steps: &[Step],
    trees: Option<VerificationTrees>,
    files: Option<FilesBeforeChecks>,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Report, CheckError> {
    let mut installed = InstalledAgain {
        changes: verification.changed_tools.clone(),
        files: None,
        has_run: false,
    };
    let mut setup_ms = 0;
    if let Some(trees) = &trees {
        let place = verification.context();
        let setup = verification.installer(&place, progress, cancel);
        let trees = verification.crossed_trees(trees);
        let changes = installed.changes.take();
        installed = setup.install_again(&trees, steps, changes).await?;
        setup_ms = place.setup_ms.load(Ordering::Relaxed);
    }
    // A setup may write files.
    let has_set_up = installed.has_run || !verification.setup.reset.is_empty();
    let files = files.filter(|_| !has_set_up);
    let first = installed.files.as_ref();
    let report = run_checks(verification, steps, trees, files, first, progress, cancel).await?;
    setup_ms += report.setup_ms.unwrap_or_default();
    Ok(Report {
        changed_tools: installed.changes.map(Box::new),
        setup_ms: (setup_ms > 0).then_some(setup_ms),
        ..report
    })
}

async fn run_checks(
    verification: &Verification,
    steps: &[Step],
    trees: Option<VerificationTrees>,
    files: Option<FilesBeforeChecks>,
    installed: Option<&InstalledFiles>,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Report, CheckError> {
    // What was installed in the room takes the place of the workspace's tools.
    let place = verification.context();
    let setup = verification.installer(&place, progress, cancel);
    place.reset(progress, cancel).await?;
    let deadline = CheckDeadline::new(Instant::now() + verification.limit);
    let ((findings, mut written, is_settled), changed, originals) = futures_util::try_join!(
        async {
            let before = verification.capture_files(trees.as_ref(), files).await?;
            let findings = match (&trees, &verification.verification_room) {
                (None, Some(room)) => {
                    run_steps_in_room(&place, room, steps, &deadline, progress, cancel).await?
                }
                _ => run_steps(&place, steps, &deadline, progress, cancel).await?,
            };
            let (mut written, mut is_same) = (WrittenFiles::default(), false);
            if let (Some(before), Some(trees)) = (before, trees.as_ref()) {
                let steps = place.with_setup(steps);
                let after = before.find_written(&trees.start, &steps).await?;
                is_same = after.is_same;
                written = after;
            }
            let is_settled = restore_judged_tree(trees.as_ref(), &findings, is_same).await?;
            Ok((findings, written, is_settled))
        },
        verification.check_syntax(trees.as_ref(), deadline.end(), cancel),
        // The result is only needed if the checks pass, so an error is ignored for now.
        async { Ok(verification.find_originals(&place, trees.as_ref()).await) },
    )?;
    let out_of_time = deadline.remaining().is_zero();
    let (mut steps, mut findings) = (steps.to_vec(), findings);
    let called = match &verification.session {
        Some(session) => tool_call_check::check_tool_calls(session, trees.as_ref()).await?,
        None => None,
    };
    let beside = [
        (StepKind::Syntax, SYNTAX_CHECK_LABEL, changed),
        (StepKind::ToolCalls, TOOL_CALL_CHECK_LABEL, called),
    ];
    for (kind, target, finding) in beside {
        if let Some(finding) = finding {
            let step = Step::new(kind, target);
            report_progress(&step, &finding, progress);
            steps.push(step);
            findings.push(finding);
        }
    }
    let redactor = verification.supervisor.redactor();
    let mut checks = check_reports(&steps, findings, redactor)?;
    if verification.rerun_failed {
        verification
            .rerun_failed_checks(&place, trees.as_ref(), &mut checks, progress, cancel)
            .await?;
    }
    let changes = trees.as_ref().or(verification.base_trees.as_ref());
    mark_touched(&verification.known_failures, changes, &mut checks).await?;
    let summary = ReportSummary::of(&checks);
    let status = report_status(&checks, summary, out_of_time);
    let mut report = Report {
        checks,
        summary,
        ..empty_report(verification, status)
    };
    let crossed = verification
        .run_cross_verification(
            &setup,
            installed,
            trees.as_ref(),
            originals,
            &report,
            &mut written,
        )
        .await;
    let is_settled = is_settled && matches!(crossed, Ok(None));
    // A run that is stopped must not leave the original tests in the workspace either.
    let in_place = trees
        .as_ref()
        .filter(|trees| trees.verification_room.is_none());
    if let Some(trees) = in_place.filter(|_| !is_settled) {
        ensure_workspace_tree(&trees.workspace, &trees.judged).await?;
    }
    report.crossed = crossed?.map(Box::new);
    report.written_files = verification.describe_written(written.into_paths());
    report.setup_ms = Some(place.setup_ms.load(Ordering::Relaxed));
    Ok(report)
}

impl Verification {
    fn installer<'a>(
        &'a self,
        context: &'a VerificationContext,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> DependencyInstaller<'a> {
        DependencyInstaller {
            context,
            verification_room: self.verification_room.as_ref(),
            progress,
            cancel,
        }
    }

    fn context(&self) -> VerificationContext {
        let room = self.verification_room.as_ref();
        VerificationContext {
            workspace: self.workspace.clone(),
            files_root: room
                .map_or(&*self.workspace, |open| open.verification_room.tree())
                .to_owned(),
            run_dir: self.run_dir.clone(),
            tag: self.tag.clone(),
            output_prefix: format!("attempt-{}", self.attempt_number),
            passing_outputs: self.passing_outputs.clone(),
            lock: self.lock.clone(),
            supervisor: room
                .map_or_else(|| self.supervisor.clone(), OpenVerificationRoom::supervisor),
            is_baseline: false,
            setup: self.setup.clone(),
            setup_ms: Arc::default(),
        }
    }

    /// Checks the syntax of files that the attempt changed; none if their earlier state is not known. Reads only
    /// snapshots, so checks may run meanwhile.
    async fn check_syntax(
        &self,
        trees: Option<&VerificationTrees>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Option<CheckOutcome>, CheckError> {
        let (Some(trees), Some(rules)) = (trees.or(self.base_trees.as_ref()), &self.syntax) else {
            return Ok(None);
        };
        if trees.start == trees.judged {
            return Ok(None);
        }
        let changed = SyntaxCheck {
            trees,
            rules,
            task: &self.task,
            run_dir: &self.run_dir,
            tag: &self.tag,
            lock: &self.lock,
            supervisor: &self.supervisor,
            deadline,
        };
        changed.run(cancel).await
    }

    async fn rerun_failed_checks(
        &self,
        place: &VerificationContext,
        trees: Option<&VerificationTrees>,
        checks: &mut [CheckReport],
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(), CheckError> {
        let reruns = CheckReruns {
            context: place,
            trees,
            limit: self.limit,
            progress,
            cancel,
            spent_ms: AtomicU64::new(0),
        };
        let VerificationPlan::Steps { steps } = &self.plan else {
            return Ok(());
        };
        for (index, (step, check)) in steps.iter().zip(checks).enumerate() {
            let before = self.baseline.get(index).and_then(Option::as_ref);
            reruns
                .rerun(IndexedStep { index, step }, before, check)
                .await?;
        }
        Ok(())
    }

    /// Finds the files of the test side that the attempt changed. Reads snapshots and the names of installed modules, so
    /// checks may run meanwhile.
    async fn find_originals(
        &self,
        place: &VerificationContext,
        trees: Option<&VerificationTrees>,
    ) -> Result<Option<Originals>, CheckError> {
        let (Some(trees), VerificationPlan::Steps { steps }) = (trees, &self.plan) else {
            return Ok(None);
        };
        if trees.start == trees.judged && self.test_base.is_none() {
            return Ok(None);
        }
        let crossed = self.crossed_trees(trees);
        crossed
            .find_originals(&place.with_setup(steps))
            .await
            .map(Some)
    }

    /// Runs the checks with the original tests, if they pass with the attempt's. `written` are files that were written
    /// during the checks of the attempt's own tree, and afterwards those that were written meanwhile as well.
    async fn run_cross_verification(
        &self,
        setup: &DependencyInstaller<'_>,
        installed: Option<&InstalledFiles>,
        trees: Option<&VerificationTrees>,
        originals: Result<Option<Originals>, CheckError>,
        report: &Report,
        written: &mut WrittenFiles,
    ) -> Result<Option<CrossedReport>, CheckError> {
        let (Some(trees), VerificationPlan::Steps { steps }) = (trees, &self.plan) else {
            return Ok(None);
        };
        if !self.is_passing_after_completion(report) {
            return Ok(None);
        }
        let Some(originals) = originals? else {
            return Ok(None);
        };
        let installs_itself = !self.describe_written(written.tools.clone()).is_empty();
        let installer = self.verification_room.as_ref().zip(installed);
        let mut crossing = CrossVerification {
            trees: self.crossed_trees(trees),
            context: setup.context,
            steps,
            baseline: &self.baseline,
            known_failures: &self.known_failures,
            limit: self.limit,
            rerun_failed: self.rerun_failed,
            expected: ExpectedChanges::new(&self.expect_test_changes),
            started_at: self.run_started_at.as_second(),
            progress: setup.progress,
            cancel: setup.cancel,
            installer: installer
                .filter(|_| installs_itself)
                .map(|(room, first)| RoomInstaller { setup, room, first }),
            written: WrittenFiles::default(),
        };
        let crossed = crossing.run(originals, &report.checks).await?;
        if crossed.is_some() {
            if crossing.installer.is_some() {
                // Nothing that the checks had written was there.
                *written = WrittenFiles::default();
            }
            written.extend(crossing.written);
        }
        Ok(crossed)
    }

    /// Captures the files before a run of the checks. Without a baseline it is not known which files checks write
    /// themselves, so none are compared. `known` are the current files, if they are known.
    async fn capture_files(
        &self,
        trees: Option<&VerificationTrees>,
        known: Option<FilesBeforeChecks>,
    ) -> Result<Option<FilesBeforeChecks>, CheckError> {
        match (trees.filter(|_| self.written_before.is_some()), known) {
            (Some(_), Some(known)) => Ok(Some(known)),
            (Some(trees), None) => Ok(Some(FilesBeforeChecks::capture(&trees.workspace).await?)),
            (None, _) => Ok(None),
        }
    }

    /// The first of the files that were written now but not in the baseline.
    fn describe_written(&self, written: BTreeSet<String>) -> Vec<String> {
        let Some(before) = &self.written_before else {
            return Vec::new();
        };
        let new = written.into_iter().filter(|path| !before.contains(path));
        new.take(CrossedReport::MAX_LISTED).collect()
    }

    fn crossed_trees<'a>(&'a self, trees: &'a VerificationTrees) -> CrossedTrees<'a> {
        CrossedTrees {
            trees,
            test_base: self.test_base.as_ref(),
            allow: &self.allow,
            expected: &self.expect_test_changes,
        }
    }

    /// Whether a report passes after it is completed with the baseline's results.
    fn is_passing_after_completion(&self, report: &Report) -> bool {
        let mut completed = report.clone();
        for (index, check) in completed.checks.iter_mut().enumerate() {
            let before = self.baseline.get(index).and_then(Option::as_ref);
            apply_reruns(before.and_then(passed_in_baseline), check);
        }
        let known: Vec<Option<&CheckReport>> = self.baseline.iter().map(Option::as_ref).collect();
        compare(&known, &self.known_failures, &mut completed);
        completed.status == ReportStatus::Pass
    }

    /// Reverts the attempt's changes of protected files; the judged tree changes accordingly.
    async fn revert_protected(
        &self,
        trees: Option<&mut VerificationTrees>,
    ) -> Result<Option<GuardedChanges>, CheckError> {
        let (Some(trees), Some(protection)) = (trees, self.protection.clone()) else {
            return Ok(None);
        };
        let since = self.run_started_at.as_second();
        let name = format!("{}-guarded", self.tag.replace('.', "/"));
        let diagnostics = known_diagnostics(&self.baseline);
        let changes = revert_protected(trees, protection, diagnostics, since, name).await?;
        Ok(Some(changes))
    }
}

/// Whether a check passed in the baseline; `None` if it could not be run.
pub(super) fn passed_in_baseline(before: &CheckReport) -> Option<bool> {
    let judged = before.status == CheckStatus::Pass || before.status.is_failure();
    judged.then_some(before.status == CheckStatus::Pass)
}

/// If no check failed, so that none is run again, makes the workspace equal to the judged tree unless it `is_same`;
/// returns whether it is equal now. The syntax check, which reads only snapshots, may run meanwhile.
async fn restore_judged_tree(
    trees: Option<&VerificationTrees>,
    findings: &[CheckOutcome],
    is_same: bool,
) -> Result<bool, CheckError> {
    let is_red = findings.iter().any(|it| it.status.is_failure());
    let Some(trees) = trees.filter(|_| !is_red) else {
        return Ok(false);
    };
    if !is_same && trees.verification_room.is_none() {
        ensure_workspace_tree(&trees.workspace, &trees.judged).await?;
    }
    Ok(true)
}

/// Reports the outcome of a check whose start was not reported.
fn report_progress(step: &Step, finding: &CheckOutcome, progress: &dyn Progress) {
    progress.on_activity(Activity::CheckEnded {
        label: step.label().to_owned(),
        status: finding.status,
        reason: finding.reason.clone(),
        duration_ms: millis(finding.duration),
    });
}

/// Runs every check in order; adjacent parallel ones run side by side.
pub(super) async fn run_steps(
    place: &VerificationContext,
    steps: &[Step],
    deadline: &CheckDeadline,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Vec<CheckOutcome>, CheckError> {
    let mut findings = Vec::with_capacity(steps.len());
    let place = place.for_successive_checks();
    for group in parallel_groups(steps) {
        let first = findings.len();
        let found = stream::iter(group.iter().enumerate())
            .map(|(offset, step)| {
                let index = first + offset;
                place.run_check(IndexedStep { index, step }, deadline, progress, cancel)
            })
            .buffered(parallelism(group))
            .collect::<Vec<_>>()
            .await;
        for finding in found {
            findings.push(finding?);
        }
    }
    Ok(findings)
}

/// Runs every check in a room that belongs to no run; again with a copy of installed tools if a check has to write them.
/// The room of a run has such copies from its baseline.
async fn run_steps_in_room(
    place: &VerificationContext,
    room: &OpenVerificationRoom,
    steps: &[Step],
    deadline: &CheckDeadline,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> Result<Vec<CheckOutcome>, CheckError> {
    let mut place = place.clone();
    loop {
        let findings = run_steps(&place, steps, deadline, progress, cancel).await?;
        if !room.copy_tools(denied_paths(&findings), progress).await? {
            return Ok(findings);
        }
        room.refresh_copied_tools().await?;
        place.supervisor = room.supervisor();
    }
}

/// The paths that checks could not write although they had to.
pub(super) fn denied_paths(findings: &[CheckOutcome]) -> BTreeSet<PathBuf> {
    let denied = findings.iter().filter_map(|it| it.read_only.clone());
    denied.collect()
}

/// Number of checks of a group that run at once. The machine's limit is read from files, so it is queried only for
/// groups with more than one check.
fn parallelism(group: &[Step]) -> usize {
    match group.len() {
        0 | 1 => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Cuts a plan into groups: adjacent parallel checks, and every other check alone.
fn parallel_groups(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    steps.chunk_by(|one, next| one.parallel && next.parallel)
}

/// Converts outcomes to records of the report. Output was redacted when it was read; text from files of a runner or a
/// plug-in is redacted here.
pub(super) fn check_reports(
    steps: &[Step],
    findings: Vec<CheckOutcome>,
    redactor: &Redactor,
) -> Result<Vec<CheckReport>, CheckError> {
    let digests = failure_digests(&findings);
    let records = steps.iter().zip(findings).zip(digests);
    let redacted = records
        .map(|((step, finding), digest)| {
            redactor.redact_record(check_report(step, finding, digest))
        })
        .collect::<Result<_, _>>();
    redacted.map_err(|error| CheckError::Infrastructure(error.to_string()))
}

fn report_status(
    checks: &[CheckReport],
    summary: ReportSummary,
    out_of_time: bool,
) -> ReportStatus {
    let timed_out = checks
        .iter()
        .any(|check| check.status == CheckStatus::Timeout);
    match summary {
        _ if out_of_time && timed_out => ReportStatus::Timeout,
        ReportSummary { failed: 1.., .. } => ReportStatus::Fail,
        ReportSummary { errors: 1.., .. } => ReportStatus::Error,
        // If no check was run, nothing is verified.
        ReportSummary { passed: 0, .. } => ReportStatus::AutoPass,
        _ => ReportStatus::Pass,
    }
}

/// The digests of all failed checks within one budget; a check's own digest has precedence.
fn failure_digests(findings: &[CheckOutcome]) -> Vec<Option<String>> {
    let failed = |finding: &&CheckOutcome| finding.status.is_failure();
    let analyses: Vec<_> = findings
        .iter()
        .filter(failed)
        .filter_map(|finding| finding.analysis.as_ref())
        .collect();
    let mut rendered = render_shared(&analyses, DigestBudget::default()).into_iter();
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

fn empty_report(verification: &Verification, status: ReportStatus) -> Report {
    Report {
        task_id: verification.task_id,
        attempt_number: verification.attempt_number,
        status,
        summary: ReportSummary::default(),
        checks: Vec::new(),
        gates: Vec::new(),
        guard: None,
        crossed: None,
        changed_tools: None,
        written_files: Vec::new(),
        sandbox: None,
        tree: verification
            .trees
            .as_ref()
            .map(|trees| trees.judged.clone()),
        started_at: verification.started_at,
        duration_ms: 0,
        setup_ms: None,
    }
}
