//! Derives the verdict of a run from its last report: the rules of the design's section 4, in their order.

use crate::describe;
use crate::format::{counted, first_names};
use crate::model::{
    AgentKind, CheckReport, CheckStatus, CrossedReport, CrossedResult, GateReport, Outcome, Report,
    ReportStatus,
};
use crate::run::{Attempt, Run, budget_exceeded_reason, exhausted_cap};

/// The verdict that follows from the last report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All requested gates passed.
    Verified(String),
    /// There was no check that could have failed.
    Unchecked(String),
    /// The checks pass, and the agent changed nothing.
    Unchanged(String),
    /// A person has to decide.
    NeedsReview(String),
    /// The checks pass, and a higher tier must be asked.
    Judge {
        /// The attempt.
        attempt_number: u32,
        /// The tier.
        tier: u8,
    },
    /// Checks could not be run, or judges could not be asked.
    Infrastructure(String),
    /// Checks fail, and another attempt would not help or is not allowed.
    Stop(Outcome, String),
    /// Checks fail, and another attempt is allowed.
    Retry,
}

/// Evaluates the last report of a run. Work that passes with its own tests, but not with the original ones, needs
/// review if no attempt is left.
pub(super) fn judge_last_report(run: &Run) -> Verdict {
    let Some((attempt, report)) = run.verified_attempts().next_back() else {
        return Verdict::Infrastructure("there is no report".to_owned());
    };
    match (judge_report(run, attempt, report), report.still_failing()) {
        (Verdict::Stop(..), Some(crossed)) => {
            Verdict::NeedsReview(format!("the checks pass, but {}", crossed.reason))
        }
        (verdict, _) => verdict,
    }
}

fn judge_report(run: &Run, attempt: &Attempt, report: &Report) -> Verdict {
    match report.status {
        ReportStatus::Skip => {
            return Verdict::Unchecked("verification was switched off".to_owned());
        }
        ReportStatus::AutoPass => {
            return Verdict::Unchecked("there was nothing to check".to_owned());
        }
        ReportStatus::Error => return Verdict::Infrastructure(why_not_run(report)),
        ReportStatus::Pass => {
            if run.has_no_work() {
                return judge_unchanged(run);
            }
            let may_confirm = report.suspicion().is_none() && may_be_confirmed(run, report);
            if let Some(reason) = report.review_reason().filter(|_| !may_confirm) {
                return Verdict::NeedsReview(format!("the checks pass, but {reason}"));
            }
            if let Some(gate) = report.gates.iter().find(|gate| gate.passed.is_none()) {
                return judge_undecided(run, gate);
            }
            return match (next_tier(run, report), budget_exceeded_reason(run)) {
                (None, _) => Verdict::Verified(describe_pass(report)),
                (Some(tier), Some(reason)) => Verdict::NeedsReview(format!(
                    "the checks pass, but tier {tier} was skipped: {reason}"
                )),
                (Some(tier), None) => Verdict::Judge {
                    attempt_number: attempt.attempt_number,
                    tier,
                },
            };
        }
        ReportStatus::Fail | ReportStatus::Timeout => {}
    }
    if run.spec.is_deterministic() {
        let is_external = run.spec.agent.kind == AgentKind::External;
        let reason = if is_external {
            "the result of another program is verified once"
        } else {
            "a shell task is not retried: the same command would fail in the same way"
        };
        return Verdict::Stop(Outcome::MaxRetriesExhausted, reason.to_owned());
    }
    let (used, max) = (run.used_attempts(), run.spec.max_attempts());
    if used >= max {
        let reason = match report.rejecting_gate() {
            Some(gate) => format!(
                "the checks pass, but tier {} rejects the work after {used} of {max} attempts",
                gate.tier
            ),
            None => format!(
                "checks still fail after {used} of {max} attempts{}",
                describe_regressions(report)
            ),
        };
        return Verdict::Stop(Outcome::MaxRetriesExhausted, reason);
    }
    if let Some(reason) = budget_exceeded_reason(run) {
        return Verdict::Stop(Outcome::Budget, reason);
    }
    if run.is_stuck() {
        let reason =
            "the same failures on the same files, twice: another attempt would change nothing";
        return Verdict::Stop(Outcome::Stuck, reason.to_owned());
    }
    Verdict::Retry
}

/// Whether judges are still to be asked, which may confirm that the task requires the changed tests.
fn may_be_confirmed(run: &Run, report: &Report) -> bool {
    next_tier(run, report).is_some() && report.blocking_gate().is_none()
}

/// Passing checks without any change do not show that the task is done. The agent is informed once.
fn judge_unchanged(run: &Run) -> Verdict {
    let (used, max) = (run.used_attempts(), run.spec.max_attempts());
    if used < max && budget_exceeded_reason(run).is_none() && !was_warned_unchanged(run) {
        return Verdict::Retry;
    }
    let attempts = counted(u64::from(used), "attempt");
    Verdict::Unchanged(format!(
        "the checks pass, but after {attempts} {}",
        run.describe_unchanged()
    ))
}

/// Whether an attempt before the last one passed without any change.
fn was_warned_unchanged(run: &Run) -> bool {
    let is_start = |attempt: &Attempt| attempt.tree.is_some() && attempt.tree == run.start_tree;
    let mut earlier = run.verified_attempts().rev().skip(1);
    earlier.any(|(attempt, report)| report.status == ReportStatus::Pass && is_start(attempt))
}

/// The first tier of the plan that has not been asked.
fn next_tier(run: &Run, report: &Report) -> Option<u8> {
    let was_judged = |tier: &u8| report.gates.iter().any(|gate| gate.tier == *tier);
    let judging = run.spec.judging.as_ref()?;
    judging.tiers.iter().copied().find(|tier| !was_judged(tier))
}

/// The verdict after a tier without one. If judges were stopped because a limit of the run was exhausted, that is the
/// reason.
fn judge_undecided(run: &Run, gate: &GateReport) -> Verdict {
    let tier = gate.tier;
    let is_incomplete = gate.judgements.iter().any(|it| it.passed.is_none());
    if let Some(reason) = exhausted_cap(run).filter(|_| is_incomplete) {
        let reason = format!("the checks pass, but tier {tier} gave no verdict: {reason}");
        return Verdict::Stop(Outcome::Budget, reason);
    }
    match (&gate.error, &gate.feedback) {
        (Some(error), _) => Verdict::Infrastructure(format!(
            "the checks pass, but tier {tier} gave no verdict: {error}"
        )),
        (None, Some(why)) => Verdict::NeedsReview(format!("tier {tier}: {why}")),
        (None, None) => Verdict::NeedsReview(format!("tier {tier} could not decide")),
    }
}

/// Describes what passed, with any reservations.
fn describe_pass(report: &Report) -> String {
    let mut text = match report.summary.passed {
        1 => "1 check passed".to_owned(),
        n => format!("{n} checks passed"),
    };
    let marked = |mark: fn(&CheckReport) -> bool| report.checks.iter().filter(move |it| mark(it));
    let known: usize = report.checks.iter().map(|it| it.known_tests.len()).sum();
    let flaky = marked(|it| it.marks.flaky).count();
    if let Some(fixed) = describe::fixed_tests(&report.checks) {
        text += &format!(", {fixed}");
    }
    if known > 0 {
        text += &format!(", {} excused", counted(known as u64, "known failure"));
    }
    let put_back = report
        .guard
        .as_ref()
        .map_or(0, |guard| guard.violations().count());
    if put_back > 0 {
        let violations = counted(put_back as u64, "violation");
        text += &format!(", {violations} reverted first");
    }
    for gate in &report.gates {
        let sure = gate.confidence.unwrap_or_default();
        text += &format!(", tier {} agrees ({sure:.2})", gate.tier);
    }
    let changes_tests = |crossed: &CrossedReport| crossed.result != CrossedResult::Passed;
    if report.crossed.as_deref().is_some_and(changes_tests) {
        text += " and confirms that the task asks for the changed tests";
    }
    if flaky > 0 {
        text += &format!(", {flaky} of them flaky");
    }
    text
}

/// The tests that passed before and fail now, as a suffix of a reason.
fn describe_regressions(report: &Report) -> String {
    let checks = report.checks.iter();
    let tests: Vec<String> = checks.flat_map(|it| it.regressed_tests.clone()).collect();
    match tests.as_slice() {
        [] => String::new(),
        [test] => format!("; a test that passed before fails now: {test}"),
        tests => format!(
            "; tests that passed before fail now: {}",
            first_names(tests)
        ),
    }
}

/// Why a verification could not be carried out, in one line.
pub(super) fn why_not_run(report: &Report) -> String {
    find_unrunnable_check(&report.checks)
        .unwrap_or_else(|| "the checks could not be run".to_owned())
}

/// The first check that could not be run, and why, in one line.
pub(super) fn find_unrunnable_check(checks: &[CheckReport]) -> Option<String> {
    let mut broken = checks.iter().filter(|it| it.status == CheckStatus::Error);
    let check = broken.next()?;
    let why = check.reason.as_deref().unwrap_or("could not be run");
    let more = match broken.count() {
        0 => String::new(),
        1 => " (and 1 other check could not be run)".to_owned(),
        more => format!(" (and {more} other checks could not be run)"),
    };
    Some(format!("check `{}`: {why}{more}", check.label()))
}

/// The best attempt: most passing checks, then fewest failures; the latest of equal ones.
pub(super) fn best_attempt(run: &Run) -> Option<&Attempt> {
    let worth = |report: &Report| {
        let failures: u64 = report.checks.iter().map(count_failures).sum();
        (report.summary.passed, u64::MAX - failures)
    };
    run.verified_attempts()
        .max_by_key(|(_, report)| worth(report))
        .map(|(attempt, _)| attempt)
}

fn count_failures(check: &CheckReport) -> u64 {
    let by_tests = check.tests.as_ref().map(|tests| tests.failed);
    by_tests
        .unwrap_or_else(|| u64::try_from(check.failures.len()).unwrap_or(u64::MAX))
        .min(u64::MAX >> 16)
}
