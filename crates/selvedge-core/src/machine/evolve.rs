//! History: folds one event into the state. Total, and without policy: the journal is authoritative.

use std::sync::Arc;

use super::journal_state::JournalState;
use crate::model::{
    AttemptEnd, EffectId, EffectKind, Envelope, Event, RetryPolicy, ReviewRecord, RunSpec,
    SnapshotReason, ToolFolderChanges, TreeId,
};
use crate::plan;
use crate::run::{Attempt, Conclusion, PendingEffect, Run, RunControl};

/// Folds one event into the state.
#[must_use]
pub fn evolve(mut state: JournalState, envelope: &Envelope) -> JournalState {
    state.seq = envelope.seq;
    match (&mut state.run, &envelope.event) {
        (None, Event::PlanCreated { plan }) if state.plan.is_none() => {
            state.plan = Some(plan::create_plan(envelope, plan));
        }
        (run @ None, Event::RunCreated { spec }) => *run = Some(create_run(envelope, spec)),
        (_, Event::Unknown { kind, .. }) => state.unknown.push(kind.clone()),
        (None, event) => {
            if let Some(plan) = &mut state.plan {
                plan::fold(plan, event);
            }
        }
        (Some(run), _) => fold(run, envelope),
    }
    state
}

fn create_run(envelope: &Envelope, spec: &RunSpec) -> Run {
    Run {
        run_id: envelope.run_id,
        spec: Arc::new(spec.clone()),
        created_at: envelope.at,
        updated_at: envelope.at,
        pending: Vec::new(),
        attempts: Vec::new(),
        control: RunControl::Running,
        start_tree: None,
        excluded: None,
        baseline: None,
        current_tree: None,
        backup_trees: Vec::new(),
        crashes: 0,
        verification_retries: 0,
        lost_judgements: 0,
        review: None,
        reviewed: None,
        feedback: None,
        conclusion: None,
        finished: false,
    }
}

/// Records a tree that nothing else refers to.
fn record_backup_tree(run: &mut Run, tree: Option<&TreeId>) {
    let of_attempts = run.attempts.iter().filter_map(|it| it.tree.as_ref());
    let mut known = of_attempts.chain(&run.start_tree).chain(&run.backup_trees);
    if let Some(tree) = tree.filter(|&tree| known.all(|it| it != tree)) {
        run.backup_trees.push(tree.clone());
    }
}

/// Folds one event into a run that exists.
pub(super) fn fold(run: &mut Run, envelope: &Envelope) {
    run.updated_at = envelope.at;
    match &envelope.event {
        // A plan's journal is separate from a run's.
        Event::RunCreated { .. }
        | Event::PlanCreated { .. }
        | Event::SubtaskBegan { .. }
        | Event::SubtaskEnded { .. }
        | Event::SubtaskChosen { .. }
        | Event::Unknown { .. } => {}
        Event::EffectRequested { effect } => {
            // Restoring the workspace comes before the effects that wait for it.
            let first = matches!(
                effect,
                EffectKind::Snapshot { .. } | EffectKind::Restore { .. }
            );
            let at = if first { 0 } else { run.pending.len() };
            let pending = PendingEffect {
                id: EffectId(envelope.seq),
                kind: effect.clone(),
                started: false,
            };
            run.pending.insert(at, pending);
        }
        Event::EffectStarted { effect } => {
            if let Some(pending) = run.pending.iter_mut().find(|pending| pending.id == *effect) {
                pending.started = true;
            }
        }
        Event::EffectFailed { effect, .. } | Event::Waited { effect } => end_effect(run, *effect),
        Event::TreeSnapshotted {
            effect,
            tree,
            unkept,
            changed_tools,
            ..
        } => {
            run.excluded = unkept.clone().or(run.excluded.take());
            apply_snapshot(run, *effect, tree, changed_tools.as_deref());
        }
        Event::TreeRestored {
            effect,
            tree,
            replaced,
        } => {
            end_effect(run, *effect);
            record_backup_tree(run, replaced.as_ref());
            run.current_tree = Some(tree.clone());
        }
        Event::BaselineTaken { effect, baseline } => {
            end_effect(run, *effect);
            run.baseline = Some(Arc::new((**baseline).clone()));
        }
        Event::AttemptBegan {
            attempt_number,
            prompt,
            from_tree,
            retry,
        } => {
            run.verification_retries = 0;
            run.reviewed = None;
            run.feedback = None;
            run.attempts.push(Attempt {
                attempt_number: *attempt_number,
                retry: *retry,
                prompt: prompt.clone(),
                from_tree: from_tree.clone(),
                tree: None,
                changed_tools: None,
                began_at: envelope.at,
                session: None,
                report: None,
                end: None,
                reviewed: None,
            });
        }
        Event::SessionEnded {
            effect, outcome, ..
        } => {
            end_effect(run, *effect);
            run.current_tree = None;
            if let Some(attempt) = run.attempts.last_mut() {
                attempt.session = Some((**outcome).clone());
            }
        }
        Event::Reported { effect, report } => {
            end_effect(run, *effect);
            if let Some(attempt) = run.attempts.last_mut() {
                // The judged tree is the attempt's result, after the guard reverted protected files.
                if let Some(tree) = &report.tree {
                    attempt.tree = Some(tree.clone());
                    run.current_tree = Some(tree.clone());
                }
                attempt.report = Some((**report).clone());
            }
        }
        Event::GateJudged { effect, gate, .. } => {
            end_effect(run, *effect);
            let last = run.attempts.last_mut();
            if let Some(report) = last.and_then(|attempt| attempt.report.as_mut()) {
                report.add_gate((**gate).clone());
            }
        }
        Event::VerificationRepeated { effect, .. } => {
            end_effect(run, *effect);
            run.verification_retries += 1;
        }
        Event::AttemptClosed { closing, .. } => close_attempt(run, *closing),
        Event::CancelRequested { .. } => run.control = RunControl::Cancelling,
        Event::SuspendRequested { .. } => run.control = RunControl::Suspending,
        Event::Suspended => run.control = RunControl::Suspended,
        Event::Resumed { after_crash } => {
            discard_lost_judgements(run);
            if !after_crash {
                // A user who resumes a suspended run decides that the time has come.
                let waits =
                    |pending: &PendingEffect| matches!(pending.kind, EffectKind::Wait { .. });
                run.pending.retain(|pending| !waits(pending));
            }
            // Invariant: a cancellation request is never lost.
            if run.control != RunControl::Cancelling {
                run.control = RunControl::Running;
            }
        }
        Event::ReviewRequested { reason } => run.review = Some(reason.clone()),
        Event::Reviewed {
            accepted,
            by,
            stated_by,
            reason,
        } => {
            let record = ReviewRecord {
                accepted: *accepted,
                by: by.clone(),
                stated_by: stated_by.clone(),
                reason: reason.clone(),
                target: run.review_target().unwrap_or_default(),
            };
            let decided = record.target.attempt;
            let mut attempts = run.attempts.iter_mut();
            if let Some(attempt) = attempts.find(|it| Some(it.attempt_number) == decided) {
                attempt.reviewed = Some(record.clone());
            }
            run.reviewed = Some(record);
            run.review = None;
            run.feedback = (!accepted).then(|| reason.clone());
        }
        Event::OutcomeDecided {
            outcome,
            reason,
            delivered,
        } => {
            run.conclusion = Some(Conclusion {
                outcome: *outcome,
                reason: reason.clone(),
                final_attempt: *delivered,
            });
        }
        Event::RunFinished { .. } => {
            run.pending.clear();
            run.finished = true;
        }
    }
}

fn end_effect(run: &mut Run, effect: EffectId) {
    run.pending.retain(|pending| pending.id != effect);
}

fn apply_snapshot(
    run: &mut Run,
    effect: EffectId,
    tree: &TreeId,
    changed_tools: Option<&ToolFolderChanges>,
) {
    let moment = run.effect(effect).map(|pending| pending.kind.clone());
    end_effect(run, effect);
    match moment {
        Some(EffectKind::Snapshot {
            moment: SnapshotReason::Start,
        }) => {
            run.start_tree = Some(tree.clone());
        }
        Some(EffectKind::Snapshot {
            moment: SnapshotReason::After,
        }) => {
            if let Some(attempt) = run.attempts.last_mut() {
                attempt.tree = Some(tree.clone());
                attempt.changed_tools = changed_tools.cloned();
            }
        }
        Some(EffectKind::Snapshot {
            moment: SnapshotReason::Backup,
        }) => {
            record_backup_tree(run, Some(tree));
        }
        _ => {}
    }
    run.current_tree = Some(tree.clone());
}

/// Discards judgements that had begun but not ended when a run is resumed, so that they start again.
fn discard_lost_judgements(run: &mut Run) {
    let lost = |pending: &&mut PendingEffect| {
        pending.started && pending.kind.retry_policy() == RetryPolicy::Billable
    };
    for pending in run.pending.iter_mut().filter(lost) {
        pending.started = false;
        run.lost_judgements += 1;
    }
}

fn close_attempt(run: &mut Run, closing: AttemptEnd) {
    // Invariant: a stop that a person requested is not a crash, and does not count against the limit of crashes.
    if closing == AttemptEnd::Interrupted && run.control == RunControl::Running {
        run.crashes += 1;
    }
    // A closed attempt has nothing left to do.
    run.pending.retain(|pending| {
        !matches!(
            pending.kind,
            EffectKind::Execute { .. } | EffectKind::Verify { .. }
        )
    });
    if let Some(attempt) = run.attempts.last_mut() {
        attempt.end = Some(closing);
    }
}
