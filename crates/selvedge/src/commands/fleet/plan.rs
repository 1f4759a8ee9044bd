//! A plan on a hub: how its subtasks stand, each of which is a task of its own.

use std::fmt::Write as _;

use selvedge_core::fleet::{SubtaskRow, TaskResult, TaskRow, TaskState};
use selvedge_core::machine::{Run, State};
use selvedge_core::model::{MicroUsd, Outcome, PlanResult, RunId, SubtaskResult};
use selvedge_core::words::{cost, counted};

use super::{journal, short};
use crate::fleet::{Hub, HubError};
use crate::output::words::outcome_word;
use crate::output::{one_line, plain, style};

/// How much of a subtask's name is shown, in characters.
const ID_WIDTH: usize = 24;

/// Whether a person has to decide about one of its subtasks before it goes on.
pub(super) fn waits_for_review(plan: &TaskRow) -> bool {
    let waits = |subtask: &SubtaskRow| subtask.state == Some(TaskState::NeedsReview);
    !plan.state.is_terminal() && plan.subtasks.iter().any(waits)
}

/// How it ended, or stands.
pub(super) fn outcome(plan: &TaskRow) -> Outcome {
    match plan.outcome {
        Some(outcome) => outcome,
        None if waits_for_review(plan) => Outcome::NeedsReview,
        None => Outcome::Interrupted,
    }
}

/// The same object as of a plan that was carried out here.
pub(super) async fn result(hub: &Hub, plan: &TaskRow) -> Result<PlanResult, HubError> {
    let mut subtasks = Vec::new();
    for row in &plan.subtasks {
        let state = match row.state {
            Some(_) => journal(hub, row.task_id, |_| {}).await?,
            None => State::default(),
        };
        let run = state.run.as_ref();
        subtasks.push(SubtaskResult {
            id: row.id.clone(),
            task_id: row.task_id,
            depends_on: row.depends_on.clone(),
            run_id: run.map(|run| run.run_id),
            outcome: row
                .outcome
                .filter(|_| row.state.is_some_and(TaskState::is_terminal)),
            reason: row.reason.clone().unwrap_or_default(),
            result: run.map(Run::result),
        });
    }
    let mut told: Option<TaskResult> = None;
    if plan.state.is_terminal() {
        let path = format!("/tasks/{}/result", plan.task_id);
        told = hub.get(&path, &[]).await.ok();
    }
    let reason = plan.reason.clone().unwrap_or_default();
    let told = told.unwrap_or_else(|| TaskResult {
        estimated_cost_usd: plan.cost.micro_usd.map(MicroUsd::as_usd),
        cost_source: plan.cost.source,
        ..TaskResult::without_run(outcome(plan), reason)
    });
    Ok(PlanResult {
        task_id: plan.task_id,
        run_id: RunId::from(plan.task_id),
        status: told.status,
        outcome: told.outcome,
        reason: told.reason,
        chosen: None,
        confidence: None,
        subtasks,
        tokens_in: told.tokens_in,
        tokens_out: told.tokens_out,
        estimated_cost_usd: told.estimated_cost_usd,
        cost_source: told.cost_source,
        worked_ms: told.execution_ms,
        verification_status: told.verification_status,
    })
}

/// How every subtask stands, and how the plan does, for people.
pub(super) fn story(plan: &TaskRow) -> String {
    let mut text = String::new();
    for (number, row) in (1..).zip(&plan.subtasks) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {number} {}", line(row));
    }
    let reason = plan.reason.clone().or(plan.cancel_reason.clone());
    let reason = reason
        .map(|it| format!(": {}", plain(&it)))
        .unwrap_or_default();
    let _ = writeln!(text, "{}{reason}", outcome_word(outcome(plan)));
    let _ = writeln!(text, "  cost {}", cost(plan.cost));
    text
}

fn line(row: &SubtaskRow) -> String {
    let name = style::strong(format!("{:<12}", one_line(&row.id, ID_WIDTH)));
    let reason = row
        .reason
        .as_deref()
        .map(|it| one_line(it, 120))
        .unwrap_or_default();
    match row.state {
        None => format!("{name} {reason}"),
        Some(_) => format!(
            "{name} {}  {}  {}  {}  {reason}",
            word(row),
            short(row.task_id),
            counted(row.attempts.into(), "attempt"),
            cost(row.cost),
        ),
    }
}

fn word(row: &SubtaskRow) -> String {
    let state = row.state.map_or("not begun", TaskState::as_str);
    let ended = row.state.is_some_and(TaskState::is_terminal);
    match row.outcome.filter(|_| ended) {
        Some(outcome) => outcome_word(outcome),
        None => style::warning(state.replace('_', " ")),
    }
}

/// What a subtask's row says that it did not say before.
pub(super) fn news(before: &TaskRow, now: &TaskRow) -> Vec<String> {
    let known = |row: &&SubtaskRow| {
        let old = before.subtasks.iter().find(|old| old.id == row.id);
        old.is_some_and(|old| (old.state, old.attempts) == (row.state, row.attempts))
    };
    let new = now
        .subtasks
        .iter()
        .filter(|row| row.state.is_some() && !known(row));
    new.map(|row| format!("subtask {}", line(row))).collect()
}
