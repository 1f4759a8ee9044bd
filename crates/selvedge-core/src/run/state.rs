//! The state of a run: the fold of its events and nothing else.

use std::sync::Arc;

use super::budget::{self, RemainingBudget};
use crate::model::{
    AttemptEnd, Baseline, CheckReport, CheckStatus, Cost, EffectId, EffectKind, ExcludedContent,
    GateReport, MicroUsd, Outcome, Prompt, Report, RetryPolicy, ReviewRecord, ReviewTarget, RunId,
    RunSpec, SessionOutcome, SnapshotReason, StepKind, Timestamp, ToolFolderChanges, TreeId, Usage,
};

/// One task carried through to one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its id.
    pub run_id: RunId,
    /// Its immutable specification.
    pub spec: Arc<RunSpec>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last event was appended.
    pub updated_at: Timestamp,
    /// Effects that have not ended.
    pub pending: Vec<PendingEffect>,
    /// All attempts, in order; the last may be open.
    pub attempts: Vec<Attempt>,
    /// Whether a stop was requested.
    pub control: RunControl,
    /// The tree from which it began.
    pub start_tree: Option<TreeId>,
    /// Content that is too large for that tree.
    pub excluded: Option<Box<ExcludedContent>>,
    /// The results of the checks before the agent began.
    pub baseline: Option<Arc<Baseline>>,
    /// The tree in the workspace, as far as is known.
    pub current_tree: Option<TreeId>,
    /// Backups of the workspace that do not belong to an attempt: the work of an interrupted session, or a person's
    /// changes in the meantime.
    pub backup_trees: Vec<TreeId>,
    /// Number of attempts that were interrupted by a crash.
    pub crashes: u32,
    /// Verifications of the open attempt that could not be carried out.
    pub verification_retries: u32,
    /// Number of interrupted judgements, whose cost is unknown.
    pub lost_judgements: u32,
    /// Why a person has to decide, while the run awaits review.
    pub review: Option<String>,
    /// The last review, until another attempt begins.
    pub reviewed: Option<ReviewRecord>,
    /// A reviewer's reason, for the next corrective prompt.
    pub feedback: Option<String>,
    /// How it will end, once decided.
    pub conclusion: Option<Conclusion>,
    /// Whether it has ended.
    pub finished: bool,
}

/// An effect that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEffect {
    /// Its id.
    pub id: EffectId,
    /// The action.
    pub kind: EffectKind,
    /// Whether an at-most-once effect was started. If it had not ended at a crash, it counts as interrupted: it is
    /// never silently repeated.
    pub started: bool,
}

/// One agent session, then one verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// 1, 2, 3 …
    pub attempt_number: u32,
    /// Number of the verification retry; 0 for the first attempt.
    pub retry: u32,
    /// The prompt of the agent.
    pub prompt: Prompt,
    /// The tree from which it began.
    pub from_tree: Option<TreeId>,
    /// The tree after it.
    pub tree: Option<TreeId>,
    /// Its changes in tool folders, compared with the start of the run.
    pub changed_tools: Option<ToolFolderChanges>,
    /// When it began.
    pub began_at: Timestamp,
    /// The session's outcome.
    pub session: Option<SessionOutcome>,
    /// The report of the checks.
    pub report: Option<Report>,
    /// How it ended.
    pub end: Option<AttemptEnd>,
    /// A person's decision on it.
    pub reviewed: Option<ReviewRecord>,
}

/// Whether the run was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunControl {
    /// It continues.
    Running,
    /// It pauses as soon as nothing is running anymore.
    Suspending,
    /// It is paused and can be resumed.
    Suspended,
    /// It ends as soon as nothing is running anymore.
    Cancelling,
}

/// How a run will end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, in one line.
    pub reason: String,
    /// The attempt whose tree was selected to remain.
    pub final_attempt: Option<u32>,
}

/// The phase of a run. Derived from pending effects, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The snapshot of the start is taken.
    Preparing,
    /// The checks are running on the starting tree.
    Baseline,
    /// The agent is running.
    Executing(u32),
    /// The usage limit of the agent's subscription is reached.
    Waiting,
    /// The snapshot of the attempt is taken.
    Sealing,
    /// The checks are running.
    Verifying(u32),
    /// A tier above the checks is running.
    Judging(u32),
    /// The tree for the next attempt is being restored.
    Restoring,
    /// The final tree is being restored.
    Delivering,
    /// A person has to decide.
    AwaitingReview,
    /// Between two attempts without a pending effect: only while suspended or stopping.
    Between,
    /// The run has ended.
    Finished,
}

impl Run {
    /// Maximum number of attempts that end at a usage limit before the run no longer waits: an agent whose limit is
    /// reached again at once would otherwise never stop.
    pub const MAX_USAGE_LIMITS: usize = 12;

    /// Whether more attempts than this maximum ended at a usage limit.
    pub fn has_too_many_usage_limits(&self) -> bool {
        let limited = self.attempts.iter();
        let limited = limited.filter(|it| it.end == Some(AttemptEnd::UsageLimit));
        limited.count() > Self::MAX_USAGE_LIMITS
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        if self.finished {
            return Phase::Finished;
        }
        if self.review.is_some() {
            return Phase::AwaitingReview;
        }
        match self.pending.first().map(|pending| &pending.kind) {
            None => Phase::Between,
            Some(EffectKind::Baseline) => Phase::Baseline,
            Some(EffectKind::Execute { attempt_number }) => Phase::Executing(*attempt_number),
            Some(EffectKind::Wait { .. }) => Phase::Waiting,
            Some(EffectKind::Verify { attempt_number }) => Phase::Verifying(*attempt_number),
            Some(EffectKind::Judge { attempt_number, .. }) => Phase::Judging(*attempt_number),
            Some(EffectKind::Snapshot {
                moment: SnapshotReason::Start,
            }) => Phase::Preparing,
            Some(EffectKind::Snapshot {
                moment: SnapshotReason::After,
            }) => Phase::Sealing,
            Some(EffectKind::Restore { .. }) if self.conclusion.is_some() => Phase::Delivering,
            Some(
                EffectKind::Restore { .. }
                | EffectKind::Snapshot {
                    moment: SnapshotReason::Backup,
                },
            ) => Phase::Restoring,
        }
    }

    /// The attempt whose tree is in the workspace; if there is none, the last one that has a tree.
    pub fn current_attempt(&self) -> Option<&Attempt> {
        let sealed = || self.attempts.iter().rev().filter(|it| it.tree.is_some());
        let in_workspace = sealed().find(|it| it.tree == self.current_tree);
        in_workspace.or_else(|| sealed().next())
    }

    /// The work that awaits review: the last verified attempt. `None` if no review is pending.
    pub fn review_target(&self) -> Option<ReviewTarget> {
        self.review.as_ref()?;
        let (attempt, _) = self.verified_attempts().next_back()?;
        Some(ReviewTarget {
            attempt: Some(attempt.attempt_number),
            tree: attempt.tree.clone(),
        })
    }

    /// Its outcome, or the outcome if its program stopped now.
    pub fn outcome(&self) -> Outcome {
        match (&self.conclusion, self.finished) {
            (Some(decided), true) => decided.outcome,
            _ if self.review.is_some() => Outcome::NeedsReview,
            _ => Outcome::Interrupted,
        }
    }

    /// Whether the agent changed no files: the last verified tree is the one from which the run began, and no excluded
    /// content was deleted. `None` if that is unknown, and for deterministic agents, which are not expected to change
    /// files.
    pub fn is_unchanged(&self) -> Option<bool> {
        if self.spec.is_deterministic() {
            return None;
        }
        let (attempt, _) = self.verified_attempts().next_back()?;
        let (start, tree) = (self.start_tree.as_ref()?, attempt.tree.as_ref()?);
        let is_same_beside = self.deleted_excluded().is_none() && attempt.changed_tools.is_none();
        Some(start == tree && is_same_beside)
    }

    /// Whether no work was done at all. Later subtasks of a plan are exempt: earlier ones may have done their work.
    pub(crate) fn has_no_work(&self) -> bool {
        let base = self.spec.test_base.as_ref();
        self.is_unchanged() == Some(true)
            && base.is_none_or(|it| Some(it) == self.start_tree.as_ref())
    }

    /// Content excluded from snapshots that was deleted since the run began, as of the last session.
    pub fn deleted_excluded(&self) -> Option<&ExcludedContent> {
        self.sessions().next_back()?.deleted_unkept.as_deref()
    }

    /// The attempt that has begun and not ended.
    pub fn open_attempt(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.end.is_none())
    }

    /// When the usage limit that the run waits for is reset; `None` if it waits for none.
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.pending.iter().find_map(|pending| match pending.kind {
            EffectKind::Wait { until } => Some(until),
            _ => None,
        })
    }

    /// The attempt with this number.
    pub fn attempt(&self, attempt_number: u32) -> Option<&Attempt> {
        self.attempts
            .iter()
            .find(|attempt| attempt.attempt_number == attempt_number)
    }

    /// Verified attempts, in order: only these count against the retry limit.
    pub fn verified_attempts(&self) -> impl DoubleEndedIterator<Item = (&Attempt, &Report)> {
        self.attempts
            .iter()
            .filter(|attempt| attempt.end == Some(AttemptEnd::Report))
            .filter_map(|attempt| attempt.report.as_ref().map(|report| (attempt, report)))
    }

    /// Number of attempts that count against the retry limit.
    pub fn used_attempts(&self) -> u32 {
        u32::try_from(self.verified_attempts().count()).unwrap_or(u32::MAX)
    }

    /// The cost of all sessions and judgements, including interrupted ones. If one was interrupted before it reported
    /// its cost, the sum is `unknown`: a lower bound.
    pub fn cost(&self) -> Cost {
        let lost = (self.lost_judgements > 0).then_some(Cost::UNKNOWN);
        self.attempts
            .iter()
            .map(Attempt::cost)
            .chain(lost)
            .fold(Cost::ZERO, |sum, cost| sum + cost)
    }

    /// Whether a session of the agent has begun and not ended, so that its cost is not known yet.
    pub fn is_session_open(&self) -> bool {
        let last = self.attempts.last();
        last.is_some_and(|attempt| attempt.session.is_none() && attempt.end.is_none())
    }

    /// The cost of the most expensive attempt, as far as is known.
    pub fn max_attempt_cost(&self) -> MicroUsd {
        self.attempts
            .iter()
            .map(|attempt| attempt.cost().at_least())
            .max()
            .unwrap_or_default()
    }

    /// The budget of the next attempt's session.
    pub fn remaining_for_attempt(&self) -> RemainingBudget {
        budget::remaining_budget(self, true)
    }

    /// The budget of a judge.
    pub fn remaining_budget(&self) -> RemainingBudget {
        budget::remaining_budget(self, false)
    }

    /// The tokens of all sessions and judgements.
    pub fn usage(&self) -> Usage {
        let judged = self.attempts.iter().flat_map(Attempt::gates);
        self.sessions()
            .map(|session| session.usage)
            .chain(judged.map(GateReport::usage))
            .fold(Usage::default(), |sum, usage| sum + usage)
    }

    /// Total duration of agents' sessions, in milliseconds.
    pub fn execution_ms(&self) -> u64 {
        self.sessions()
            .map(|session| session.duration_ms)
            .fold(0, u64::saturating_add)
    }

    /// Duration of the baseline, in milliseconds.
    pub fn baseline_ms(&self) -> u64 {
        let baseline = self.baseline.as_ref();
        baseline.map_or(0, |baseline| baseline.duration_ms)
    }

    /// Total duration of sessions, verifications and judgements, in milliseconds.
    pub fn active_ms(&self) -> u64 {
        let verification = self
            .attempts
            .iter()
            .filter_map(|attempt| attempt.report.as_ref());
        let judged = self.attempts.iter().flat_map(Attempt::gates);
        verification
            .map(|report| report.duration_ms)
            .chain(judged.map(|gate| gate.duration_ms))
            .fold(self.execution_ms(), u64::saturating_add)
    }

    /// All sessions that have ended.
    pub fn sessions(&self) -> impl DoubleEndedIterator<Item = &SessionOutcome> {
        self.attempts
            .iter()
            .filter_map(|attempt| attempt.session.as_ref())
    }

    /// The pending effect with this id.
    pub fn effect(&self, id: EffectId) -> Option<&PendingEffect> {
        self.pending.iter().find(|pending| pending.id == id)
    }

    /// An at-most-once effect that was started and has not ended.
    pub fn started_irreversible(&self) -> Option<&PendingEffect> {
        self.pending.iter().find(|pending| {
            pending.started && pending.kind.retry_policy() == RetryPolicy::AtMostOnce
        })
    }

    /// Its final tree: of the delivered attempt, or else of the last judged one.
    pub fn final_tree(&self) -> Option<TreeId> {
        let judged = self.verified_attempts().next_back();
        let delivered = self
            .conclusion
            .as_ref()
            .and_then(|decided| decided.final_attempt);
        let delivered = delivered.and_then(|number| self.attempt(number));
        let tree = delivered.and_then(|attempt| attempt.tree.clone());
        tree.or_else(|| judged.and_then(|(attempt, _)| attempt.tree.clone()))
    }

    /// The baseline's report of the step at an index of the plan.
    pub fn baseline_of(&self, index: usize, kind: StepKind, target: &str) -> Option<&CheckReport> {
        let before = self.baseline.as_ref()?.checks.get(index)?;
        (before.kind == kind && before.target == target).then_some(before)
    }

    /// Whether that step passed before the agent began, if it can run again on that tree: distinguishes a new flake
    /// from an old one.
    pub fn baseline_passed(&self, index: usize, kind: StepKind, target: &str) -> Option<bool> {
        let before = self.baseline_of(index, kind, target)?;
        let judged = before.status == CheckStatus::Pass || before.status.is_failure();
        (judged && self.start_tree.is_some()).then_some(before.status == CheckStatus::Pass)
    }
}

impl Attempt {
    /// The cost of its session and its judges; unknown if the session has not ended.
    pub fn cost(&self) -> Cost {
        let session = match (&self.session, self.end) {
            (Some(session), _) => session.cost,
            (None, None) => Cost::ZERO,
            (None, Some(_)) => Cost::UNKNOWN,
        };
        let judged = self.gates().iter().map(GateReport::cost);
        judged.fold(session, |sum, cost| sum + cost)
    }

    /// The reports of the tiers above the checks.
    pub fn gates(&self) -> &[GateReport] {
        self.report.as_ref().map_or(&[], |report| &report.gates)
    }
}
