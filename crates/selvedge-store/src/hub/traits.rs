//! What a hub asks of a database. Every answer to a write comes after its commit. Time is the
//! store's own: the database's, or one clock that no change of the wall's can move.

use std::future::Future;
use std::pin::Pin;

use selvedge_core::fleet::FileRef;
use selvedge_core::lease::Rules;
use selvedge_core::model::TaskId;
use tokio::sync::watch;
use uuid::Uuid;

use super::board::{BoardFilter, BoardPage, Census, FactLine, NewFacts};
use super::change::{Change, JournalLine, Verdict};
use super::error::HubStoreError;
use super::rows::{
    BlobState, Completion, Granted, Identity, ListFilter, ListPage, LogLine, NewIdentity, NewTask,
    Overview, ReportRow, RunRow, Submitted, TaskRow, TaskView, Want,
};

/// What a step of priority is worth in waiting, in milliseconds.
pub(crate) const STEP_MS: i64 = 600_000;

/// An answer to come.
pub type Answered<'a, T> = Pin<Box<dyn Future<Output = Result<T, HubStoreError>> + Send + 'a>>;

/// How a store behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// Periods and limits of leases.
    pub rules: Rules,
}

/// Tasks and their leases.
pub trait Queue: Send + Sync {
    /// Takes a task in.
    fn submit(&self, task: NewTask) -> Answered<'_, Submitted>;
    /// Gives tasks to workers that have room; at most `slots` to each.
    fn grant(&self, wants: Vec<Want>) -> Answered<'_, Vec<Granted>>;
    /// Applies a change, if there is such a task.
    fn change(&self, task: TaskId, change: Change) -> Answered<'_, Option<Verdict>>;
    /// Tasks that are plans and not over: those with the hub's own label for it.
    fn plans(&self) -> Answered<'_, Vec<TaskId>>;
    /// Takes back what is due, some at a time: the tasks after it. While `quiet`, leases stay.
    fn sweep(&self, quiet: bool) -> Answered<'_, Vec<TaskRow>>;
    /// The store's clock: milliseconds since 1970.
    fn now(&self) -> Answered<'_, i64>;
    /// One task, with its body.
    fn task(&self, task: TaskId) -> Answered<'_, Option<(TaskView, String)>>;
    /// A page of tasks, the newest first.
    fn tasks(&self, filter: ListFilter, limit: usize) -> Answered<'_, ListPage>;
    /// A page of tasks as people look at them, in any order.
    fn board(&self, filter: BoardFilter, page: BoardPage) -> Answered<'_, Vec<TaskView>>;
    /// How many tasks stand how.
    fn census(&self, filter: BoardFilter) -> Answered<'_, Census>;
    /// How long the first attempts of a tenant's latest tasks were waited for, in milliseconds: the latest
    /// first, at most so many.
    fn waits(&self, tenant: String, limit: usize) -> Answered<'_, Vec<i64>>;
    /// All runs of a tenant that have a journal, with what is kept of each for statistics.
    fn facts(&self, tenant: String) -> Answered<'_, Vec<FactLine>>;
    /// Keeps facts of runs, and forgets those of shorter journals. They can be made again.
    fn keep_facts(&self, facts: Vec<NewFacts>) -> Answered<'_, ()>;
    /// The hub's log of a task, after a line.
    fn log(&self, task: TaskId, after: u64, limit: usize) -> Answered<'_, Vec<LogLine>>;
    /// Numbers over everything.
    fn overview(&self) -> Answered<'_, Overview>;
    /// Removes what is older than so many milliseconds, at most so many rows: how many went.
    fn forget(&self, older_than_ms: i64, limit: usize) -> Answered<'_, u64>;
    /// What there is between the hubs of one database, where there may be several.
    fn neighbours(&self) -> Option<&dyn Neighbours> {
        None
    }
}

/// Between several hubs on one database.
pub trait Neighbours: Send + Sync {
    /// Goes up when another hub has written something, and at times without. May miss some: whoever
    /// waits for something looks for it besides.
    fn elsewhere(&self) -> watch::Receiver<u64>;
    /// Says that this hub is at work and, as JSON, who is connected to it: what the others say.
    fn meet(&self, hub: Uuid, workers: String) -> Answered<'_, Vec<String>>;
    /// Tasks as they stand, in any order; those that are not there are left out.
    fn as_they_stand(&self, tasks: Vec<TaskId>) -> Answered<'_, Vec<TaskRow>>;
    /// Tasks whose holders are to be told to stop; not all of very many.
    fn to_be_stopped(&self) -> Answered<'_, Vec<TaskRow>>;
}

/// What runs left behind.
pub trait Reports: Send + Sync {
    /// The journal of a task's run, after an event.
    fn journal(&self, task: TaskId, after: u64, limit: usize) -> Answered<'_, Vec<JournalLine>>;
    /// The runs that began.
    fn runs(&self, task: TaskId) -> Answered<'_, Vec<RunRow>>;
    /// The reports, by run number.
    fn reports(&self, task: TaskId) -> Answered<'_, Vec<ReportRow>>;
    /// One report.
    fn report(&self, task: TaskId, run_number: u32) -> Answered<'_, Option<ReportRow>>;
    /// Reports of grants that no longer counted.
    fn late_reports(&self, task: TaskId) -> Answered<'_, Vec<ReportRow>>;
    /// The result that counted.
    fn result(&self, task: TaskId) -> Answered<'_, Option<Completion>>;
    /// Files, by name.
    fn files(&self, task: TaskId) -> Answered<'_, Vec<FileRef>>;
}

/// Bytes by their SHA-256, in lower-case hexadecimal digits.
pub trait Blobs: Send + Sync {
    /// How much of it is there.
    fn blob(&self, hash: String) -> Answered<'_, BlobState>;
    /// Adds a chunk at an offset; the last one is held against the hash.
    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: Vec<u8>,
    ) -> Answered<'_, BlobState>;
    /// Some of its bytes from an offset on, if all of it is there; none at its end.
    fn bytes(&self, hash: String, offset: u64) -> Answered<'_, Option<Vec<u8>>>;
    /// Those of these that are not there whole.
    fn missing(&self, hashes: Vec<String>) -> Answered<'_, Vec<String>>;
}

/// Tokens.
pub trait Identities: Send + Sync {
    /// Keeps a token.
    fn admit(&self, token: NewIdentity) -> Answered<'_, Identity>;
    /// Keeps a token if there is none at all: the very first.
    fn admit_first(&self, token: NewIdentity) -> Answered<'_, Option<Identity>>;
    /// Whose secret has this hash, as long as it is neither revoked nor expired.
    fn by_hash(&self, hash: [u8; 32]) -> Answered<'_, Option<Identity>>;
    /// All of them.
    fn identities(&self) -> Answered<'_, Vec<Identity>>;
    /// Revokes one, if it is there.
    fn revoke(&self, token_id: Uuid) -> Answered<'_, bool>;
    /// Notes that they were used now.
    fn used(&self, tokens: Vec<Uuid>) -> Answered<'_, ()>;
}

/// All of it.
pub trait HubStore: Queue + Reports + Blobs + Identities {}

impl<T: Queue + Reports + Blobs + Identities> HubStore for T {}
