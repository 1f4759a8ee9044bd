//! Schedules subtasks: one at a time, and only once their dependencies are verified. The same rules apply in a single
//! program and on a hub's workers.

use std::collections::BTreeSet;

use crate::model::{Budget, MicroUsd, Outcome};

/// A subtask, as needed for scheduling.
#[derive(Debug, Clone, Copy)]
pub struct SubtaskNode<'a> {
    /// Its id.
    pub id: &'a str,
    /// Subtasks that must be verified before it begins.
    pub depends_on: &'a [String],
    /// Whether it has begun.
    pub has_begun: bool,
    /// Its outcome.
    pub outcome: Option<Outcome>,
}

/// The next step; subtasks are given by their index in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleDecision {
    /// This subtask has begun and not ended.
    Continue(usize),
    /// This subtask begins.
    Begin(usize),
    /// No further subtask can begin.
    Finish(Outcome),
}

/// Whether dependents of a subtask with this outcome may begin.
pub const fn unblocks_dependents(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Verified | Outcome::Unchecked)
}

fn is_successful(node: &SubtaskNode<'_>) -> bool {
    node.outcome.is_some_and(unblocks_dependents)
}

/// Decides the next step; no subtask begins if `may_spend` is false.
pub fn decide_next(nodes: &[SubtaskNode<'_>], may_spend: bool) -> ScheduleDecision {
    let open = |node: &SubtaskNode<'_>| node.has_begun && node.outcome.is_none();
    if let Some(index) = nodes.iter().position(open) {
        return ScheduleDecision::Continue(index);
    }
    let mut outcomes = nodes.iter().filter_map(|node| node.outcome);
    if outcomes.clone().any(|it| it == Outcome::Cancelled) {
        return ScheduleDecision::Finish(Outcome::Cancelled);
    }
    let verified = |id: &String| nodes.iter().any(|it| it.id == id && is_successful(it));
    let ready = |node: &SubtaskNode<'_>| !node.has_begun && node.depends_on.iter().all(verified);
    match nodes.iter().position(ready) {
        Some(index) if may_spend => ScheduleDecision::Begin(index),
        Some(_) if outcomes.all(unblocks_dependents) => ScheduleDecision::Finish(Outcome::Budget),
        _ => ScheduleDecision::Finish(overall_outcome(nodes)),
    }
}

/// Verified if every subtask is, otherwise the outcome of the first one that is not.
fn overall_outcome(nodes: &[SubtaskNode<'_>]) -> Outcome {
    let outcomes = || nodes.iter().filter_map(|node| node.outcome);
    match outcomes().find(|it| !unblocks_dependents(*it)) {
        Some(outcome) => outcome,
        None if outcomes().any(|it| it == Outcome::Unchecked) => Outcome::Unchecked,
        None => Outcome::Verified,
    }
}

/// The dependency that blocks the subtask at this index: it failed, or can itself never begin.
pub fn blocked_by<'a>(nodes: &[SubtaskNode<'a>], index: usize) -> Option<&'a str> {
    let mut lost: BTreeSet<&str> = nodes
        .iter()
        .filter(|node| node.outcome.is_some_and(|it| !unblocks_dependents(it)))
        .map(|node| node.id)
        .collect();
    loop {
        let known = lost.len();
        for node in nodes {
            if node.depends_on.iter().any(|id| lost.contains(id.as_str())) {
                lost.insert(node.id);
            }
        }
        if lost.len() == known {
            break;
        }
    }
    let mut needed = nodes.get(index)?.depends_on.iter();
    needed
        .find(|id| lost.contains(id.as_str()))
        .map(String::as_str)
}

/// The remaining budget for the next subtask; `None` if a limit is reached.
pub fn remaining_plan_budget(
    whole: &Budget,
    cost: MicroUsd,
    tokens: u64,
    worked_ms: u64,
) -> Option<Budget> {
    let remaining = |cap: Option<u64>, spent: u64| match cap {
        None => Some(None),
        Some(cap) => cap.checked_sub(spent).filter(|it| *it > 0).map(Some),
    };
    let cost = remaining(whole.cost_micro_usd.map(|it| it.0), cost.0)?;
    Some(Budget {
        cost_micro_usd: cost.map(MicroUsd),
        tokens: remaining(whole.tokens, tokens)?,
        duration_ms: remaining(whole.duration_ms, worked_ms)?,
        ..*whole
    })
}
