//! Changes of a task, and everything that a change may write.

use selvedge_core::lease::{LeaseCredential, LeaseEvent, ReviewAction};
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord};
use selvedge_core::protocol::{CostEntry, EntryHeader, FileRef, RefusalCode};
use serde_json::Value;

use super::rows::TaskRecord;

/// A change of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskChange {
    /// The hub itself acquires a task that is never assigned to a worker: it is granted and accepted at once.
    AcquireForHub {
        /// The hub's name as a holder.
        holder: String,
        /// A fresh random lease token.
        token: String,
    },
    /// The worker accepts the offer.
    Accept(LeaseCredential),
    /// The worker declines the offer.
    Decline(LeaseCredential),
    /// The worker renews its lease.
    Renew(LeaseCredential),
    /// The worker was restarted and does not know of this lease.
    Forget {
        /// The epoch of the lease.
        epoch: u64,
    },
    /// The worker sends an entry of its stream.
    Entry(Box<StreamEntry>),
    /// A user cancels the task.
    Cancel {
        /// The user's name.
        by: String,
        /// The reason.
        reason: String,
    },
    /// A user reviews the task.
    Review {
        /// The decision.
        review: ReviewAction,
        /// The reviewer, the reason, and the attempt that was reviewed.
        record: ReviewRecord,
        /// The epoch under which the reviewed attempt was handed in. The decision does not count if there has
        /// been another lease, another attempt or another journal event since.
        epoch: u64,
        /// The last journal event that the reviewer has seen.
        after: u64,
        /// Events that the decision adds to the journal.
        events: Vec<Value>,
    },
    /// Time has passed: deadlines are checked.
    Tick,
}

impl TaskChange {
    /// The attempt that this change would close; its stored state is needed to decide.
    pub(crate) fn closed_attempt(&self) -> Option<u32> {
        match self {
            Self::Entry(entry) => match &entry.step {
                EntryKind::Close { run_number, .. } => Some(*run_number),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An entry of a worker's stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEntry {
    /// The part that all entries have.
    pub header: EntryHeader,
    /// The kind of the entry.
    pub step: EntryKind,
}

/// The kind of an entry: the effect that it has besides its header.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    /// No further effect.
    Progress,
    /// An attempt begins.
    Begin(u32),
    /// An attempt ended, with or without a report.
    Close {
        /// The attempt's number.
        run_number: u32,
        /// How it ended.
        end: AttemptEnd,
        /// The report as JSON, if there is one.
        report: Option<String>,
    },
    /// The task is finished, or needs a review.
    Complete {
        /// The worker's id for this completion.
        completion_id: String,
        /// The outcome.
        outcome: Outcome,
        /// The reason, in one line.
        reason: String,
        /// The whole result as JSON.
        result: String,
    },
    /// The worker releases the task.
    Release {
        /// Whether it counts as a loss.
        charged: bool,
    },
}

/// The stored end of an attempt, as far as checking a repeated report needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredAttempt {
    /// How it ended.
    pub end: AttemptEnd,
    /// SHA-256 of its report.
    pub digest: Option<[u8; 32]>,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeOutcome {
    /// Whether the change counts.
    pub answer: ChangeAnswer,
    /// The task after the change.
    pub row: TaskRecord,
}

/// Whether a change counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeAnswer {
    /// It counts, now or because it was applied before.
    Applied,
    /// It does not count.
    Refused {
        /// A code for programs.
        code: RefusalCode,
        /// An explanation for people.
        detail: String,
    },
}

/// An event of a run's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// Its sequence number.
    pub seq: u64,
    /// The event as JSON, unchanged.
    pub event: String,
}

/// A line of the ledger.
pub type CostLine = CostEntry;
/// A named blob.
pub type FileLine = FileRef;

/// Everything that a change writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriteSet {
    /// Lines of the hub's log: number and event.
    pub log: Vec<(u64, LeaseEvent)>,
    /// Attempts that begin: number and epoch.
    pub begun: Vec<(u32, u64)>,
    /// Attempts that end: number and how.
    pub closed: Vec<(u32, AttemptEnd)>,
    /// Reports: attempt number, epoch, digest, body.
    pub reports: Vec<(u32, u64, [u8; 32], String)>,
    /// Late reports of expired leases: attempt number, epoch, digest, body.
    pub late_reports: Vec<(u32, u64, [u8; 32], String)>,
    /// The journal's next events.
    pub journal: Vec<JournalLine>,
    /// Entries of the cost ledger.
    pub costs: Vec<CostLine>,
    /// Interrupted attempts: their cost is unknown unless their worker has reported it.
    pub interrupted: Vec<u32>,
    /// Files that are named by the change.
    pub files: Vec<FileLine>,
    /// The result: the worker's completion id and the body.
    pub result: Option<(String, String)>,
    /// Whether the task's row changed.
    pub row: bool,
}
