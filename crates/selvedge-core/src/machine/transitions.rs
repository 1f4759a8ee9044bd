//! The rules of the loop, one function for each kind of input.

use super::baseline_comparison;
use super::event_batch::EventBatch;
use super::input::IllegalInputError;
use super::verdict::{self, Verdict};
use crate::model::{
    AttemptEnd, Baseline, BetweenAttempts, EffectId, EffectKind, Event, GateReport, OnExhausted,
    OnUsageLimit, Outcome, Report, ReportStatus, ReviewRecord, RunSpec, SessionOutcome,
    SessionStatus, SnapshotReason, TreeId, UsageLimit,
};
use crate::prompt;
use crate::run::{Phase, Run, RunControl};

/// Maximum number of verifications of one attempt that could not be carried out before the run ends.
pub(super) const MAX_VERIFICATION_RERUNS: u32 = 2;
/// Maximum number of attempts interrupted by a crash before the run ends.
pub(super) const MAX_CRASHES: u32 = 2;

/// The first attempt of a run without snapshots, which begins in the run's first transaction.
pub(super) fn first_attempt(spec: &RunSpec) -> Vec<Event> {
    let prompt = prompt::first_prompt(spec);
    vec![
        Event::AttemptBegan {
            attempt_number: 1,
            prompt,
            from_tree: None,
            retry: 0,
        },
        Event::EffectRequested {
            effect: EffectKind::Execute { attempt_number: 1 },
        },
    ]
}

/// Assigns the next attempt number and requests the session.
pub(super) fn begin_attempt(draft: &mut EventBatch) {
    let run = draft.run();
    let attempt_number = run
        .attempts
        .last()
        .map_or(1, |attempt| attempt.attempt_number + 1);
    let began = Event::AttemptBegan {
        attempt_number,
        prompt: prompt::next_prompt(run),
        from_tree: run.current_tree.clone(),
        retry: run.used_attempts(),
    };
    draft.push(began);
    draft.request(EffectKind::Execute { attempt_number });
}

/// Begins the first attempt, unless a check could not be run: then no verdict would be possible, and no agent is paid
/// for the work.
pub(super) fn after_baseline(effect: EffectId, baseline: Box<Baseline>, draft: &mut EventBatch) {
    let broken = verdict::find_unrunnable_check(&baseline.checks);
    draft.push(Event::BaselineTaken { effect, baseline });
    match broken {
        None => begin_attempt(draft),
        Some(broken) => {
            let reason = format!(
                "{broken}; the agent was not started. Fix the check, or how it runs in this directory \
                 (`selvedge verify` runs it); `--baseline off` starts the agent without running the checks first"
            );
            decide_outcome(Outcome::InfraFailed, reason, None, draft);
        }
    }
}

/// Begins another attempt, from the tree that the plan selects.
fn start_retry(draft: &mut EventBatch) {
    let run = draft.run();
    let rollback = run.spec.between_attempts == BetweenAttempts::Rollback;
    match run
        .start_tree
        .clone()
        .filter(|tree| rollback && run.current_tree.as_ref() != Some(tree))
    {
        Some(tree) => draft.request(EffectKind::Restore { tree }),
        None => begin_attempt(draft),
    }
}

/// Restarts an interrupted attempt under the next number, from the tree from which it began. The current content of the
/// workspace is backed up first.
fn restart_attempt(draft: &mut EventBatch) {
    if stopped_at_usage_limit(draft.run()) {
        continue_after_usage_limit(draft);
    } else if interrupted_base_tree(draft).is_some() {
        draft.request(EffectKind::Snapshot {
            moment: SnapshotReason::Backup,
        });
    } else {
        begin_attempt(draft);
    }
}

/// Begins another attempt after a usage limit was reset, on the files as the limited session left them. A person may
/// have changed them in the meantime, so that a snapshot is taken first.
pub(super) fn continue_after_usage_limit(draft: &mut EventBatch) {
    if draft.run().spec.snapshots {
        draft.request(EffectKind::Snapshot {
            moment: SnapshotReason::Backup,
        });
    } else {
        begin_attempt(draft);
    }
}

fn stopped_at_usage_limit(run: &Run) -> bool {
    let last = run.attempts.last();
    last.is_some_and(|it| it.end == Some(AttemptEnd::UsageLimit))
}

/// Ends an attempt whose agent reached the usage limit of its subscription: the run waits until the limit is reset, or
/// is suspended. No retry is used.
fn pause_for_usage_limit(limit: UsageLimit, draft: &mut EventBatch) {
    close_attempt(AttemptEnd::UsageLimit, draft);
    draft.request(EffectKind::Wait {
        until: limit.resets_at,
    });
    // A requested cancellation has precedence.
    if draft.run().control == RunControl::Running
        && let Some(reason) = why_not_waiting(draft.run(), limit)
    {
        draft.push(Event::SuspendRequested { reason });
    }
}

fn why_not_waiting(run: &Run, limit: UsageLimit) -> Option<String> {
    let policy = run.spec.usage_limit;
    let until = limit.resets_at.strftime("%F %R UTC");
    let why = if policy.action == OnUsageLimit::Stop {
        "`limits.usage_limit` is \"stop\""
    } else if limit.wait_ms() > policy.max_wait_ms {
        "longer than `limits.usage_limit_max_wait`"
    } else if run.has_too_many_usage_limits() {
        "it was reached too often"
    } else {
        return None;
    };
    Some(format!(
        "the usage limit of the agent's subscription is reached until {until}; {why}"
    ))
}

/// The tree that a pending effect needs, if any.
fn pending_tree(draft: &EventBatch) -> Option<TreeId> {
    let run = draft.run();
    run.pending.iter().find_map(|pending| match pending.kind {
        EffectKind::Baseline => run.start_tree.clone(),
        EffectKind::Verify { attempt_number } => run.attempt(attempt_number)?.tree.clone(),
        _ => None,
    })
}

fn interrupted_base_tree(draft: &EventBatch) -> Option<TreeId> {
    let last = draft.run().attempts.last();
    last.filter(|it| it.end == Some(AttemptEnd::Interrupted))
        .and_then(|it| it.from_tree.clone())
}

pub(super) fn after_snapshot(moment: SnapshotReason, draft: &mut EventBatch) {
    match moment {
        SnapshotReason::Start if draft.run().spec.baseline => draft.request(EffectKind::Baseline),
        SnapshotReason::Start => begin_attempt(draft),
        SnapshotReason::After => request_verification(draft),
        SnapshotReason::Backup => {
            match pending_tree(draft).or_else(|| interrupted_base_tree(draft)) {
                Some(tree) if draft.run().current_tree.as_ref() != Some(&tree) => {
                    draft.request(EffectKind::Restore { tree });
                }
                _ => resume_pending(draft),
            }
        }
    }
}

/// Continues once the workspace is in the right state: with the pending effects, or an attempt.
pub(super) fn resume_pending(draft: &mut EventBatch) {
    if draft.run().pending.is_empty() {
        begin_attempt(draft);
    }
}

fn request_verification(draft: &mut EventBatch) {
    if let Some(attempt_number) = draft
        .run()
        .open_attempt()
        .map(|attempt| attempt.attempt_number)
    {
        draft.request(EffectKind::Verify { attempt_number });
    }
}

pub(super) fn after_session(
    effect: EffectId,
    attempt_number: u32,
    outcome: Box<SessionOutcome>,
    draft: &mut EventBatch,
) {
    let status = outcome.status;
    let usage_limit = outcome.usage_limit;
    let reason = outcome
        .error
        .clone()
        .unwrap_or_else(|| "the agent gave no reason".to_owned());
    draft.push(Event::SessionEnded {
        effect,
        attempt_number,
        outcome,
    });
    let outcome = match status {
        SessionStatus::Success if draft.run().spec.snapshots => {
            return draft.request(EffectKind::Snapshot {
                moment: SnapshotReason::After,
            });
        }
        SessionStatus::Success => return request_verification(draft),
        SessionStatus::Cancelled => match draft.run().control {
            RunControl::Suspending | RunControl::Suspended => {
                return close_attempt(AttemptEnd::Interrupted, draft);
            }
            RunControl::Cancelling => return close_attempt(AttemptEnd::Cancelled, draft),
            RunControl::Running => Outcome::InfraFailed,
        },
        SessionStatus::Failed => match usage_limit {
            Some(limit) => return pause_for_usage_limit(limit, draft),
            None => Outcome::Failed,
        },
        SessionStatus::Timeout => Outcome::Timeout,
        SessionStatus::TurnLimit => Outcome::TurnLimit,
        SessionStatus::Budget => Outcome::Budget,
        SessionStatus::CannotSatisfy => Outcome::CannotSatisfy,
        SessionStatus::Infra => Outcome::InfraFailed,
    };
    close_attempt(AttemptEnd::SessionFailed, draft);
    decide_outcome(outcome, reason, None, draft);
}

pub(super) fn after_report(effect: EffectId, mut report: Box<Report>, draft: &mut EventBatch) {
    baseline_comparison::complete_report(draft.run(), &mut report);
    if report.status == ReportStatus::Error
        && draft.run().verification_retries < MAX_VERIFICATION_RERUNS
    {
        let attempt_number = report.attempt_number;
        let reason = verdict::why_not_run(&report);
        draft.push(Event::VerificationRepeated {
            effect,
            attempt_number,
            reason,
        });
        return draft.request(EffectKind::Verify { attempt_number });
    }
    draft.push(Event::Reported { effect, report });
    close_attempt(AttemptEnd::Report, draft);
    apply_verdict(draft);
}

/// Continues after a tier above the checks; the report now includes its result.
pub(super) fn after_judgement(
    effect: EffectId,
    attempt_number: u32,
    gate: Box<GateReport>,
    draft: &mut EventBatch,
) {
    draft.push(Event::GateJudged {
        effect,
        attempt_number,
        gate,
    });
    apply_verdict(draft);
}

fn apply_verdict(draft: &mut EventBatch) {
    match verdict::judge_last_report(draft.run()) {
        Verdict::Judge {
            attempt_number,
            tier,
        } => {
            draft.request(EffectKind::Judge {
                attempt_number,
                tier,
            });
        }
        Verdict::Verified(reason) => decide_outcome(Outcome::Verified, reason, None, draft),
        Verdict::Unchecked(reason) => decide_outcome(Outcome::Unchecked, reason, None, draft),
        Verdict::Unchanged(reason) => decide_outcome(Outcome::Unchanged, reason, None, draft),
        Verdict::NeedsReview(reason) => draft.push(Event::ReviewRequested { reason }),
        Verdict::Infrastructure(reason) => {
            decide_outcome(Outcome::InfraFailed, reason, None, draft);
        }
        Verdict::Stop(outcome, reason) => finish_failed(outcome, reason, draft),
        Verdict::Retry => start_retry(draft),
    }
}

pub(super) fn after_failure(effect: EffectId, error: String, draft: &mut EventBatch) {
    let before = draft
        .run()
        .conclusion
        .as_ref()
        .map(|decided| decided.outcome.as_str());
    let reason = match before {
        None => error.clone(),
        Some(before) => format!("{error} (the outcome would have been {before})"),
    };
    draft.push(Event::EffectFailed { effect, error });
    if draft.run().open_attempt().is_some() {
        close_attempt(AttemptEnd::Interrupted, draft);
    }
    decide_outcome(Outcome::InfraFailed, reason, None, draft);
}

pub(super) fn after_resume(draft: &mut EventBatch) {
    if draft.run().control == RunControl::Cancelling {
        return finish_cancelled(draft);
    }
    if draft.run().started_irreversible().is_some() {
        close_attempt(AttemptEnd::Interrupted, draft);
        if draft.run().crashes > MAX_CRASHES {
            let reason = format!(
                "interrupted {} times in the middle of an attempt",
                draft.run().crashes
            );
            return decide_outcome(Outcome::InfraFailed, reason, None, draft);
        }
    }
    // A person may have continued to work: their changes are backed up, and the original tree is judged.
    let judged = matches!(draft.run().phase(), Phase::Baseline | Phase::Verifying(_));
    if judged && pending_tree(draft).is_some() {
        draft.request(EffectKind::Snapshot {
            moment: SnapshotReason::Backup,
        });
    }
    // All other pending effects may be repeated.
    if draft.run().pending.is_empty() {
        let last = draft.run().attempts.last();
        let is_reported = last.is_some_and(|it| it.end == Some(AttemptEnd::Report));
        // Interrupted directly after a report, as a hub's copy of a journal can be: applies what follows from it.
        if is_reported && draft.run().conclusion.is_none() {
            apply_verdict(draft);
        } else {
            restart_attempt(draft);
        }
    }
}

pub(super) fn after_review(
    review: ReviewRecord,
    retry_asked: bool,
    draft: &mut EventBatch,
) -> Result<(), IllegalInputError> {
    let (used, max) = (draft.run().used_attempts(), draft.run().spec.max_attempts());
    let again = retry_asked && !review.accepted;
    if again && used >= max {
        return Err(IllegalInputError::NoAttemptLeft { used, max });
    }
    let outcome = if review.accepted {
        Outcome::Verified
    } else {
        Outcome::MaxRetriesExhausted
    };
    let summary = review.summary();
    draft.push(Event::Reviewed {
        accepted: review.accepted,
        by: review.by,
        stated_by: review.stated_by,
        reason: review.reason,
    });
    if again {
        start_retry(draft);
    } else {
        decide_outcome(outcome, summary, None, draft);
    }
    Ok(())
}

/// Ends a cancelled run once nothing is running anymore.
pub(super) fn finish_cancelled(draft: &mut EventBatch) {
    if draft.run().open_attempt().is_some() {
        close_attempt(AttemptEnd::Cancelled, draft);
    }
    decide_outcome(
        Outcome::Cancelled,
        "cancelled on request".to_owned(),
        None,
        draft,
    );
}

fn close_attempt(closing: AttemptEnd, draft: &mut EventBatch) {
    if let Some(attempt_number) = draft
        .run()
        .open_attempt()
        .map(|attempt| attempt.attempt_number)
    {
        draft.push(Event::AttemptClosed {
            attempt_number,
            closing,
        });
    }
}

/// Ends a run whose work did not pass: the plan selects the tree that remains.
fn finish_failed(outcome: Outcome, reason: String, draft: &mut EventBatch) {
    let run = draft.run();
    let chosen = match run.spec.on_exhausted {
        OnExhausted::Last => None,
        OnExhausted::Original => run.start_tree.clone().map(|tree| (None, tree)),
        OnExhausted::Best => verdict::best_attempt(run)
            .and_then(|attempt| Some((Some(attempt.attempt_number), attempt.tree.clone()?))),
    };
    match chosen.filter(|(_, tree)| run.current_tree.as_ref() != Some(tree)) {
        None => decide_outcome(
            outcome,
            reason,
            run.attempts.last().map(|it| it.attempt_number),
            draft,
        ),
        Some((delivered, tree)) => {
            draft.push(Event::OutcomeDecided {
                outcome,
                reason,
                delivered,
            });
            draft.request(EffectKind::Restore { tree });
        }
    }
}

fn decide_outcome(
    outcome: Outcome,
    reason: String,
    delivered: Option<u32>,
    draft: &mut EventBatch,
) {
    draft.push(Event::OutcomeDecided {
        outcome,
        reason,
        delivered,
    });
    finish(draft);
}

/// Appends the last event of a run whose outcome is decided.
pub(super) fn finish(draft: &mut EventBatch) {
    if let Some(outcome) = draft
        .run()
        .conclusion
        .as_ref()
        .map(|decided| decided.outcome)
    {
        draft.push(Event::RunFinished { outcome });
    }
}
