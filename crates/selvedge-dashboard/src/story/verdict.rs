//! The verdict on one attempt: of its session, its checks, its judges and the people who reviewed it.

use selvedge_core::model::{AttemptEnd, Outcome, Report, ReportStatus};
use selvedge_core::run::{Attempt, Phase, Run};

use crate::text::single_line;

/// How a verdict is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It counts: verified.
    Good,
    /// It counts, because a person accepted it.
    Person,
    /// It does not count.
    Bad,
    /// It is not decided.
    Warn,
    /// It is in progress.
    Live,
    /// There is nothing to decide.
    Calm,
}

impl Tone {
    /// Class of the stylesheet; also the name of its icon.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Person => "person",
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Live => "live",
            Self::Calm => "calm",
        }
    }
}

/// The verdict on one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The agent is running.
    Running,
    /// The checks are running.
    Verifying,
    /// The judges are asked.
    Judging,
    /// Checks and judges accept it, and the run ended as verified with it.
    Verified,
    /// A person accepted it.
    AcceptedBy(String),
    /// A person has to decide.
    AwaitingReview,
    /// A person rejected it.
    RejectedBy(String),
    /// The checks pass, but a judge rejects it.
    RejectedByJudge(u8),
    /// A judge gave no verdict.
    Undecided(u8),
    /// Checks fail.
    ChecksFailed(u32, u32),
    /// The time limit of the verification was reached.
    TimedOut,
    /// Checks could not be run.
    CouldNotRun,
    /// The checks pass, but it does not count.
    NotAccepted,
    /// The checks pass, and the run continues.
    Passed,
    /// Nothing was checked.
    Unchecked,
    /// The session failed.
    SessionFailed,
    /// It was interrupted; this does not count as a retry.
    Interrupted,
    /// The usage limit of the agent's subscription was reached; this does not count as a retry.
    UsageLimit,
    /// It was cancelled.
    Cancelled,
}

impl AttemptVerdict {
    /// The verdict on an attempt of a run.
    pub fn of(run: &Run, attempt: &Attempt) -> Self {
        match attempt.end {
            Some(AttemptEnd::SessionFailed) => return Self::SessionFailed,
            Some(AttemptEnd::Interrupted) => return Self::Interrupted,
            Some(AttemptEnd::UsageLimit) => return Self::UsageLimit,
            Some(AttemptEnd::Cancelled) => return Self::Cancelled,
            Some(AttemptEnd::Report) | None => {}
        }
        let Some(report) = &attempt.report else {
            return match attempt.session {
                Some(_) => Self::Verifying,
                None => Self::Running,
            };
        };
        if let Some(review) = &attempt.reviewed {
            let name = single_line(&review.by, 40);
            return if review.accepted {
                Self::AcceptedBy(name)
            } else {
                Self::RejectedBy(name)
            };
        }
        let number = attempt.attempt_number;
        let target = run.review_target().and_then(|target| target.attempt);
        if target == Some(number) {
            return Self::AwaitingReview;
        }
        let summary = report.summary;
        match report.status {
            ReportStatus::Skip | ReportStatus::AutoPass => Self::Unchecked,
            ReportStatus::Timeout => Self::TimedOut,
            ReportStatus::Error => Self::CouldNotRun,
            ReportStatus::Fail => match report.rejecting_gate() {
                Some(gate) if summary.failed == 0 => Self::RejectedByJudge(gate.tier),
                _ if summary.failed == 0 => Self::NotAccepted,
                _ => Self::ChecksFailed(summary.failed, summary.total),
            },
            ReportStatus::Pass => Self::of_passed(run, attempt),
        }
    }

    fn of_passed(run: &Run, attempt: &Attempt) -> Self {
        let number = attempt.attempt_number;
        if run.phase() == Phase::Judging(number) {
            return Self::Judging;
        }
        let blocking = attempt.report.as_ref().and_then(Report::blocking_gate);
        if let Some(gate) = blocking {
            return Self::Undecided(gate.tier);
        }
        let last = run.attempts.last().map(|it| it.attempt_number);
        match (run.finished, run.outcome()) {
            (true, Outcome::Verified) if last == Some(number) => Self::Verified,
            (true, Outcome::NeedsReview) if last == Some(number) => Self::AwaitingReview,
            (true, Outcome::Unchecked) => Self::Unchecked,
            (false, _) if last == Some(number) => Self::Passed,
            // The checks passed, but the run continued or ended with another outcome.
            _ => Self::NotAccepted,
        }
    }

    /// How it is shown.
    pub const fn tone(&self) -> Tone {
        match self {
            Self::Verified => Tone::Good,
            Self::AcceptedBy(_) => Tone::Person,
            Self::Running | Self::Verifying | Self::Judging | Self::Passed => Tone::Live,
            Self::AwaitingReview | Self::Undecided(_) | Self::CouldNotRun => Tone::Warn,
            Self::RejectedBy(_)
            | Self::RejectedByJudge(_)
            | Self::ChecksFailed(..)
            | Self::TimedOut
            | Self::NotAccepted
            | Self::SessionFailed => Tone::Bad,
            Self::Unchecked | Self::Interrupted | Self::UsageLimit | Self::Cancelled => Tone::Calm,
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Running => "agent running".to_owned(),
            Self::Verifying => "checks running".to_owned(),
            Self::Judging => "checks pass, waiting for judges".to_owned(),
            Self::Verified => "verified".to_owned(),
            Self::AcceptedBy(name) => format!("accepted by {name}"),
            Self::AwaitingReview => "awaiting review".to_owned(),
            Self::RejectedBy(name) => format!("rejected by {name}"),
            Self::RejectedByJudge(tier) => format!("checks pass, tier {tier} rejects it"),
            Self::Undecided(tier) => format!("checks pass, tier {tier} gave no verdict"),
            Self::ChecksFailed(failed, 1) if *failed == 1 => "check failed".to_owned(),
            Self::ChecksFailed(failed, total) => format!("{failed} of {total} checks failed"),
            Self::TimedOut => "verification timed out".to_owned(),
            Self::CouldNotRun => "checks could not run".to_owned(),
            Self::NotAccepted => "checks pass, not accepted".to_owned(),
            Self::Passed => "checks pass".to_owned(),
            Self::Unchecked => "not checked".to_owned(),
            Self::SessionFailed => "session failed".to_owned(),
            Self::Interrupted => "interrupted, no retry used".to_owned(),
            Self::UsageLimit => "usage limit reached, no retry used".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
        }
    }
}
