//! Output for a plan on a hub; each of its subtasks is a task.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use selvedge_core::describe::cost;
use selvedge_core::format::counted;
use selvedge_core::model::{Outcome, PlanResult};
use selvedge_core::sanitize::sanitize_text;
use selvedge_protocol::{SubtaskRow, TaskResult, TaskRow, TaskState};

use super::{fold_journal, short_id};
use crate::hub_client::{HubClient, HubError};
use crate::output::labels::outcome_label;
use crate::terminal::{one_line, style};

/// Width limit for a subtask's name, in characters.
const ID_WIDTH: usize = 24;

/// Fetches the result of a plan, in the format of a local plan's result.
pub(super) async fn fetch_plan_result(
    hub: &HubClient,
    plan: &TaskRow,
) -> Result<PlanResult, HubError> {
    let mut runs = BTreeMap::new();
    for row in plan.subtasks.iter().filter(|row| row.state.is_some()) {
        let run = fold_journal(hub, row.task_id, |_| {}).await?.run;
        runs.extend(run.map(|run| (run.run_id, run)));
    }
    let mut result: Option<TaskResult> = None;
    if plan.state.is_terminal() {
        let path = format!("/tasks/{}/result", plan.task_id);
        result = hub.get(&path, &[]).await.ok();
    }
    Ok(plan.plan_result(&runs, result))
}

/// Formats the state of every subtask and the outcome of the plan.
pub(super) fn format_plan(plan: &TaskRow) -> String {
    let mut text = String::new();
    for (number, row) in (1..).zip(&plan.subtasks) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {number} {}", subtask_line(row));
    }
    let reason = plan.reason.clone().or(plan.cancel_reason.clone());
    let reason = reason
        .map(|it| format!(": {}", sanitize_text(&it)))
        .unwrap_or_default();
    let _ = writeln!(text, "{}{reason}", outcome_label(plan.plan_outcome()));
    let _ = writeln!(text, "  cost {}", cost(plan.cost));
    text
}

fn subtask_line(row: &SubtaskRow) -> String {
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
            state_label(row),
            short_id(row.task_id),
            counted(row.attempts.into(), "attempt"),
            cost(row.cost),
        ),
    }
}

fn state_label(row: &SubtaskRow) -> String {
    let state = row.state.map_or("not started", TaskState::as_str);
    let ended = row.state.is_some_and(TaskState::is_terminal);
    let is_accepted = row.review.as_ref().is_some_and(|review| review.accepted);
    match row.outcome.filter(|_| ended) {
        Some(Outcome::Verified) if is_accepted => style::good("accepted"),
        Some(outcome) => outcome_label(outcome),
        None => style::warning(state.replace('_', " ")),
    }
}

/// The lines of subtasks whose state or number of attempts changed.
pub(super) fn changed_subtasks(before: &TaskRow, now: &TaskRow) -> Vec<String> {
    let is_unchanged = |row: &&SubtaskRow| {
        let old = before.subtasks.iter().find(|old| old.id == row.id);
        old.is_some_and(|old| (old.state, old.attempts) == (row.state, row.attempts))
    };
    let new = now
        .subtasks
        .iter()
        .filter(|row| row.state.is_some() && !is_unchanged(row));
    new.map(|row| format!("subtask {}", subtask_line(row)))
        .collect()
}
