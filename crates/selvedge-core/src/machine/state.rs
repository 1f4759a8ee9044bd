//! What is known of a run: nothing but the fold of its events.

use super::budget::{self, RemainingBudget};
use std::sync::Arc;

use crate::model::{
    AgentKind, AttemptEnd, Baseline, Cost, EffectId, EffectKind, ExcludedContent, GateReport,
    MicroUsd, Outcome, Prompt, Report, RetryPolicy, ReviewRecord, ReviewTarget, RunId, RunSpec,
    SessionOutcome, SnapshotReason, Timestamp, ToolFolderChanges, TreeId, Usage,
};
use crate::plan::Plan;

/// The fold of a journal, from the empty one on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JournalState {
    /// The run, once it has been created.
    pub run: Option<Run>,
    /// The plan, if it is one: then there is no run here, but one for each subtask elsewhere.
    pub plan: Option<Plan>,
    /// Sequence number of the last event; 0 for none.
    pub seq: u64,
    /// Types of events that this program does not know. A run that has any can be shown, not resumed.
    pub unknown: Vec<String>,
}

/// One task carried through to one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name.
    pub run_id: RunId,
    /// Everything that it depends on, frozen.
    pub spec: Arc<RunSpec>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last event was appended.
    pub updated_at: Timestamp,
    /// What is to be done in the world.
    pub pending: Vec<PendingEffect>,
    /// All attempts, in order; the last may be open.
    pub attempts: Vec<Attempt>,
    /// Whether somebody asked it to stop.
    pub control: RunControl,
    /// The tree that it began from.
    pub start_tree: Option<TreeId>,
    /// What is too large for that tree.
    pub excluded: Option<Box<ExcludedContent>>,
    /// How the checks stood before the agent began.
    pub baseline: Option<Arc<Baseline>>,
    /// The tree that stands in the workspace, as far as is known.
    pub current_tree: Option<TreeId>,
    /// Trees that stood in the workspace, were put aside, and are no attempt's: what a session that
    /// was cut off had done, or a person meanwhile.
    pub backup_trees: Vec<TreeId>,
    /// Attempts that a crash cut off.
    pub crashes: u32,
    /// Verification runs of the open attempt that could not be carried out.
    pub verification_retries: u32,
    /// Judgements that were cut off, and whose cost is not known.
    pub lost_judgements: u32,
    /// Why a person has to decide, while one has to.
    pub review: Option<String>,
    /// A person's last decision, until another attempt begins.
    pub reviewed: Option<ReviewRecord>,
    /// A reviewer's reason, for the next correction.
    pub feedback: Option<String>,
    /// How it will end, once that is decided.
    pub conclusion: Option<Conclusion>,
    /// Whether it is over.
    pub finished: bool,
}

/// An effect that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEffect {
    /// Its name.
    pub id: EffectId,
    /// What is to be done.
    pub kind: EffectKind,
    /// Whether a once-only effect was started. Started and not ended after a crash means
    /// interrupted: it is never silently repeated.
    pub started: bool,
}

/// One agent session, then one verification run.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// 1, 2, 3 …
    pub run_number: u32,
    /// Which verification retry it is; 0 for the first try.
    pub retry: u32,
    /// What the agent was told.
    pub prompt: Prompt,
    /// The tree that it began from.
    pub from_tree: Option<TreeId>,
    /// The tree that it left behind.
    pub tree: Option<TreeId>,
    /// What it left in folders of installed tools that is not as it was before the run.
    pub changed_tools: Option<ToolFolderChanges>,
    /// When it began.
    pub began_at: Timestamp,
    /// The session's account.
    pub session: Option<SessionOutcome>,
    /// What the checks found.
    pub report: Option<Report>,
    /// How it was closed.
    pub end: Option<AttemptEnd>,
}

/// Whether somebody asked the run to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunControl {
    /// It goes on.
    Running,
    /// It stops for now, as soon as nothing runs any more.
    Suspending,
    /// It stands still and can be resumed.
    Suspended,
    /// It stops for good, as soon as nothing runs any more.
    Cancelling,
}

/// How a run will end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The outcome.
    pub outcome: Outcome,
    /// Why, in one line.
    pub reason: String,
    /// The attempt whose tree was chosen to stay.
    pub final_attempt: Option<u32>,
}

/// Where a run stands. Derived from what is pending, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The starting tree is being kept.
    Preparing,
    /// The checks are at work on the starting tree.
    Baseline,
    /// The agent is at work.
    Executing(u32),
    /// The attempt's tree is being kept.
    Sealing,
    /// The checks are at work.
    Verifying(u32),
    /// A tier above the checks is asked.
    Judging(u32),
    /// The tree for the next attempt is being put in place.
    Restoring,
    /// The tree that stays is being put in place.
    Delivering,
    /// A person has to decide.
    AwaitingReview,
    /// Between two attempts with nothing to do: only while suspended or stopping.
    Between,
    /// Over.
    Finished,
}

impl Run {
    /// Where it stands.
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
            Some(EffectKind::Execute { run_number }) => Phase::Executing(*run_number),
            Some(EffectKind::Verify { run_number }) => Phase::Verifying(*run_number),
            Some(EffectKind::Judge { run_number, .. }) => Phase::Judging(*run_number),
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

    /// The attempt whose tree stands in the workspace; the last one that has a tree where that is none's.
    pub fn current_attempt(&self) -> Option<&Attempt> {
        let sealed = || self.attempts.iter().rev().filter(|it| it.tree.is_some());
        let standing = sealed().find(|it| it.tree == self.current_tree);
        standing.or_else(|| sealed().next())
    }

    /// The work that a person has to decide on, while one has to: the last attempt that was verified.
    pub fn review_target(&self) -> Option<ReviewTarget> {
        self.review.as_ref()?;
        let (attempt, _) = self.verified_attempts().next_back()?;
        Some(ReviewTarget {
            attempt: Some(attempt.run_number),
            tree: attempt.tree.clone(),
        })
    }

    /// How it ended, or stands when its program stops here.
    pub fn outcome(&self) -> Outcome {
        match (&self.conclusion, self.finished) {
            (Some(decided), true) => decided.outcome,
            _ if self.review.is_some() => Outcome::NeedsReview,
            _ => Outcome::Interrupted,
        }
    }

    /// Whether the agent changed no files: the tree that was verified last is the one that the run began from,
    /// and nothing is gone that no tree holds. `None` where that is not known, and for shell tasks, which are
    /// not expected to change files.
    pub fn is_unchanged(&self) -> Option<bool> {
        if self
            .spec
            .agents()
            .all(|agent| agent.kind == AgentKind::Shell)
        {
            return None;
        }
        let (attempt, _) = self.verified_attempts().next_back()?;
        let (start, tree) = (self.start_tree.as_ref()?, attempt.tree.as_ref()?);
        let is_same_beside = self.deleted_excluded().is_none() && attempt.changed_tools.is_none();
        Some(start == tree && is_same_beside)
    }

    /// Whether no work was done at all. A later subtask of a plan may find that its work was done by those before it.
    pub(crate) fn has_no_work(&self) -> bool {
        let base = self.spec.test_base.as_ref();
        self.is_unchanged() == Some(true)
            && base.is_none_or(|it| Some(it) == self.start_tree.as_ref())
    }

    /// What no tree holds and is gone since the run began, as of the last session.
    pub fn deleted_excluded(&self) -> Option<&ExcludedContent> {
        self.sessions().next_back()?.deleted_unkept.as_deref()
    }

    /// The attempt that has begun and is not closed.
    pub fn open_attempt(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| attempt.end.is_none())
    }

    /// The attempt of that number.
    pub fn attempt(&self, run_number: u32) -> Option<&Attempt> {
        self.attempts
            .iter()
            .find(|attempt| attempt.run_number == run_number)
    }

    /// Attempts that were verified, in order: the only ones that are charged.
    pub fn verified_attempts(&self) -> impl DoubleEndedIterator<Item = (&Attempt, &Report)> {
        self.attempts
            .iter()
            .filter(|attempt| attempt.end == Some(AttemptEnd::Report))
            .filter_map(|attempt| attempt.report.as_ref().map(|report| (attempt, report)))
    }

    /// How many attempts were charged.
    pub fn used_attempts(&self) -> u32 {
        u32::try_from(self.verified_attempts().count()).unwrap_or(u32::MAX)
    }

    /// What all sessions and judgements together cost, interrupted ones included. One that was cut
    /// off before it could tell makes the sum `unknown`: at least so much.
    pub fn cost(&self) -> Cost {
        let lost = (self.lost_judgements > 0).then_some(Cost::UNKNOWN);
        self.attempts
            .iter()
            .map(Attempt::cost)
            .chain(lost)
            .fold(Cost::ZERO, |sum, cost| sum + cost)
    }

    /// What the dearest attempt cost, as far as is known.
    pub fn max_attempt_cost(&self) -> MicroUsd {
        self.attempts
            .iter()
            .map(|attempt| attempt.cost().at_least())
            .max()
            .unwrap_or_default()
    }

    /// What the session of the next attempt may use.
    pub fn remaining_for_attempt(&self) -> RemainingBudget {
        budget::remaining_budget(self, true)
    }

    /// What a judge may use.
    pub fn remaining_budget(&self) -> RemainingBudget {
        budget::remaining_budget(self, false)
    }

    /// The tokens of all sessions and judgements together.
    pub fn usage(&self) -> Usage {
        let judged = self.attempts.iter().flat_map(Attempt::gates);
        self.sessions()
            .map(|session| session.usage)
            .chain(judged.map(GateReport::usage))
            .fold(Usage::default(), |sum, usage| sum + usage)
    }

    /// Milliseconds in agents' sessions.
    pub fn execution_ms(&self) -> u64 {
        self.sessions()
            .map(|session| session.duration_ms)
            .fold(0, u64::saturating_add)
    }

    /// Milliseconds in sessions, verification runs and judgements.
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

    /// The pending effect of that name.
    pub fn effect(&self, id: EffectId) -> Option<&PendingEffect> {
        self.pending.iter().find(|pending| pending.id == id)
    }

    /// A once-only effect that was started and has not ended.
    pub fn started_irreversible(&self) -> Option<&PendingEffect> {
        self.pending.iter().find(|pending| {
            pending.started && pending.kind.retry_policy() == RetryPolicy::AtMostOnce
        })
    }
}

impl Attempt {
    /// What its session and its judges cost. A session that has not ended cost an unknown amount.
    pub fn cost(&self) -> Cost {
        let session = match (&self.session, self.end) {
            (Some(session), _) => session.cost,
            (None, None) => Cost::ZERO,
            (None, Some(_)) => Cost::UNKNOWN,
        };
        let judged = self.gates().iter().map(GateReport::cost);
        judged.fold(session, |sum, cost| sum + cost)
    }

    /// What the tiers above the checks said of it.
    pub fn gates(&self) -> &[GateReport] {
        self.report.as_ref().map_or(&[], |report| &report.gates)
    }
}
