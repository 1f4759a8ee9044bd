//! The statistics of one run: small, and derived only from its journal.

use std::collections::BTreeMap;

use selvedge_core::model::{
    Cost, CrossedResult, FindingKind, FindingSeverity, Outcome, RunId, Timestamp,
};
use selvedge_core::run::Run;
use serde::{Deserialize, Serialize};

/// How a run ended, as far as retries matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCategory {
    /// Verified, and no earlier attempt failed.
    FirstAttempt,
    /// Verified after a failed verification.
    #[serde(rename = "rescued")]
    Recovered,
    /// Verified or rejected by a person alone, or awaiting review.
    ByAPerson,
    /// Verification failed to the end.
    #[serde(rename = "not_rescued")]
    NotRecovered,
    /// Without checks.
    Unchecked,
    /// The agent or the infrastructure failed, or the run was cancelled: there is no result to judge.
    NotJudged,
    /// Not finished.
    Open,
}

/// One check over all attempts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckStats {
    /// Number of executions.
    pub runs: u32,
    /// Number of failures.
    pub failures: u32,
    /// Number of times that it both passed and failed on the same files.
    pub flaky: u32,
    /// Total duration in milliseconds.
    pub total_ms: u64,
    /// Longest duration in milliseconds.
    pub slowest_ms: u64,
    /// Whether it failed in one attempt and passed in a later one.
    pub mended: bool,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStats {
    /// Whether a person accepted the work. The first field: stores find such runs by the beginning of the JSON.
    pub accepted: bool,
    /// The run's id.
    pub run_id: RunId,
    /// When the run was created.
    pub created_at: Timestamp,
    /// The first agent.
    pub agent: String,
    /// The last model.
    pub model: Option<String>,
    /// The repository; the directory of a run without one.
    pub workspace: String,
    /// The worker, if there is one; not a part of the run.
    #[serde(skip)]
    pub worker: Option<String>,
    /// How the run ended.
    pub ending: RunCategory,
    /// The outcome, once the run has ended.
    pub outcome: Option<Outcome>,
    /// Number of attempts that were verified.
    pub attempts: u32,
    /// Cost up to the first report.
    pub first_cost: Cost,
    /// Cost after the first report.
    pub retry_cost: Cost,
    /// Input tokens.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Checks by label.
    pub checks: BTreeMap<String, CheckStats>,
    /// Findings of the guard, with their severity.
    pub guard: Vec<(FindingKind, FindingSeverity)>,
    /// Elapsed time from the creation of the run to its end, in milliseconds; `None` for an unfinished run.
    pub verdict_ms: Option<u64>,
    /// Whether an attempt passed its own tests but not the original ones.
    pub caught_by_original_tests: bool,
    /// The reason of the outcome or of the pending review, in one line; empty for another unfinished run.
    pub reason: String,
    /// Text for the search, in lower case: description, reasons, findings, names and messages of failed tests, final
    /// messages, and outputs. The last field: stores search the JSON from its name on.
    pub search_text: String,
}

/// Maximum length of the text for the search, in bytes.
const MAX_SEARCH_BYTES: usize = 3 * 1024;

/// The name of a kind of finding, as in JSON.
pub(crate) fn kind_name(kind: FindingKind) -> String {
    let name = serde_json::to_value(kind).unwrap_or_default();
    name.as_str().unwrap_or("unknown").to_owned()
}

impl RunStats {
    /// A run that was verified at the first attempt.
    #[cfg(test)]
    pub(crate) fn sample() -> Self {
        Self {
            accepted: false,
            run_id: "0190a1b2-0000-7000-8000-000000000001".parse().unwrap(),
            created_at: Timestamp::UNIX_EPOCH,
            agent: "opus".to_owned(),
            model: None,
            workspace: "/work".to_owned(),
            worker: None,
            ending: RunCategory::FirstAttempt,
            outcome: Some(Outcome::Verified),
            attempts: 1,
            first_cost: Cost::ZERO,
            retry_cost: Cost::ZERO,
            tokens_in: 0,
            tokens_out: 0,
            checks: BTreeMap::new(),
            guard: Vec::new(),
            verdict_ms: Some(1_000),
            caught_by_original_tests: false,
            reason: String::new(),
            search_text: String::new(),
        }
    }

    /// Total cost of the run.
    pub fn cost(&self) -> Cost {
        self.first_cost + self.retry_cost
    }

    /// Statistics of a run in its current state.
    pub fn from_run(run: &Run) -> Self {
        let usage = run.usage();
        let first_report = run
            .verified_attempts()
            .next()
            .map(|(attempt, _)| attempt.attempt_number);
        let (mut first_cost, mut retry_cost) = (Cost::ZERO, Cost::ZERO);
        for attempt in &run.attempts {
            if first_report.is_none_or(|first| attempt.attempt_number <= first) {
                first_cost = first_cost + attempt.cost();
            } else {
                retry_cost = retry_cost + attempt.cost();
            }
        }
        // An open session has not reported its cost.
        if run.is_session_open() && first_report.is_some() {
            retry_cost = retry_cost + Cost::UNKNOWN;
        } else if run.is_session_open() {
            first_cost = first_cost + Cost::UNKNOWN;
        }
        if run.lost_judgements > 0 {
            retry_cost = retry_cost + Cost::UNKNOWN;
        }
        let mut models = run.sessions().rev();
        Self {
            accepted: run.finished && run.reviewed.as_ref().is_some_and(|it| it.accepted),
            run_id: run.run_id,
            created_at: run.created_at,
            agent: run.spec.agent.name.clone(),
            model: models.find_map(|session| session.model.clone()),
            workspace: run
                .spec
                .repository
                .clone()
                .unwrap_or_else(|| run.spec.workspace.to_string_lossy().into_owned()),
            worker: None,
            ending: categorize_run(run),
            outcome: run.finished.then(|| run.outcome()),
            attempts: run.used_attempts(),
            first_cost,
            retry_cost,
            tokens_in: usage.tokens_in(),
            tokens_out: usage.tokens_out(),
            checks: check_stats(run),
            guard: guard_findings(run),
            verdict_ms: run.finished.then(|| {
                let elapsed = run.updated_at.duration_since(run.created_at);
                u64::try_from(elapsed.as_millis()).unwrap_or(0)
            }),
            caught_by_original_tests: run.verified_attempts().any(|(_, report)| {
                let crossed = report.crossed.as_deref();
                let failed = crossed.is_some_and(|it| it.result != CrossedResult::Passed);
                failed && report.checks.iter().all(|check| !check.status.is_failure())
            }),
            reason: if run.finished || run.review.is_some() {
                run.conclusion().1
            } else {
                String::new()
            },
            search_text: search_text(run),
        }
    }
}

fn categorize_run(run: &Run) -> RunCategory {
    if run.review.is_some() {
        return RunCategory::ByAPerson;
    }
    if !run.finished {
        return RunCategory::Open;
    }
    match run.outcome() {
        Outcome::Verified => {
            let passed = |status| {
                use selvedge_core::model::ReportStatus as S;
                matches!(status, S::Pass | S::Skip | S::AutoPass)
            };
            let mut reports = run
                .verified_attempts()
                .map(|(_, report)| passed(report.status));
            let first = reports.next().unwrap_or(false);
            let last = reports.next_back();
            match (first, last) {
                (true, None) => RunCategory::FirstAttempt,
                (false, Some(true)) => RunCategory::Recovered,
                (true, Some(_)) | (false, _) => RunCategory::ByAPerson,
            }
        }
        Outcome::Unchecked => RunCategory::Unchecked,
        Outcome::NeedsReview => RunCategory::ByAPerson,
        Outcome::MaxRetriesExhausted | Outcome::Stuck | Outcome::Tampered | Outcome::Unchanged => {
            RunCategory::NotRecovered
        }
        Outcome::Budget if run.used_attempts() > 0 => RunCategory::NotRecovered,
        _ => RunCategory::NotJudged,
    }
}

fn check_stats(run: &Run) -> BTreeMap<String, CheckStats> {
    let mut all: BTreeMap<String, CheckStats> = BTreeMap::new();
    let mut failing: BTreeMap<String, bool> = BTreeMap::new();
    for check in run
        .verified_attempts()
        .flat_map(|(_, report)| &report.checks)
    {
        let label = check.label().to_owned();
        let failed = check.status.is_failure();
        let before = failing.insert(label.clone(), failed);
        let totals = all.entry(label).or_default();
        totals.runs += 1;
        totals.failures += u32::from(failed);
        totals.flaky += u32::from(check.marks.flaky);
        totals.total_ms = totals.total_ms.saturating_add(check.duration_ms);
        totals.slowest_ms = totals.slowest_ms.max(check.duration_ms);
        totals.mended |= before == Some(true) && !failed;
    }
    all
}

/// Texts of the run, the most informative first, up to the size limit.
fn search_text(run: &Run) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let (_, reason) = run.conclusion();
    texts.push(&run.spec.description);
    texts.push(&reason);
    let reports = || run.attempts.iter().filter_map(|it| it.report.as_ref());
    for report in reports() {
        for finding in report.guard.iter().flat_map(|guard| &guard.findings) {
            texts.extend([finding.path.as_str(), finding.what.as_str()]);
        }
        for failure in report.checks.iter().flat_map(|check| &check.failures) {
            texts.extend(failure.id.as_deref());
            texts.extend(failure.file.as_deref());
            texts.push(&failure.summary);
        }
        for gate in &report.gates {
            texts.extend(gate.feedback.as_deref());
        }
    }
    texts.extend(run.attempts.iter().filter_map(|attempt| {
        let review = attempt.reviewed.as_ref()?;
        Some(review.reason.as_str())
    }));
    texts.extend(run.sessions().map(|session| session.text.as_str()));
    // Outputs last, because they are long.
    texts.extend(
        reports()
            .flat_map(|report| &report.checks)
            .map(|check| check.output.as_str()),
    );
    let mut all = String::new();
    let mut known = std::collections::BTreeSet::new();
    for text in texts {
        if all.len() >= MAX_SEARCH_BYTES {
            break;
        }
        if known.insert(text) {
            let left = MAX_SEARCH_BYTES - all.len();
            let end = text.floor_char_boundary(left);
            all.push_str(text.get(..end).unwrap_or_default());
            all.push('\n');
        }
    }
    all.to_lowercase()
}

fn guard_findings(run: &Run) -> Vec<(FindingKind, FindingSeverity)> {
    let reports = run.attempts.iter().filter_map(|it| it.report.as_ref());
    let findings = reports.filter_map(|report| report.guard.as_ref());
    let findings = findings.flat_map(|guard| &guard.findings);
    findings.map(|it| (it.kind, it.strength)).collect()
}
