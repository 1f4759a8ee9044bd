//! Changes of a task as a store is asked for them, and everything that one of them may write.

use selvedge_core::lease::{LeaseCredential, LeaseEvent, ReviewAction};
use selvedge_core::model::{AttemptEnd, Outcome, ReviewRecord};
use selvedge_core::protocol::{CostEntry, EntryHeader, FileRef, RefusalCode};
use serde_json::Value;

use super::rows::TaskRecord;

/// What is to be changed.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskChange {
    /// The hub itself takes a task that no worker is given: it is granted and accepted at once.
    AcquireForHub {
        /// What it calls itself.
        holder: String,
        /// Fresh and random.
        token: String,
    },
    /// The worker takes the offer.
    Accept(LeaseCredential),
    /// The worker does not take it.
    Decline(LeaseCredential),
    /// The worker is at it.
    Renew(LeaseCredential),
    /// The worker was started anew and does not know of this grant.
    Forget {
        /// The grant.
        epoch: u64,
    },
    /// The worker writes.
    Entry(Box<StreamEntry>),
    /// A person asks for its end.
    Cancel {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// A person judges it.
    Review {
        /// What they decide.
        review: ReviewAction,
        /// Who they are, why, and the work that they decided on.
        record: ReviewRecord,
        /// Under which grant that work was handed in. Another one since then, another attempt, or another
        /// event in the journal, and the decision does not count.
        epoch: u64,
        /// The last event of the journal that they decided on.
        after: u64,
        /// What the decision adds to the journal.
        events: Vec<Value>,
    },
    /// Time passed.
    Tick,
}

impl TaskChange {
    /// The run that it would close: what is stored of that one decides.
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
    /// What all entries have.
    pub header: EntryHeader,
    /// What this one does.
    pub step: EntryKind,
}

/// What an entry does besides.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    /// Nothing.
    Progress,
    /// An attempt begins.
    Begin(u32),
    /// An attempt is over, with a report or without.
    Close {
        /// Its number.
        run_number: u32,
        /// How.
        end: AttemptEnd,
        /// The report as JSON, when that is how.
        report: Option<String>,
    },
    /// The task is over, or waits for a person.
    Complete {
        /// The worker's id of it.
        completion_id: String,
        /// How.
        outcome: Outcome,
        /// Why, in one line.
        reason: String,
        /// The whole result as JSON.
        result: String,
    },
    /// The task is given back.
    Release {
        /// Whether that counts as a loss.
        charged: bool,
    },
}

/// What is stored of a run, as far as a repeated report needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredAttempt {
    /// How it was closed.
    pub end: AttemptEnd,
    /// SHA-256 of its report.
    pub digest: Option<[u8; 32]>,
}

/// The answer to a change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeOutcome {
    /// What became of it.
    pub answer: ChangeAnswer,
    /// The task after it.
    pub row: TaskRecord,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeAnswer {
    /// It counts, now or from before.
    Applied,
    /// It does not count.
    Refused {
        /// Why, for programs.
        code: RefusalCode,
        /// Why, in words.
        detail: String,
    },
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// Its number.
    pub seq: u64,
    /// As it came.
    pub event: String,
}

/// A line of the ledger.
pub type CostLine = CostEntry;
/// A named blob.
pub type FileLine = FileRef;

/// Everything that a change writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriteSet {
    /// Lines of the hub's log.
    pub log: Vec<(u64, LeaseEvent)>,
    /// Runs that begin: number and epoch.
    pub begun: Vec<(u32, u64)>,
    /// Runs that end.
    pub closed: Vec<(u32, AttemptEnd)>,
    /// Reports: run number, epoch, digest, body.
    pub reports: Vec<(u32, u64, [u8; 32], String)>,
    /// Reports of grants that are over.
    pub late_reports: Vec<(u32, u64, [u8; 32], String)>,
    /// The journal's next events.
    pub journal: Vec<JournalLine>,
    /// Costs.
    pub costs: Vec<CostLine>,
    /// Runs that were cut off: what they cost is not known, unless their worker has told it.
    pub interrupted: Vec<u32>,
    /// Files.
    pub files: Vec<FileLine>,
    /// The result: the worker's id, and the body.
    pub result: Option<(String, String)>,
    /// Whether the task's row changed.
    pub row: bool,
}
