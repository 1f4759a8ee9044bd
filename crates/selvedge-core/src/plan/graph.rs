//! Whether subtasks and what they depend on can be carried out at all.

use std::collections::BTreeMap;

use crate::model::Subtask;

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nobody could refer to it.
    #[error("subtask {0} has no `id`")]
    MissingId(usize),
    /// Two of one name.
    #[error("two subtasks are called `{0}`")]
    DuplicateId(String),
    /// Nothing to be done.
    #[error("subtask `{0}` has no `description`")]
    MissingDescription(String),
    /// What it depends on is not there.
    #[error("subtask `{id}` depends on `{unknown}`, which is no subtask of this plan")]
    UnknownDependency {
        /// Which.
        id: String,
        /// What it names.
        unknown: String,
    },
    /// None of them could ever begin.
    #[error("subtasks wait for each other: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

/// Refuses what could not be carried out.
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

/// Takes away what could be done, again and again: what is left waits for itself.
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

/// One way round, from the first subtask that is met twice back to itself.
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
            // Everything that waits, waits for something that waits.
            None => return way.into_iter().map(str::to_owned).collect(),
        }
    }
}
