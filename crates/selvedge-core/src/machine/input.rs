//! What the driver may tell the machine, and what it answers when that cannot be.

use crate::model::{
    Baseline, EffectId, ExcludedContent, GateReport, Report, ReviewTarget, RunId, RunSpec,
    SessionOutcome, StaleReviewError, ToolFolderChanges, TreeId,
};

/// Something that was observed, or asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A run is to be made.
    Create {
        /// Everything that it depends on.
        spec: Box<RunSpec>,
    },
    /// A once-only effect is about to be carried out.
    Start {
        /// Which.
        effect: EffectId,
    },
    /// A tree was kept.
    Snapshotted {
        /// The effect that this answers.
        effect: EffectId,
        /// Its name.
        tree: TreeId,
        /// Files that the snapshot's rules left out.
        left_out: u64,
        /// At the start of a run: what is too large to be kept.
        unkept: Option<Box<ExcludedContent>>,
        /// After a session: what is not as it was in folders of installed tools.
        changed_tools: Option<Box<ToolFolderChanges>>,
    },
    /// The workspace is equal to a kept tree.
    Restored {
        /// The effect that this answers.
        effect: EffectId,
        /// What stood there before.
        replaced: Option<TreeId>,
    },
    /// The checks have spoken of the tree that the run begins from.
    BaselineTaken {
        /// The effect that this answers.
        effect: EffectId,
        /// What they said.
        baseline: Box<Baseline>,
    },
    /// The agent's session is over.
    SessionEnded {
        /// The effect that this answers.
        effect: EffectId,
        /// Its account.
        outcome: Box<SessionOutcome>,
    },
    /// The checks have spoken.
    Verified {
        /// The effect that this answers.
        effect: EffectId,
        /// All that they found.
        report: Box<Report>,
    },
    /// A tier above the checks has spoken.
    Judged {
        /// The effect that this answers.
        effect: EffectId,
        /// What it said.
        gate: Box<GateReport>,
    },
    /// An effect could not be carried out: infrastructure.
    Failed {
        /// The effect that this answers.
        effect: EffectId,
        /// Why.
        error: String,
    },
    /// Stop for now.
    Suspend {
        /// Why.
        reason: String,
    },
    /// Stop for good.
    Cancel {
        /// Why.
        reason: String,
    },
    /// Nothing runs any more: a stop that was asked for can take place.
    Settled,
    /// Take the run up again. The driver has proved that nothing of the old process tree lives.
    Resume,
    /// A person decided.
    Review {
        /// The work that they looked at, as far as they named it.
        named: ReviewTarget,
        /// Whether the work is accepted.
        accepted: bool,
        /// Whether a rejection starts another attempt.
        retry: bool,
        /// Who.
        by: String,
        /// The name that the request gave; not verified.
        stated_by: Option<String>,
        /// Why.
        reason: String,
    },
}

impl Input {
    /// Its name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Start { .. } => "start",
            Self::Snapshotted { .. } => "snapshotted",
            Self::Restored { .. } => "restored",
            Self::BaselineTaken { .. } => "baseline taken",
            Self::SessionEnded { .. } => "session ended",
            Self::Verified { .. } => "verified",
            Self::Judged { .. } => "judged",
            Self::Failed { .. } => "failed",
            Self::Suspend { .. } => "suspend",
            Self::Cancel { .. } => "cancel",
            Self::Settled => "settled",
            Self::Resume => "resume",
            Self::Review { .. } => "review",
        }
    }
}

/// An input that the state of the run does not allow. Nothing is appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalInputError {
    /// There is no run yet.
    #[error("`{0}` before the run was created")]
    NoRun(&'static str),
    /// There is one already.
    #[error("the run exists already")]
    AlreadyExists,
    /// It is over.
    #[error("run {} is finished", .run_id.short())]
    Finished {
        /// Which.
        run_id: RunId,
        /// What was said.
        input: &'static str,
    },
    /// The effect is not pending, or is of another kind.
    #[error("`{input}` answers effect {effect}, which is not pending as such", effect = .effect.0)]
    NotPending {
        /// What was said.
        input: &'static str,
        /// Of which effect.
        effect: EffectId,
    },
    /// It does not fit where the run stands.
    #[error("`{input}` does not fit a run that is {phase}")]
    WrongPhase {
        /// What was said.
        input: &'static str,
        /// Where the run stands.
        phase: String,
    },
    /// A report of another attempt.
    #[error("the report is of attempt {got}, the open attempt is {open}")]
    OtherAttempt {
        /// The report's.
        got: u32,
        /// The open one's.
        open: u32,
    },
    /// No attempt is left for a rejected review.
    #[error("no attempt is left: {used} of {max} are used up")]
    NoAttemptLeft {
        /// Charged so far.
        used: u32,
        /// Allowed.
        max: u32,
    },
    /// Other work is awaiting review than the reviewer named.
    #[error(transparent)]
    StaleReview(#[from] StaleReviewError),
    /// The journal holds events of a later release.
    #[error("the journal holds events that this version does not know: {0}")]
    UnknownEvents(String),
}
