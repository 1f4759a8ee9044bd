//! Formats a plan for people.

use std::collections::BTreeMap;

use selvedge_core::model::{Outcome, PlannedSubtask, RunId, RunResult, SubtaskEnd, TreeId};
use selvedge_core::plan::{Plan, SubtaskState};

use super::labels::outcome_label;
use crate::terminal::{indent_lines, one_line, style};
use selvedge_core::describe::{cost, tokens};
use selvedge_core::format::{counted, duration};

/// Width limit for a subtask's name, in characters.
const ID_WIDTH: usize = 24;

/// Formats the plan's subtasks before it begins.
pub(super) fn plan_header(plan: &Plan) -> String {
    let count = counted(plan.subtask_states.len() as u64, "subtask");
    let short = plan.run_id.short();
    let mut text = format!("{} {short} · {count}\n", style::strong("plan"));
    for (number, (subtask, _)) in (1..).zip(plan.subtasks()) {
        let what = one_line(&subtask.spec.description, 60);
        text += &format!(
            "  {number} {}  {what}{}\n",
            padded_id(plan, subtask),
            dependency_note(subtask)
        );
    }
    text
}

/// Formats the details of a plan without the details of its subtasks' runs.
pub(crate) fn format_plan(plan: &Plan, runs: &BTreeMap<RunId, RunResult>) -> String {
    let directory = plan.spec.workspace.display();
    let mut text = format!("{}  directory  {directory}\n", plan_header(plan));
    if !plan.spec.description.trim().is_empty() {
        let task = indent_lines(&plan.spec.description, "             ");
        text += &format!("  task       {}", task.trim_start());
    }
    text + &plan_verdict(plan, runs)
}

/// Formats the progress of a resumed plan.
pub(super) fn format_resumed(plan: &Plan) -> String {
    let (verified, all) = (plan.verified_count(), plan.subtask_states.len());
    let short = plan.run_id.short();
    format!("resuming plan {short}: {verified} of {all} subtasks verified\n")
}

pub(super) fn format_subtask_start(plan: &Plan, id: &str, replaced: Option<&TreeId>) -> String {
    let number = plan.spec.subtasks.iter().position(|it| it.id == id);
    let number = number.map_or(0, |index| index + 1);
    let (all, id) = (plan.subtask_states.len(), one_line(id, ID_WIDTH));
    let heading = style::strong(format!("── subtask {number} of {all}: {id}"));
    let restore_note = replaced.map(|tree| {
        let short = plan.run_id.short();
        style::dim(format!(
            "   the changes of the failed subtask were reverted; undo: selvedge restore {short} \
             --tree {tree}\n"
        ))
    });
    format!("\n{heading}\n{}", restore_note.unwrap_or_default())
}

pub(super) fn format_subtask_end(id: &str, end: &SubtaskEnd) -> String {
    let (id, reason) = (one_line(id, ID_WIDTH), one_line(&end.reason, 300));
    format!("\nsubtask {id}: {}: {reason}\n", outcome_label(end.outcome))
}

/// Formats the state of every subtask and the outcome of the plan.
pub(super) fn plan_verdict(plan: &Plan, runs: &BTreeMap<RunId, RunResult>) -> String {
    let mut text = "\n".to_owned();
    for (subtask, part) in plan.subtasks() {
        text += &format!("  {}\n", subtask_row(plan, subtask, part, runs));
    }
    let (outcome, reason) = plan.conclusion(runs);
    text += &format!("{}: {}\n", outcome_label(outcome), one_line(&reason, 300));
    let mut facts = vec![cost(plan.cost())];
    facts.extend(tokens(&plan.usage()));
    facts.push(duration(plan.active_ms()));
    text += &format!("  {}\n", style::dim(facts.join(" · ")));
    let short = plan.run_id.short();
    let next = match outcome {
        Outcome::Interrupted => format!("selvedge resume {short}"),
        Outcome::NeedsReview => {
            format!("selvedge review {short} --accept, or --reject --reason TEXT")
        }
        _ => format!("selvedge show {short}"),
    };
    text + &format!("  {} {next}\n", style::dim("next:"))
}

fn subtask_row(
    plan: &Plan,
    subtask: &PlannedSubtask,
    part: &SubtaskState,
    runs: &BTreeMap<RunId, RunResult>,
) -> String {
    let name = padded_id(plan, subtask);
    let run = part.run_id.and_then(|id| runs.get(&id));
    let (sign, status) = match (&part.end, run) {
        (Some(_), _) if part.unblocks_dependents() => (style::good("✓"), String::new()),
        (Some(end), _) => (style::bad("✗"), end.outcome.as_str().replace('_', " ")),
        (None, Some(run)) => (style::warning("…"), run.outcome.as_str().replace('_', " ")),
        (None, None) => (style::dim("-"), plan.why_not_begun(subtask)),
    };
    let facts = run.map(|run| {
        let attempts = counted(run.verification_attempts.into(), "attempt");
        format!("{} · {attempts}", run.run_id.short())
    });
    let facts = style::dim(facts.unwrap_or_default());
    format!("{sign} {name}  {facts}  {status}")
        .trim_end()
        .to_owned()
}

/// A subtask's name, padded to the longest name.
fn padded_id(plan: &Plan, subtask: &PlannedSubtask) -> String {
    let ids = plan.spec.subtasks.iter();
    let widest = ids
        .map(|it| one_line(&it.id, ID_WIDTH).chars().count())
        .max();
    let width = widest.unwrap_or_default();
    format!("{:width$}", one_line(&subtask.id, ID_WIDTH))
}

fn dependency_note(subtask: &PlannedSubtask) -> String {
    if subtask.depends_on.is_empty() {
        return String::new();
    }
    let ids = one_line(&subtask.depends_on.join(", "), 60);
    style::dim(format!("  after {ids}"))
}
