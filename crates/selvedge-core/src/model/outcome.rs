//! Outcomes of a run, and their exit codes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a run. Each value has one meaning and one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every requested gate passed.
    Verified,
    /// Nothing was checked: verification was switched off, or there was nothing to check.
    Unchecked,
    /// The attempts are exhausted and checks still fail.
    MaxRetriesExhausted,
    /// The same failure on the same tree, twice: another attempt would change nothing.
    Stuck,
    /// The agent's session failed.
    Failed,
    /// The agent reports that the task cannot be satisfied.
    CannotSatisfy,
    /// The session's time limit was reached, or it had no output for too long.
    Timeout,
    /// The agent's own turn limit was reached.
    TurnLimit,
    /// A limit on cost, tokens or time was reached.
    Budget,
    /// A person has to decide.
    NeedsReview,
    /// The checks pass, but the agent changed nothing, even after a reminder.
    Unchanged,
    /// It passed only by weakening the checks, twice.
    Tampered,
    /// The infrastructure failed: disk full, checks that could not start, too many crashes.
    InfraFailed,
    /// Stopped before the end; `selvedge resume` continues it.
    Interrupted,
    /// Cancelled by a person or the hub.
    Cancelled,
}

/// The verdict in the terms of the older wire contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationStatus {
    /// Passed or unchecked: the outcome distinguishes them.
    Verified,
    /// Work was done and checks still fail.
    PartialPass,
    /// The agent's session failed.
    ExecutionFailed,
    /// A person has to decide.
    NeedsReview,
    /// The infrastructure failed.
    InfraFailed,
}

/// Exit codes of the program: part of the stable interface.
pub mod exit_code {
    /// All requested gates passed (or nothing was to be checked, which is reported).
    pub const VERIFIED: u8 = 0;
    /// Checks still fail.
    pub const CHECKS_FAILED: u8 = 1;
    /// Usage or configuration: nothing was run.
    pub const USAGE: u8 = 2;
    /// The agent's session failed, or it reports that the task cannot be satisfied.
    pub const AGENT_FAILED: u8 = 3;
    /// The session's time limit was reached, or it had no output for too long.
    pub const TIMEOUT: u8 = 4;
    /// The agent's turn limit was reached.
    pub const TURN_LIMIT: u8 = 5;
    /// The run's limit on cost, tokens or time was reached.
    pub const BUDGET: u8 = 6;
    /// A person has to decide.
    pub const NEEDS_REVIEW: u8 = 7;
    /// Passed only by weakening the checks.
    pub const TAMPERED: u8 = 8;
    /// Disk full, sandbox refused, checks could not start, output that could not be written.
    pub const INFRASTRUCTURE: u8 = 9;
    /// Cancelled by a person or the hub.
    pub const CANCELLED: u8 = 10;
    /// The checks pass, and the agent changed nothing.
    pub const UNCHANGED: u8 = 11;
    /// A worker that takes one task got none in time.
    pub const NO_TASK: u8 = 12;
    /// Interrupted by SIGINT (Ctrl-C); resumable.
    pub const INTERRUPTED: u8 = 130;
    /// Interrupted by SIGTERM; resumable.
    pub const TERMINATED: u8 = 143;
}

/// The reason that marks a run whose agent changed no files.
pub(crate) const UNCHANGED_REASON: &str = "the agent changed no files";

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 15] = [
        Self::Verified,
        Self::Unchecked,
        Self::MaxRetriesExhausted,
        Self::Stuck,
        Self::Failed,
        Self::CannotSatisfy,
        Self::Timeout,
        Self::TurnLimit,
        Self::Budget,
        Self::NeedsReview,
        Self::Unchanged,
        Self::Tampered,
        Self::InfraFailed,
        Self::Interrupted,
        Self::Cancelled,
    ];

    /// Whether no check failed at the end; a person may still have to decide.
    pub const fn passed_checks(self) -> bool {
        matches!(self, Self::Verified | Self::Unchecked | Self::NeedsReview)
    }

    /// The process exit code. After SIGTERM the program exits with [`exit_code::TERMINATED`] instead, which the outcome
    /// does not distinguish.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Verified | Self::Unchecked => exit_code::VERIFIED,
            Self::MaxRetriesExhausted | Self::Stuck => exit_code::CHECKS_FAILED,
            Self::Failed | Self::CannotSatisfy => exit_code::AGENT_FAILED,
            Self::Timeout => exit_code::TIMEOUT,
            Self::TurnLimit => exit_code::TURN_LIMIT,
            Self::Budget => exit_code::BUDGET,
            Self::NeedsReview => exit_code::NEEDS_REVIEW,
            Self::Unchanged => exit_code::UNCHANGED,
            Self::Tampered => exit_code::TAMPERED,
            Self::InfraFailed => exit_code::INFRASTRUCTURE,
            Self::Cancelled => exit_code::CANCELLED,
            Self::Interrupted => exit_code::INTERRUPTED,
        }
    }

    /// The `status` of a result, in the terms of the older contract.
    pub const fn status_word(self) -> &'static str {
        match self {
            Self::Verified | Self::Unchecked => "completed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::NeedsReview => "needs_review",
            _ => "failed",
        }
    }

    /// The verdict in the terms of the older contract; `reported`: whether any attempt has a report. Interrupted runs
    /// have no verdict yet.
    pub const fn verification_status(self, reported: bool) -> Option<VerificationStatus> {
        Some(match self {
            Self::Verified | Self::Unchecked => VerificationStatus::Verified,
            Self::MaxRetriesExhausted | Self::Stuck | Self::Tampered => {
                VerificationStatus::PartialPass
            }
            Self::Budget if reported => VerificationStatus::PartialPass,
            Self::Budget
            | Self::Failed
            | Self::CannotSatisfy
            | Self::Unchanged
            | Self::Timeout
            | Self::TurnLimit
            | Self::Cancelled => VerificationStatus::ExecutionFailed,
            Self::NeedsReview => VerificationStatus::NeedsReview,
            Self::InfraFailed => VerificationStatus::InfraFailed,
            Self::Interrupted => return None,
        })
    }

    /// The wire value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unchecked => "unchecked",
            Self::MaxRetriesExhausted => "max_retries_exhausted",
            Self::Stuck => "stuck",
            Self::Failed => "failed",
            Self::CannotSatisfy => "cannot_satisfy",
            Self::Timeout => "timeout",
            Self::TurnLimit => "turn_limit",
            Self::Budget => "budget",
            Self::NeedsReview => "needs_review",
            Self::Unchanged => "unchanged",
            Self::Tampered => "tampered",
            Self::InfraFailed => "infra_failed",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_exit_code_status_and_name() {
        use Outcome as O;
        use VerificationStatus as V;
        let table = [
            (O::Verified, 0, Some(V::Verified)),
            (O::Unchecked, 0, Some(V::Verified)),
            (O::MaxRetriesExhausted, 1, Some(V::PartialPass)),
            (O::Stuck, 1, Some(V::PartialPass)),
            (O::Failed, 3, Some(V::ExecutionFailed)),
            (O::CannotSatisfy, 3, Some(V::ExecutionFailed)),
            (O::Timeout, 4, Some(V::ExecutionFailed)),
            (O::TurnLimit, 5, Some(V::ExecutionFailed)),
            (O::Budget, 6, Some(V::PartialPass)),
            (O::NeedsReview, 7, Some(V::NeedsReview)),
            (O::Unchanged, 11, Some(V::ExecutionFailed)),
            (O::Tampered, 8, Some(V::PartialPass)),
            (O::InfraFailed, 9, Some(V::InfraFailed)),
            (O::Cancelled, 10, Some(V::ExecutionFailed)),
            (O::Interrupted, 130, None),
        ];
        assert_eq!(O::ALL.len(), table.len());
        for (outcome, code, status) in table {
            assert!(O::ALL.contains(&outcome), "{outcome:?}");
            assert_eq!(outcome.exit_code(), code, "{outcome:?}");
            assert_eq!(outcome.verification_status(true), status, "{outcome:?}");
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
        assert_eq!(
            O::Budget.verification_status(false),
            Some(V::ExecutionFailed)
        );
    }
}
