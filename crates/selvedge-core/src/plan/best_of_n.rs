//! Compares executions of one task: first by their checks, then by behaviour, then by content.
//!
//! Best-of-N is a plan whose parts are the same task, each in a copy of the workspace. More than half of them must be
//! verified, and those must behave the same; if only some are, a person decides.

use super::state::{Plan, SubtaskState};
use crate::model::{CheckReport, Outcome, Report, SubtaskEnd, TestSummary, TreeId};

/// An execution, by its id and its result.
type EndedExecution<'a> = (&'a str, &'a SubtaskEnd);

/// The result of best-of-N.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// The work of this execution is selected.
    Winner(LeadingSubtask),
    /// A person has to decide about the work of this execution.
    NeedsReview(LeadingSubtask),
    /// No execution is verified.
    NoneVerified(Outcome),
}

/// The execution that represents the largest group, with the group's share.
#[derive(Debug, Clone, PartialEq)]
pub struct LeadingSubtask {
    /// Its id.
    pub id: String,
    /// The fraction of verified executions, 0 to 1.
    pub confidence: f64,
    /// The reason.
    pub reason: String,
}

/// Describes the observable behaviour in the checks: the same text for work that behaves the same.
pub fn describe_behaviour(report: &Report) -> String {
    let one = |check: &CheckReport| {
        let tests = check.tests.as_ref().map(describe_tests).unwrap_or_default();
        format!("{}: {}{tests}", check.label(), check.status.label())
    };
    report.checks.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn describe_tests(tests: &TestSummary) -> String {
    let failed = tests.failed_ids.ids.join(", ");
    let (passed, skipped) = (tests.passed, tests.skipped);
    format!(" ({passed} passed, {skipped} skipped, failed: [{failed}])")
}

impl Plan {
    /// Selects the best execution, once all have ended.
    pub fn select_best(&self, floor: f64) -> Selection {
        let verified: Vec<EndedExecution<'_>> = self
            .subtasks()
            .filter_map(|(subtask, part)| Some((subtask.id.as_str(), verified_end(part)?)))
            .collect();
        let (all, count) = (self.subtask_states.len(), verified.len());
        let Some(alike) = largest_group(&verified, |end| end.behaviour.as_deref()) else {
            return Selection::NoneVerified(self.first_failure());
        };
        let same = largest_group(&alike, |end| end.tree.as_ref().map(TreeId::as_str));
        let Some((id, _)) = same.as_ref().and_then(|same| same.first()) else {
            return Selection::NoneVerified(self.first_failure());
        };
        let equal = same.as_ref().map_or(1, Vec::len);
        let confidence = fraction(count, all);
        let mut reason = format!("{count} of {all} runs are verified");
        if alike.len() < count {
            reason += &format!(", {} of them with the same behavior", alike.len());
        }
        if equal > 1 {
            reason += &format!(", {equal} with identical files");
        }
        let leading = |reason| LeadingSubtask {
            id: (*id).to_owned(),
            confidence,
            reason,
        };
        if count * 2 <= all || alike.len() * 2 <= count {
            return Selection::NeedsReview(leading(reason + ": no majority"));
        }
        if confidence < floor {
            let reason = format!("{reason}: {confidence:.2} is below the minimum of {floor:.2}");
            return Selection::NeedsReview(leading(reason));
        }
        Selection::Winner(leading(reason))
    }

    fn first_failure(&self) -> Outcome {
        let ends = self
            .subtask_states
            .iter()
            .filter_map(|part| part.end.as_ref());
        let outcomes = ends.map(|end| end.outcome);
        let mut bad = outcomes.filter(|it| *it != Outcome::Verified);
        bad.next().unwrap_or(Outcome::InfraFailed)
    }
}

fn verified_end(part: &SubtaskState) -> Option<&SubtaskEnd> {
    let end = part.end.as_ref()?;
    (end.outcome == Outcome::Verified).then_some(end)
}

/// The executions with the most common key; the first group among equals. One without a key is in no group with others.
fn largest_group<'a>(
    ends: &[EndedExecution<'a>],
    key: impl Fn(&'a SubtaskEnd) -> Option<&'a str>,
) -> Option<Vec<EndedExecution<'a>>> {
    let mut groups: Vec<(Option<&str>, Vec<EndedExecution<'a>>)> = Vec::new();
    for (id, end) in ends {
        let key = key(end);
        let found = groups
            .iter_mut()
            .find(|(other, _)| key.is_some() && *other == key);
        match found {
            Some((_, group)) => group.push((id, end)),
            None => groups.push((key, vec![(id, end)])),
        }
    }
    // `max_by_key` returns the last of equal ones.
    let groups = groups.into_iter().map(|(_, group)| group);
    groups.rev().max_by_key(Vec::len)
}

fn fraction(count: usize, all: usize) -> f64 {
    let exact = |n: usize| u32::try_from(n).map_or(f64::from(u32::MAX), f64::from);
    exact(count) / exact(all.max(1))
}
