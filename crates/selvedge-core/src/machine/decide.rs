//! Policy: the transition table. A pair of state and input that is not in it is an error, and nothing is appended.

use super::event_batch::EventBatch;
use super::input::{IllegalInputError, Input};
use super::journal_state::JournalState;
use super::transitions;
use crate::model::{
    EffectId, EffectKind, Event, RetryPolicy, ReviewRecord, RunSpec, SnapshotReason, TreeId,
};
use crate::run::{Phase, Run, RunControl};

/// Decides which events are appended to the journal, from the state and the new input.
pub fn decide(state: &JournalState, input: Input) -> Result<Vec<Event>, IllegalInputError> {
    if !state.unknown.is_empty() {
        return Err(IllegalInputError::UnknownEvents(state.unknown.join(", ")));
    }
    match (&state.run, input) {
        (None, Input::Create { spec }) => Ok(create(spec)),
        (None, input) => Err(IllegalInputError::NoRun(input.name())),
        (Some(_), Input::Create { .. }) => Err(IllegalInputError::AlreadyExists),
        (Some(run), input) if run.finished => Err(IllegalInputError::Finished {
            run_id: run.run_id,
            input: input.name(),
        }),
        (Some(run), input) => {
            let mut draft = EventBatch::new(run, state.seq);
            transition(run, input, &mut draft)?;
            Ok(draft.into_events())
        }
    }
}

/// The first events of a run. They come without a [`EventBatch`], because there is no run to fold yet.
fn create(spec: Box<RunSpec>) -> Vec<Event> {
    let first = |effect| vec![Event::EffectRequested { effect }];
    let first = match (spec.snapshots, spec.baseline) {
        (true, _) => first(EffectKind::Snapshot {
            moment: SnapshotReason::Start,
        }),
        (false, true) => first(EffectKind::Baseline),
        (false, false) => transitions::first_attempt(&spec),
    };
    let mut events = vec![Event::RunCreated { spec }];
    events.extend(first);
    events
}

fn transition(run: &Run, input: Input, draft: &mut EventBatch) -> Result<(), IllegalInputError> {
    use RunControl::{Cancelling, Running, Suspended, Suspending};
    match (run.control, run.phase(), input) {
        (Running, _, Input::Start { effect }) => {
            let pending = run
                .effect(effect)
                .filter(|it| !it.started && it.kind.retry_policy() != RetryPolicy::Idempotent);
            pending.ok_or(IllegalInputError::NotPending {
                input: "start",
                effect,
            })?;
            draft.push(Event::EffectStarted { effect });
        }
        (
            _,
            _,
            Input::Snapshotted {
                effect,
                tree,
                left_out,
                unkept,
                changed_tools,
            },
        ) => {
            let moment = pending_snapshot(run, effect)?;
            draft.push(Event::TreeSnapshotted {
                effect,
                tree,
                left_out,
                unkept,
                changed_tools,
            });
            transitions::after_snapshot(moment, draft);
        }
        (_, phase, Input::Restored { effect, replaced }) => {
            let tree = pending_restore(run, effect)?;
            draft.push(Event::TreeRestored {
                effect,
                tree,
                replaced,
            });
            match phase {
                Phase::Delivering => transitions::finish(draft),
                _ => transitions::resume_pending(draft),
            }
        }
        (_, Phase::Baseline, Input::BaselineTaken { effect, baseline }) => {
            pending_as(run, effect, &EffectKind::Baseline, "baseline taken")?;
            transitions::after_baseline(effect, baseline, draft);
        }
        (_, Phase::Executing(attempt_number), Input::SessionEnded { effect, outcome }) => {
            pending_as(
                run,
                effect,
                &EffectKind::Execute { attempt_number },
                "session ended",
            )?;
            transitions::after_session(effect, attempt_number, outcome, draft);
        }
        (_, Phase::Waiting, Input::Waited { effect }) => {
            let waits = |kind: &EffectKind| matches!(kind, EffectKind::Wait { .. });
            run.effect(effect)
                .filter(|pending| waits(&pending.kind))
                .ok_or(IllegalInputError::NotPending {
                    input: "waited",
                    effect,
                })?;
            draft.push(Event::Waited { effect });
            transitions::continue_after_usage_limit(draft);
        }
        (_, Phase::Verifying(attempt_number), Input::Verified { effect, report }) => {
            pending_as(
                run,
                effect,
                &EffectKind::Verify { attempt_number },
                "verified",
            )?;
            if report.attempt_number != attempt_number {
                return Err(IllegalInputError::OtherAttempt {
                    got: report.attempt_number,
                    open: attempt_number,
                });
            }
            transitions::after_report(effect, report, draft);
        }
        (_, Phase::Judging(attempt_number), Input::Judged { effect, gate }) => {
            let kind = EffectKind::Judge {
                attempt_number,
                tier: gate.tier,
            };
            pending_as(run, effect, &kind, "judged")?;
            transitions::after_judgement(effect, attempt_number, gate, draft);
        }
        (_, _, Input::Failed { effect, error }) => {
            run.effect(effect).ok_or(IllegalInputError::NotPending {
                input: "failed",
                effect,
            })?;
            transitions::after_failure(effect, error, draft);
        }
        // While a person has to decide, nothing runs that could be suspended or resumed.
        (
            Running,
            Phase::AwaitingReview,
            Input::Review {
                named,
                accepted,
                retry,
                by,
                stated_by,
                reason,
            },
        ) => {
            let target = run.review_target().unwrap_or_default();
            target.check(&named)?;
            let record = ReviewRecord {
                accepted,
                by,
                stated_by,
                reason,
                target,
            };
            transitions::after_review(record, retry, draft)?;
        }
        (Suspended, _, Input::Cancel { reason })
        | (Running, Phase::AwaitingReview, Input::Cancel { reason }) => {
            draft.push(Event::CancelRequested { reason });
            transitions::finish_cancelled(draft);
        }
        (Running | Suspending, phase, Input::Cancel { reason })
            if phase != Phase::AwaitingReview =>
        {
            draft.push(Event::CancelRequested { reason });
        }
        (Running, phase, Input::Suspend { reason }) if phase != Phase::AwaitingReview => {
            draft.push(Event::SuspendRequested { reason });
        }
        (Suspending, _, Input::Settled) => draft.push(Event::Suspended),
        (Cancelling, _, Input::Settled) => transitions::finish_cancelled(draft),
        (control, phase, Input::Resume) if phase != Phase::AwaitingReview => {
            draft.push(Event::Resumed {
                after_crash: control != Suspended,
            });
            transitions::after_resume(draft);
        }
        (control, phase, input) => {
            return Err(IllegalInputError::WrongPhase {
                input: input.name(),
                phase: format!("{phase:?} ({control:?})").to_lowercase(),
            });
        }
    }
    Ok(())
}

fn pending_as(
    run: &Run,
    effect: EffectId,
    kind: &EffectKind,
    input: &'static str,
) -> Result<(), IllegalInputError> {
    let pending = run.effect(effect).filter(|it| it.kind == *kind);
    // Invariant: nothing that costs money ends without a durable start event.
    let started =
        pending.filter(|it| it.started || it.kind.retry_policy() == RetryPolicy::Idempotent);
    started
        .map(|_| ())
        .ok_or(IllegalInputError::NotPending { input, effect })
}

fn pending_snapshot(run: &Run, effect: EffectId) -> Result<SnapshotReason, IllegalInputError> {
    match run.effect(effect).map(|it| &it.kind) {
        Some(EffectKind::Snapshot { moment }) => Ok(*moment),
        _ => Err(IllegalInputError::NotPending {
            input: "snapshotted",
            effect,
        }),
    }
}

fn pending_restore(run: &Run, effect: EffectId) -> Result<TreeId, IllegalInputError> {
    match run.effect(effect).map(|it| &it.kind) {
        Some(EffectKind::Restore { tree }) => Ok(tree.clone()),
        _ => Err(IllegalInputError::NotPending {
            input: "restored",
            effect,
        }),
    }
}
