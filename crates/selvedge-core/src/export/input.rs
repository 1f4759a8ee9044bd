//! Input for reports: a run or a plan with all its attempts, or a single verification.

use std::collections::BTreeMap;
use std::path::Path;

use crate::format::counted;
use crate::model::{
    AttemptEnd, Cost, GateReport, GuardReport, Outcome, PlanResult, Report, ReportStatus,
    ReviewRecord, RunId, SessionOutcome, Step, Timestamp, Usage,
};
use crate::run::{Attempt, Run};

/// The content of a report, independent of its format.
#[derive(Debug, Clone)]
pub struct ReportInput<'a> {
    /// `run 4f2a9c1e`, `plan 4f2a9c1e`, or `verification`.
    pub title: String,
    /// The task.
    pub task: Option<&'a str>,
    /// The agent.
    pub agent: Option<&'a str>,
    /// The result.
    pub verdict: ReportVerdict,
    /// All attempts in order, those of a plan's subtasks one after the other; a single one for a verification.
    pub attempts: Vec<AttemptSummary<'a>>,
    /// Cost and usage, if an agent was involved.
    pub cost: Option<(Cost, Usage)>,
    /// Problems that did not prevent a result, such as missing information.
    pub warnings: Vec<String>,
    /// Deleted files that cannot be restored, one line per run.
    pub unrestorable_files: Vec<String>,
    /// Whether the agent changed no files, if known.
    pub unchanged: Option<bool>,
}

/// One attempt, or the single verification.
#[derive(Debug, Clone, Copy)]
pub struct AttemptSummary<'a> {
    /// The subtask of a plan that it belongs to.
    pub subtask: Option<&'a str>,
    /// 1, 2, 3 … in a run; `None` for a single verification.
    pub number: Option<u32>,
    /// Start time.
    pub began_at: Timestamp,
    /// The outcome of the session, if an agent was involved and its session has ended.
    pub session: Option<&'a SessionOutcome>,
    /// How it ended.
    pub end: Option<AttemptEnd>,
    /// The results of the checks and of the tiers above them.
    pub report: Option<&'a Report>,
    /// The decision of the person who accepted it, if any.
    pub accepted: Option<&'a ReviewRecord>,
    /// The checks of the report.
    pub steps: &'a [Step],
    /// The directory of its run, which may be a copy of the workspace, or a clone on a worker.
    pub workspace: Option<&'a Path>,
    /// Whether its report describes the current content of the workspace: the attempt of its run that was delivered, or
    /// else the last verified one.
    pub is_current: bool,
}

/// The result in four categories, for readers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultCategory {
    /// All requirements are met.
    Verified,
    /// Nothing was checked.
    Unchecked,
    /// A requirement is not met, or a person has to decide.
    NotVerified,
    /// There is no verdict: the agent or the infrastructure failed, or the run was stopped.
    NotJudged,
}

/// The result, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportVerdict {
    /// One of four categories.
    pub category: ResultCategory,
    /// The label of the outcome: "max retries exhausted".
    pub label: String,
    /// The reason, in one line.
    pub reason: String,
}

impl<'a> ReportInput<'a> {
    /// Creates the input for a run, finished or not.
    pub fn of_run(run: &'a Run) -> Self {
        let (outcome, reason) = run.conclusion();
        Self {
            title: format!("run {}", run.run_id.short()),
            task: Some(&run.spec.description),
            agent: Some(&run.spec.agent.name),
            verdict: ReportVerdict {
                category: category_of(outcome),
                label: outcome.as_str().replace('_', " "),
                reason,
            },
            attempts: summarize_attempts(run, None),
            cost: Some((run.cost(), run.usage())),
            warnings: run.warnings(),
            unrestorable_files: run.deletion_warning().into_iter().collect(),
            unchanged: run.is_unchanged(),
        }
    }

    /// Creates the input for a plan, with the runs of its subtasks that have begun.
    pub fn of_plan(
        plan: &'a PlanResult,
        description: &'a str,
        runs: &'a BTreeMap<RunId, Run>,
    ) -> Self {
        let begun = plan.subtasks.iter().filter_map(|subtask| {
            let run = runs.get(&subtask.run_id?)?;
            Some((subtask.id.as_str(), run))
        });
        let begun: Vec<(&str, &Run)> = begun.collect();
        let spent = begun.iter().map(|(_, run)| (run.cost(), run.usage()));
        let nothing = (Cost::ZERO, Usage::default());
        Self {
            title: format!("plan {}", plan.run_id.short()),
            task: Some(description),
            agent: None,
            verdict: ReportVerdict {
                category: category_of(plan.outcome),
                label: plan.outcome.as_str().replace('_', " "),
                reason: plan.reason.clone(),
            },
            attempts: begun
                .iter()
                .flat_map(|(id, run)| summarize_attempts(run, Some(*id)))
                .collect(),
            cost: Some(spent.fold(nothing, |sum, next| (sum.0 + next.0, sum.1 + next.1))),
            warnings: begun.iter().flat_map(|(_, run)| run.warnings()).collect(),
            unrestorable_files: begun
                .iter()
                .filter_map(|(_, run)| run.deletion_warning())
                .collect(),
            unchanged: plan.unchanged,
        }
    }

    /// Creates the input for a single verification.
    pub fn of_verification(report: &'a Report, steps: &'a [Step]) -> Self {
        let attempt = AttemptSummary {
            subtask: None,
            number: None,
            began_at: report.started_at,
            session: None,
            end: None,
            report: Some(report),
            accepted: None,
            steps,
            workspace: None,
            is_current: true,
        };
        Self {
            title: "verification".to_owned(),
            task: None,
            agent: None,
            verdict: ReportVerdict::of_report(report),
            attempts: vec![attempt],
            cost: judging_cost(&report.gates),
            warnings: Vec::new(),
            unrestorable_files: Vec::new(),
            unchanged: None,
        }
    }

    /// The attempts that the workspace currently contains: the current one of each run.
    pub fn current_attempts(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&AttemptSummary<'a>, &'a Report)> {
        let current = self.attempts.iter().filter(|attempt| attempt.is_current);
        current.filter_map(|attempt| Some((attempt, attempt.report?)))
    }
}

/// The attempts of a run.
fn summarize_attempts<'a>(run: &'a Run, subtask: Option<&'a str>) -> Vec<AttemptSummary<'a>> {
    let delivered = run
        .conclusion
        .as_ref()
        .and_then(|decided| decided.final_attempt);
    let last = run
        .verified_attempts()
        .next_back()
        .map(|(attempt, _)| attempt.attempt_number);
    let accepted = run.reviewed.as_ref().filter(|it| it.accepted);
    let one = |attempt: &'a Attempt| AttemptSummary {
        subtask,
        number: Some(attempt.attempt_number),
        began_at: attempt.began_at,
        session: attempt.session.as_ref(),
        end: attempt.end,
        report: attempt.report.as_ref(),
        accepted: accepted.filter(|it| it.target.attempt == Some(attempt.attempt_number)),
        steps: run.spec.steps(),
        workspace: Some(&run.spec.workspace),
        is_current: delivered.or(last) == Some(attempt.attempt_number),
    };
    run.attempts.iter().map(one).collect()
}

impl AttemptSummary<'_> {
    /// Display name.
    pub fn name(&self) -> String {
        let name = match self.number {
            Some(number) => format!("attempt {number}"),
            None => "verification".to_owned(),
        };
        match self.subtask {
            Some(subtask) => format!("{subtask}: {name}"),
            None => name,
        }
    }

    /// Elapsed time of session, checks and judges, in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        let session = self.session.map_or(0, |session| session.duration_ms);
        let checked = self.report.map_or(0, |report| report.duration_ms);
        let judged = self.report.iter().flat_map(|report| &report.gates);
        judged
            .map(|gate| gate.duration_ms)
            .fold(session.saturating_add(checked), u64::saturating_add)
    }
}

impl ReportVerdict {
    /// The verdict of a report without a run that draws conclusions from it.
    pub fn of_report(report: &Report) -> Self {
        let summary = report.summary;
        let of_total = |count: u32, what: &str| {
            let total = counted(summary.total.into(), "check");
            format!("{count} of {total} {what}")
        };
        let violations = report
            .guard
            .iter()
            .flat_map(GuardReport::violations)
            .count();
        let (category, word, reason) = match report.status {
            ReportStatus::Pass if let Some(why) = report.review_reason() => {
                let reason = format!("the checks passed, but {why}");
                (ResultCategory::NotVerified, "needs review", reason)
            }
            ReportStatus::Fail if violations > 0 => {
                let reason = of_total(summary.failed, "failed");
                (ResultCategory::NotVerified, "tampered", reason)
            }
            ReportStatus::Pass | ReportStatus::Fail if let Some(gate) = report.blocking_gate() => {
                gate_verdict(gate)
            }
            ReportStatus::Pass => {
                let passed = counted(summary.passed.into(), "check");
                (
                    ResultCategory::Verified,
                    "verified",
                    format!("{passed} passed"),
                )
            }
            ReportStatus::Skip | ReportStatus::AutoPass => {
                let reason = "there was nothing to check".to_owned();
                (ResultCategory::Unchecked, "unchecked", reason)
            }
            ReportStatus::Fail | ReportStatus::Timeout => {
                let reason = of_total(summary.failed, "failed");
                (ResultCategory::NotVerified, "not verified", reason)
            }
            ReportStatus::Error => {
                let reason = of_total(summary.errors, "could not be run");
                (ResultCategory::NotJudged, "infrastructure", reason)
            }
        };
        Self {
            category,
            label: word.to_owned(),
            reason,
        }
    }
}

fn category_of(outcome: Outcome) -> ResultCategory {
    match outcome {
        Outcome::Verified => ResultCategory::Verified,
        Outcome::Unchecked => ResultCategory::Unchecked,
        Outcome::MaxRetriesExhausted
        | Outcome::Stuck
        | Outcome::Tampered
        | Outcome::Unchanged
        | Outcome::NeedsReview => ResultCategory::NotVerified,
        Outcome::Failed
        | Outcome::CannotSatisfy
        | Outcome::Timeout
        | Outcome::TurnLimit
        | Outcome::Budget
        | Outcome::InfraFailed
        | Outcome::Interrupted
        | Outcome::Cancelled => ResultCategory::NotJudged,
    }
}

/// The cost of judging; `None` without judges.
fn judging_cost(gates: &[GateReport]) -> Option<(Cost, Usage)> {
    let spent = gates.iter().map(|gate| (gate.cost(), gate.usage()));
    spent.reduce(|sum, next| (sum.0 + next.0, sum.1 + next.1))
}

/// The verdict of a tier above the checks that did not pass.
fn gate_verdict(gate: &GateReport) -> (ResultCategory, &'static str, String) {
    let tier = gate.tier;
    match (gate.passed, &gate.error) {
        (None, Some(error)) => {
            let reason = format!("tier {tier} gave no verdict: {error}");
            (ResultCategory::NotJudged, "infrastructure", reason)
        }
        (None, None) => {
            let reason =
                format!("the checks passed, but the judges of tier {tier} could not decide");
            (ResultCategory::NotVerified, "needs review", reason)
        }
        (Some(_), _) => {
            let reason = format!("the checks passed, but tier {tier} rejects the work");
            (ResultCategory::NotVerified, "not verified", reason)
        }
    }
}
