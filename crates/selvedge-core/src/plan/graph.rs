//! Validates subtasks and their dependencies.

use std::collections::BTreeMap;

use crate::model::Subtask;

/// A plan that cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A subtask has no id.
    #[error("subtask {0} has no `id`")]
    MissingId(usize),
    /// Two subtasks have the same id.
    #[error("two subtasks have the id `{0}`")]
    DuplicateId(String),
    /// A subtask has no description.
    #[error("subtask `{0}` has no `description`")]
    MissingDescription(String),
    /// A dependency does not exist.
    #[error("subtask `{id}` depends on `{unknown}`, which is not a subtask of this plan")]
    UnknownDependency {
        /// The subtask.
        id: String,
        /// The unknown dependency.
        unknown: String,
    },
    /// The dependencies form a cycle.
    #[error("subtasks depend on each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

/// Rejects plans that cannot be executed.
pub fn check_subtasks(subtasks: &[Subtask]) -> Result<(), PlanError> {
    let mut by_id: BTreeMap<&str, &Subtask> = BTreeMap::new();
    for (index, subtask) in subtasks.iter().enumerate() {
        let id = subtask.id.trim();
        if id.is_empty() {
            return Err(PlanError::MissingId(index + 1));
        }
        if by_id.insert(&subtask.id, subtask).is_some() {
            return Err(PlanError::DuplicateId(subtask.id.clone()));
        }
        if subtask.description.trim().is_empty() {
            return Err(PlanError::MissingDescription(subtask.id.clone()));
        }
    }
    for subtask in subtasks {
        let known = |it: &&String| !by_id.contains_key(it.as_str());
        if let Some(unknown) = subtask.depends_on.iter().find(known) {
            return Err(PlanError::UnknownDependency {
                id: subtask.id.clone(),
                unknown: unknown.clone(),
            });
        }
    }
    check_acyclic(subtasks, &by_id)
}

/// Repeatedly removes subtasks that could run: the remaining ones form a cycle.
fn check_acyclic(subtasks: &[Subtask], by_id: &BTreeMap<&str, &Subtask>) -> Result<(), PlanError> {
    let mut waiting: Vec<&Subtask> = subtasks.iter().collect();
    loop {
        let still = |it: &String| waiting.iter().any(|waits| waits.id == *it);
        let next: Vec<&Subtask> = waiting
            .iter()
            .copied()
            .filter(|it| it.depends_on.iter().any(still))
            .collect();
        match next.first() {
            None => return Ok(()),
            Some(first) if next.len() == waiting.len() => {
                return Err(PlanError::Cycle(find_cycle(first, &next, by_id)));
            }
            Some(_) => waiting = next,
        }
    }
}

/// A cycle, from the first subtask that is visited twice back to itself.
fn find_cycle<'a>(
    start: &'a Subtask,
    waiting: &[&'a Subtask],
    by_id: &BTreeMap<&str, &'a Subtask>,
) -> Vec<String> {
    let mut way: Vec<&str> = Vec::new();
    let mut at = start;
    loop {
        if let Some(met) = way.iter().position(|id| *id == at.id) {
            let round = way.iter().skip(met).copied().chain([at.id.as_str()]);
            return round.map(str::to_owned).collect();
        }
        way.push(&at.id);
        let waits = |it: &&String| waiting.iter().any(|waits| waits.id == **it);
        let next = at.depends_on.iter().find(waits);
        match next.and_then(|id| by_id.get(id.as_str())) {
            Some(next) => at = next,
            // Every waiting subtask waits for another one that waits.
            None => return way.into_iter().map(str::to_owned).collect(),
        }
    }
}
