//! Policy: the one transition table. A pair of state and input that is not in it is an error, and
//! then nothing is appended.

use super::draft::Draft;
use super::input::{IllegalInput, Input};
use super::next;
use super::state::{Control, Phase, Run, State};
use crate::model::{
    EffectId, EffectKind, Event, Once, Outcome, ReviewRecord, RunSpec, SnapshotMoment, TreeId,
};

/// Says what is appended to the journal, given what is known and what was just observed.
pub fn decide(state: &State, input: Input) -> Result<Vec<Event>, IllegalInput> {
    if !state.unknown.is_empty() {
        return Err(IllegalInput::UnknownEvents(state.unknown.join(", ")));
    }
    match (&state.run, input) {
        (None, Input::Create { spec }) => Ok(create(spec)),
        (None, input) => Err(IllegalInput::NoRun(input.name())),
        (Some(_), Input::Create { .. }) => Err(IllegalInput::Exists),
        (Some(run), input) if run.finished => Err(IllegalInput::Finished {
            run_id: run.run_id,
            input: input.name(),
        }),
        (Some(run), input) => {
            let mut draft = Draft::new(run, state.seq);
            transition(run, input, &mut draft)?;
            Ok(draft.into_events())
        }
    }
}

/// The first events of a run. They come without a [`Draft`], because there is no run to fold yet.
fn create(spec: Box<RunSpec>) -> Vec<Event> {
    let first = |effect| vec![Event::EffectRequested { effect }];
    let first = match (spec.snapshots, spec.baseline) {
        (true, _) => first(EffectKind::Snapshot {
            moment: SnapshotMoment::Start,
        }),
        (false, true) => first(EffectKind::Baseline),
        (false, false) => next::first_attempt(&spec),
    };
    let mut events = vec![Event::RunCreated { spec }];
    events.extend(first);
    events
}

fn transition(run: &Run, input: Input, draft: &mut Draft) -> Result<(), IllegalInput> {
    use Control::{Cancelling, Running, Suspended, Suspending};
    match (run.control, run.phase(), input) {
        (Running, _, Input::Start { effect }) => {
            let pending = run
                .effect(effect)
                .filter(|it| !it.started && it.kind.once() != Once::Repeat);
            pending.ok_or(IllegalInput::NotPending {
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
            next::after_snapshot(moment, draft);
        }
        (_, phase, Input::Restored { effect, replaced }) => {
            let tree = pending_restore(run, effect)?;
            draft.push(Event::TreeRestored {
                effect,
                tree,
                replaced,
            });
            match phase {
                Phase::Delivering => next::finish(draft),
                _ => next::go_on(draft),
            }
        }
        (_, Phase::Baseline, Input::BaselineTaken { effect, baseline }) => {
            pending_as(run, effect, &EffectKind::Baseline, "baseline taken")?;
            next::after_baseline(effect, baseline, draft);
        }
        (_, Phase::Executing(run_number), Input::SessionEnded { effect, outcome }) => {
            pending_as(
                run,
                effect,
                &EffectKind::Execute { run_number },
                "session ended",
            )?;
            next::after_session(effect, run_number, outcome, draft);
        }
        (_, Phase::Verifying(run_number), Input::Verified { effect, report }) => {
            pending_as(run, effect, &EffectKind::Verify { run_number }, "verified")?;
            if report.run_number != run_number {
                return Err(IllegalInput::OtherAttempt {
                    got: report.run_number,
                    open: run_number,
                });
            }
            next::after_report(effect, report, draft);
        }
        (_, Phase::Judging(run_number), Input::Judged { effect, gate }) => {
            let kind = EffectKind::Judge {
                run_number,
                tier: gate.tier,
            };
            pending_as(run, effect, &kind, "judged")?;
            next::after_judgement(effect, run_number, gate, draft);
        }
        (_, _, Input::Failed { effect, error }) => {
            run.effect(effect).ok_or(IllegalInput::NotPending {
                input: "failed",
                effect,
            })?;
            next::after_failure(effect, error, draft);
        }
        // Where a person has to decide, nothing runs that could be suspended or resumed.
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
            next::after_review(record, retry, draft)?;
        }
        (Suspended, _, Input::Cancel { reason })
        | (Running, Phase::AwaitingReview, Input::Cancel { reason }) => {
            draft.push(Event::CancelRequested { reason });
            next::cancelled(draft);
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
        (Cancelling, _, Input::Settled) => next::cancelled(draft),
        (control, phase, Input::Resume) if phase != Phase::AwaitingReview => {
            draft.push(Event::Resumed {
                after_crash: control != Suspended,
            });
            next::after_resume(draft);
        }
        (control, phase, input) => {
            return Err(IllegalInput::OutOfPlace {
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
) -> Result<(), IllegalInput> {
    let pending = run.effect(effect).filter(|it| it.kind == *kind);
    // Invariant: nothing that costs money ends without having been started durably.
    let started = pending.filter(|it| it.started || it.kind.once() == Once::Repeat);
    started
        .map(|_| ())
        .ok_or(IllegalInput::NotPending { input, effect })
}

fn pending_snapshot(run: &Run, effect: EffectId) -> Result<SnapshotMoment, IllegalInput> {
    match run.effect(effect).map(|it| &it.kind) {
        Some(EffectKind::Snapshot { moment }) => Ok(*moment),
        _ => Err(IllegalInput::NotPending {
            input: "snapshotted",
            effect,
        }),
    }
}

fn pending_restore(run: &Run, effect: EffectId) -> Result<TreeId, IllegalInput> {
    match run.effect(effect).map(|it| &it.kind) {
        Some(EffectKind::Restore { tree }) => Ok(tree.clone()),
        _ => Err(IllegalInput::NotPending {
            input: "restored",
            effect,
        }),
    }
}

/// The sentence that marks a run whose agent changed no files.
pub(crate) const UNCHANGED: &str = "the agent changed no files";

impl Run {
    /// The outcome and the reason as one pair, for whoever stops here.
    pub fn conclusion(&self) -> (Outcome, String) {
        let outcome = self.outcome();
        let reason = match (&self.decided, &self.review) {
            (Some(decided), _) if self.finished => decided.reason.clone(),
            (_, Some(review)) => review.clone(),
            _ => "stopped before it was decided; `selvedge resume` goes on".to_owned(),
        };
        if self.is_unchanged() == Some(true) && outcome.passed_checks() {
            return (outcome, format!("{reason}; {}", self.describe_unchanged()));
        }
        (outcome, reason)
    }

    /// Why no files are changed, where none are.
    pub(crate) fn describe_unchanged(&self) -> &'static str {
        let last = self.reported().next_back();
        let mut guards = last.iter().filter_map(|(_, report)| report.guard.as_ref());
        if guards.any(|guard| guard.offences().next().is_some()) {
            "every change of the agent was reverted, so no files are changed"
        } else {
            UNCHANGED
        }
    }
}
