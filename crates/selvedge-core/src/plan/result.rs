//! The result object of a plan, from its own journal and its subtasks' results.

use std::collections::BTreeMap;

use super::state::{Plan, SubtaskState};
use crate::model::{
    MicroUsd, Outcome, PlanResult, PlannedSubtask, RunId, RunResult, SubtaskResult,
    UNCHANGED_REASON,
};

/// Whether all of them changed nothing; `None` if one of them is unknown, or if there are none.
pub fn all_unchanged(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    parts
        .map(|part| part.ok_or(()))
        .reduce(|all, part| Ok(all? && part?))?
        .ok()
}

impl Plan {
    /// Summarizes the plan's outcome or current state. `runs` are the results of its subtasks' runs.
    pub fn result(&self, runs: &BTreeMap<RunId, RunResult>) -> PlanResult {
        let subtasks: Vec<SubtaskResult> = self
            .subtasks()
            .map(|(subtask, part)| self.subtask_result(subtask, part, runs))
            .collect();
        let (outcome, reason) = self.conclusion(runs);
        let (cost, usage) = (self.cost(), self.usage());
        let reported = runs.values().any(|it| it.verification_report.is_some());
        PlanResult {
            task_id: self.spec.task_id,
            run_id: self.run_id,
            status: outcome.status_word().to_owned(),
            outcome,
            reason,
            chosen: self.chosen.as_ref().map(|chosen| chosen.id.clone()),
            confidence: self.chosen.as_ref().map(|chosen| chosen.confidence),
            review: self.reviewed.clone(),
            subtasks,
            tokens_in: usage.tokens_in(),
            tokens_out: usage.tokens_out(),
            estimated_cost_usd: cost.micro_usd.map(MicroUsd::as_usd),
            cost_source: cost.source,
            worked_ms: self.active_ms(),
            unchanged: self.is_unchanged(runs),
            verification_status: outcome.verification_status(reported),
        }
    }

    /// Whether no agent changed any file, if that is known of every relevant run.
    fn is_unchanged(&self, runs: &BTreeMap<RunId, RunResult>) -> Option<bool> {
        let chosen = self.chosen.as_ref().map(|chosen| chosen.id.as_str());
        if self.spec.best_of_floor.is_some() && chosen.is_none() {
            return None;
        }
        let counts = |id: &str| chosen.is_none_or(|chosen| chosen == id);
        let parts = self.subtasks().filter(|(subtask, _)| counts(&subtask.id));
        all_unchanged(parts.map(|(_, part)| runs.get(&part.run_id?)?.unchanged))
    }

    fn subtask_result(
        &self,
        subtask: &PlannedSubtask,
        part: &SubtaskState,
        runs: &BTreeMap<RunId, RunResult>,
    ) -> SubtaskResult {
        let result = part.run_id.and_then(|id| runs.get(&id)).cloned();
        let reason = match (&part.end, &result) {
            (Some(end), _) => end.reason.clone(),
            (None, Some(result)) => result.reason.clone(),
            (None, None) => self.why_not_begun(subtask),
        };
        SubtaskResult {
            id: subtask.id.clone(),
            task_id: subtask.spec.task_id,
            depends_on: subtask.depends_on.clone(),
            run_id: part.run_id,
            outcome: part.end.as_ref().map(|end| end.outcome),
            reason,
            result,
        }
    }

    /// Why a subtask has not begun.
    pub fn why_not_begun(&self, subtask: &PlannedSubtask) -> String {
        match self.blocked_by(subtask) {
            Some(id) => format!("not started: it depends on `{id}`, which is not verified"),
            None if self.finished == Some(Outcome::Budget) => {
                "not started: the budget is exhausted".to_owned()
            }
            None => "not started".to_owned(),
        }
    }

    /// Summary of best-of-N.
    fn selection_summary(&self, runs: &BTreeMap<RunId, RunResult>) -> Option<String> {
        self.spec.best_of_floor?;
        if let Some(why) = &self.review {
            return Some(why.clone());
        }
        let reviewed = self.reviewed.as_ref();
        let reviewed = reviewed.map_or_else(String::new, |it| it.summary() + "; ");
        if let Some(chosen) = &self.chosen {
            let (reason, id) = (&chosen.reason, &chosen.id);
            let mut summary = format!("{reviewed}{reason}: selected the work of {id}");
            if self.is_unchanged(runs) == Some(true) {
                summary += &format!("; {UNCHANGED_REASON}");
            }
            return Some(summary);
        }
        let ended = self.subtasks().filter_map(|(subtask, part)| {
            let end = part.end.as_ref()?;
            Some(format!("{}: {}", subtask.id, end.reason))
        });
        let ended: Vec<String> = ended.collect();
        if self.finished.is_none() {
            let (done, all) = (ended.len(), self.subtask_states.len());
            return Some(format!("{reviewed}{done} of {all} runs have ended"));
        }
        Some(format!(
            "{reviewed}no run was selected; {}",
            ended.join("; ")
        ))
    }

    /// Its outcome, or current state, with the reason in one line.
    pub fn conclusion(&self, runs: &BTreeMap<RunId, RunResult>) -> (Outcome, String) {
        let waits = |it: &&RunResult| it.outcome == Outcome::NeedsReview;
        let open = self.subtask_states.iter().filter(|part| part.end.is_none());
        let open = open.filter_map(|part| runs.get(&part.run_id?));
        let outcome = match self.finished {
            Some(outcome) => outcome,
            None if self.review.is_some() => Outcome::NeedsReview,
            None if open.clone().any(|it| waits(&it)) => Outcome::NeedsReview,
            None => Outcome::Interrupted,
        };
        if let Some(summary) = self.selection_summary(runs) {
            return (outcome, summary);
        }
        let all = self.subtask_states.len();
        let mut parts = vec![format!(
            "{} of {all} subtasks verified",
            self.verified_count()
        )];
        let unchecked = |part: &&SubtaskState| {
            let end = part.end.as_ref();
            end.is_some_and(|end| end.outcome == Outcome::Unchecked)
        };
        match self.subtask_states.iter().filter(unchecked).count() {
            0 => {}
            n => parts.push(format!("{n} of them unchecked")),
        }
        let accepted = |part: &&SubtaskState| {
            let review = part.run_id.and_then(|id| runs.get(&id)?.review.as_ref());
            part.unblocks_dependents() && review.is_some_and(|review| review.accepted)
        };
        match self.subtask_states.iter().filter(accepted).count() {
            0 => {}
            n => parts.push(format!("{n} of them accepted by a person")),
        }
        for (subtask, part) in self.subtasks() {
            let id = &subtask.id;
            match (&part.end, part.run_id.and_then(|it| runs.get(&it))) {
                (Some(_), Some(run))
                    if part.unblocks_dependents() && run.unchanged == Some(true) =>
                {
                    parts.push(format!("`{id}`: {UNCHANGED_REASON}"));
                }
                (Some(_), _) if part.unblocks_dependents() => {}
                (Some(end), _) => parts.push(format!("`{id}`: {}", end.reason)),
                (None, Some(run)) => parts.push(format!("`{id}`: {}", run.reason)),
                (None, None) if self.finished.is_some() => {
                    parts.push(format!("`{id}` {}", self.why_not_begun(subtask)));
                }
                (None, None) => {}
            }
        }
        (outcome, parts.join("; "))
    }
}
