//! Changes of a task, and everything that a change may write.

use selvedge_core::model::{AttemptEnd, ReviewRecord};
use selvedge_protocol::lease::{LeaseEvent, LeaseInput};
use selvedge_protocol::{CostEntry, FileRef, LeaseToken, RefusalCode, ReviewDecision, StreamEntry};
use serde_json::Value;

use super::access::{AuditActor, TaskAudit};
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
    /// An input that only concerns the lease.
    Lease(LeaseInput),
    /// A user cancels the task.
    Cancel {
        /// The user.
        actor: AuditActor,
        /// The reason.
        reason: String,
    },
    /// The worker was restarted and does not know of this lease.
    Forget {
        /// The epoch of the lease.
        epoch: u64,
    },
    /// The worker declines its offer, or a task that it has accepted but not begun.
    Decline {
        /// The lease.
        token: LeaseToken,
        /// The reason, as text.
        reason: String,
    },
    /// The worker sends an entry of its stream.
    Entry(Box<StreamEntry>),
    /// The hub itself writes an entry of a task that it holds.
    EntryOfHub(Box<StreamEntry>),
    /// A user reviews the task.
    Review {
        /// The decision.
        decision: ReviewDecision,
        /// The user.
        actor: AuditActor,
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
}

impl TaskChange {
    /// The attempt that this change would close; its stored state is needed to decide.
    pub(crate) fn closed_attempt(&self) -> Option<u32> {
        match self {
            Self::Entry(entry) => entry.kind.closed_attempt(),
            _ => None,
        }
    }
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
    /// Whether the change began the first attempt.
    pub has_begun: bool,
    /// Whether the change ended the task.
    pub has_ended: bool,
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
    pub costs: Vec<CostEntry>,
    /// Interrupted attempts: their cost is unknown unless their worker has reported it.
    pub interrupted: Vec<u32>,
    /// Files that are named by the change.
    pub files: Vec<FileRef>,
    /// The result: the worker's completion id and the body.
    pub result: Option<(String, String)>,
    /// An entry of the audit log.
    pub audit: Option<TaskAudit>,
    /// Whether the task's row changed.
    pub row: bool,
    /// Whether the task ended.
    pub has_ended: bool,
}

impl WriteSet {
    /// Whether the first attempt begins.
    pub(crate) fn begins_first_attempt(&self) -> bool {
        self.begun.iter().any(|(attempt, _)| *attempt == 1)
    }
}
