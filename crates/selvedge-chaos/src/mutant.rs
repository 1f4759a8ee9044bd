//! Deliberate bugs, one for each invariant and a database without syncs. They show that the checker detects
//! violations.

/// A deliberate bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The hub's store ignores idempotency keys.
    ForgetKeys,
    /// It never assigns a task again.
    ForgetRequeued,
    /// It uses the epoch of the last lease again.
    DoubleGrant,
    /// It assigns a task again before its holder stops.
    ReassignEarly,
    /// It accepts the completion of an earlier lease.
    StaleComplete,
    /// It changes the state of a finished task.
    ReopenEnded,
    /// It acknowledges the beginning of an attempt without storing it.
    LoseBegin,
    /// It changes a report.
    AlterReport,
    /// It leaves no retries to a worker that takes a task over.
    ChargeCrashes,
    /// It records each cost twice.
    CountTwice,
    /// It omits a line of its log.
    SkipLog,
    /// It acknowledges a cancellation without storing it.
    LoseCancel,
    /// The hub's disk ignores syncs.
    NoSync,
}

impl Mutant {
    /// All mutants.
    pub const ALL: [Self; 13] = [
        Self::ForgetKeys,
        Self::ForgetRequeued,
        Self::DoubleGrant,
        Self::ReassignEarly,
        Self::StaleComplete,
        Self::ReopenEnded,
        Self::LoseBegin,
        Self::AlterReport,
        Self::ChargeCrashes,
        Self::CountTwice,
        Self::SkipLog,
        Self::LoseCancel,
        Self::NoSync,
    ];

    /// Finds a mutant by its name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        self.name_and_invariant().0
    }

    /// Number of the invariant that it violates, 1 to 12.
    pub const fn invariant(self) -> u8 {
        self.name_and_invariant().1
    }

    const fn name_and_invariant(self) -> (&'static str, u8) {
        match self {
            Self::ForgetKeys => ("forget_keys", 1),
            Self::ForgetRequeued => ("forget_requeued", 2),
            Self::DoubleGrant => ("double_grant", 3),
            Self::ReassignEarly => ("reassign_early", 4),
            Self::StaleComplete => ("stale_complete", 5),
            Self::ReopenEnded => ("reopen_ended", 6),
            Self::LoseBegin => ("lose_begin", 7),
            Self::AlterReport => ("alter_report", 8),
            Self::ChargeCrashes => ("charge_crashes", 9),
            Self::CountTwice => ("count_twice", 10),
            Self::SkipLog => ("skip_log", 11),
            Self::LoseCancel => ("lose_cancel", 12),
            Self::NoSync => ("no_sync", 1),
        }
    }
}
