//! Inputs of the state machine, and the errors for inputs that are not allowed.

use crate::model::{
    Baseline, EffectId, ExcludedContent, GateReport, Report, ReviewTarget, RunId, RunSpec,
    SessionOutcome, StaleReviewError, ToolFolderChanges, TreeId,
};

/// An observation or a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Create a run.
    Create {
        /// Its specification.
        spec: Box<RunSpec>,
    },
    /// An at-most-once effect is about to start.
    Start {
        /// The effect.
        effect: EffectId,
    },
    /// A snapshot was taken.
    Snapshotted {
        /// The effect that this answers.
        effect: EffectId,
        /// The tree's id.
        tree: TreeId,
        /// Files that the snapshot's rules left out.
        left_out: u64,
        /// At the start of a run: content that is too large for snapshots.
        unkept: Option<Box<ExcludedContent>>,
        /// After a session: changes in tool folders.
        changed_tools: Option<Box<ToolFolderChanges>>,
    },
    /// The workspace was restored to a snapshot.
    Restored {
        /// The effect that this answers.
        effect: EffectId,
        /// The snapshot of the previous content.
        replaced: Option<TreeId>,
    },
    /// The baseline is complete.
    BaselineTaken {
        /// The effect that this answers.
        effect: EffectId,
        /// The baseline.
        baseline: Box<Baseline>,
    },
    /// The agent's session ended.
    SessionEnded {
        /// The effect that this answers.
        effect: EffectId,
        /// Its outcome.
        outcome: Box<SessionOutcome>,
    },
    /// The usage limit is reset.
    Waited {
        /// The effect that this answers.
        effect: EffectId,
    },
    /// The verification is complete.
    Verified {
        /// The effect that this answers.
        effect: EffectId,
        /// Its report.
        report: Box<Report>,
    },
    /// A tier above the checks is complete.
    Judged {
        /// The effect that this answers.
        effect: EffectId,
        /// Its report.
        gate: Box<GateReport>,
    },
    /// An effect could not be carried out: an infrastructure failure.
    Failed {
        /// The effect that this answers.
        effect: EffectId,
        /// The error.
        error: String,
    },
    /// Pause the run.
    Suspend {
        /// The reason.
        reason: String,
    },
    /// Cancel the run.
    Cancel {
        /// The reason.
        reason: String,
    },
    /// Nothing is running anymore: a requested stop can take effect.
    Settled,
    /// Resume the run. The driver has verified that no process of the old process tree is alive.
    Resume,
    /// A person decided.
    Review {
        /// The reviewed work, as far as the reviewer named it.
        named: ReviewTarget,
        /// Whether the work is accepted.
        accepted: bool,
        /// Whether a rejection starts another attempt.
        retry: bool,
        /// The reviewer.
        by: String,
        /// The name that the request gave; not verified.
        stated_by: Option<String>,
        /// The reason.
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
            Self::Waited { .. } => "waited",
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

/// An input that the run's state does not allow. Nothing is appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalInputError {
    /// There is no run yet.
    #[error("`{0}` before the run was created")]
    NoRun(&'static str),
    /// There already is a run.
    #[error("the run already exists")]
    AlreadyExists,
    /// The run has ended.
    #[error("run {} is finished", .run_id.short())]
    Finished {
        /// The run.
        run_id: RunId,
        /// The input.
        input: &'static str,
    },
    /// The effect is not pending, or is of another kind.
    #[error("`{input}` answers effect {effect}, which is not pending or is of another kind", effect = .effect.0)]
    NotPending {
        /// The input.
        input: &'static str,
        /// The effect.
        effect: EffectId,
    },
    /// The input is not allowed in the run's phase.
    #[error("`{input}` is not allowed while the run is {phase}")]
    WrongPhase {
        /// The input.
        input: &'static str,
        /// The phase.
        phase: String,
    },
    /// A report of another attempt.
    #[error("the report is for attempt {got}, but the open attempt is {open}")]
    OtherAttempt {
        /// The report's attempt number.
        got: u32,
        /// The open attempt's number.
        open: u32,
    },
    /// No attempt is left after a rejected review.
    #[error("no attempt is left: {used} of {max} are used")]
    NoAttemptLeft {
        /// Attempts used so far.
        used: u32,
        /// Attempts allowed.
        max: u32,
    },
    /// Different work awaits review than the reviewer named.
    #[error(transparent)]
    StaleReview(#[from] StaleReviewError),
    /// The journal holds events of a later release.
    #[error("the journal contains events that this version does not support: {0}")]
    UnknownEvents(String),
}
