//! What a hub asks of a database. Every answer to a write comes after its commit. Time is the
//! store's own: the database's, or one clock that no change of the wall's can move.

use std::future::Future;
use std::pin::Pin;

use selvedge_core::lease::LeaseRules;
use selvedge_core::model::TaskId;
use selvedge_core::protocol::FileRef;
use tokio::sync::watch;
use uuid::Uuid;

use super::change::{ChangeOutcome, JournalLine, TaskChange};
use super::error::HubStoreError;
use super::rows::{
    ApiToken, Assignment, AttemptRow, BlobState, Completion, ListFilter, ListPage, LogLine,
    NewApiToken, NewTask, Overview, PollRequest, ReportRow, SubmitOutcome, TaskRecord, TaskView,
};
use super::task_queries::{NewRunStats, RunStatsRow, TaskCounts, TaskFilter, TaskPageRequest};

/// What a step of priority is worth in waiting, in milliseconds.
pub(crate) const PRIORITY_STEP_MS: i64 = 600_000;

/// An answer to come.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HubStoreError>> + Send + 'a>>;

/// How a store behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreSettings {
    /// Periods and limits of leases.
    pub rules: LeaseRules,
}

/// Tasks and their leases.
pub trait Queue: Send + Sync {
    /// Takes a task in.
    fn submit(&self, task: NewTask) -> StoreFuture<'_, SubmitOutcome>;
    /// Gives tasks to workers that have room; at most `slots` to each.
    fn assign_tasks(&self, wants: Vec<PollRequest>) -> StoreFuture<'_, Vec<Assignment>>;
    /// Applies a change, if there is such a task.
    fn change(&self, task: TaskId, change: TaskChange) -> StoreFuture<'_, Option<ChangeOutcome>>;
    /// Tasks that are plans and not over: those with the hub's own label for it.
    fn plans(&self) -> StoreFuture<'_, Vec<TaskId>>;
    /// Takes back what is due, some at a time: the tasks after it. While `quiet`, leases stay.
    fn expire_due(&self, quiet: bool) -> StoreFuture<'_, Vec<TaskRecord>>;
    /// The store's clock: milliseconds since 1970.
    fn now(&self) -> StoreFuture<'_, i64>;
    /// One task, with its body.
    fn task(&self, task: TaskId) -> StoreFuture<'_, Option<(TaskView, String)>>;
    /// A page of tasks, the newest first.
    fn tasks(&self, filter: ListFilter, limit: usize) -> StoreFuture<'_, ListPage>;
    /// A page of tasks as people look at them, in any order.
    fn list_tasks(
        &self,
        filter: TaskFilter,
        page: TaskPageRequest,
    ) -> StoreFuture<'_, Vec<TaskView>>;
    /// How many tasks stand how.
    fn task_counts(&self, filter: TaskFilter) -> StoreFuture<'_, TaskCounts>;
    /// How long the first attempts of a tenant's latest tasks were waited for, in milliseconds: the latest
    /// first, at most so many.
    fn queue_latencies(&self, tenant: String, limit: usize) -> StoreFuture<'_, Vec<i64>>;
    /// All runs of a tenant that have a journal, with what is kept of each for statistics.
    fn run_stats(&self, tenant: String) -> StoreFuture<'_, Vec<RunStatsRow>>;
    /// Keeps facts of runs, and forgets those of shorter journals. They can be made again.
    fn save_run_stats(&self, facts: Vec<NewRunStats>) -> StoreFuture<'_, ()>;
    /// The hub's log of a task, after a line.
    fn log(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<LogLine>>;
    /// Numbers over everything.
    fn overview(&self) -> StoreFuture<'_, Overview>;
    /// Removes what is older than so many milliseconds, at most so many rows: how many went.
    fn purge_expired(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64>;
    /// What there is between the hubs of one database, where there may be several.
    fn peers(&self) -> Option<&dyn Peers> {
        None
    }
}

/// Between several hubs on one database.
pub trait Peers: Send + Sync {
    /// Goes up when another hub has written something, and at times without. May miss some: whoever
    /// waits for something looks for it besides.
    fn change_stream(&self) -> watch::Receiver<u64>;
    /// Says that this hub is at work and, as JSON, who is connected to it: what the others say.
    fn heartbeat(&self, hub: Uuid, workers: String) -> StoreFuture<'_, Vec<String>>;
    /// Tasks as they stand, in any order; those that are not there are left out.
    fn task_rows(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<TaskRecord>>;
    /// Tasks whose holders are to be told to stop; not all of very many.
    fn pending_cancellations(&self) -> StoreFuture<'_, Vec<TaskRecord>>;
}

/// What runs left behind.
pub trait RunRecords: Send + Sync {
    /// The journal of a task's run, after an event.
    fn journal(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<JournalLine>>;
    /// The runs that began.
    fn runs(&self, task: TaskId) -> StoreFuture<'_, Vec<AttemptRow>>;
    /// The reports, by run number.
    fn reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>>;
    /// One report.
    fn report(&self, task: TaskId, run_number: u32) -> StoreFuture<'_, Option<ReportRow>>;
    /// Reports of grants that no longer counted.
    fn late_reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>>;
    /// The result that counted.
    fn result(&self, task: TaskId) -> StoreFuture<'_, Option<Completion>>;
    /// Files, by name.
    fn files(&self, task: TaskId) -> StoreFuture<'_, Vec<FileRef>>;
}

/// Bytes by their SHA-256, in lower-case hexadecimal digits.
pub trait BlobStore: Send + Sync {
    /// How much of it is there.
    fn blob_state(&self, hash: String) -> StoreFuture<'_, BlobState>;
    /// Adds a chunk at an offset; the last one is held against the hash.
    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: Vec<u8>,
    ) -> StoreFuture<'_, BlobState>;
    /// Some of its bytes from an offset on, if all of it is there; none at its end.
    fn bytes(&self, hash: String, offset: u64) -> StoreFuture<'_, Option<Vec<u8>>>;
    /// Those of these that are not there whole.
    fn missing(&self, hashes: Vec<String>) -> StoreFuture<'_, Vec<String>>;
}

/// Tokens.
pub trait TokenStore: Send + Sync {
    /// Keeps a token.
    fn insert_token(&self, token: NewApiToken) -> StoreFuture<'_, ApiToken>;
    /// Keeps a token if there is none at all: the very first.
    fn insert_first_token(&self, token: NewApiToken) -> StoreFuture<'_, Option<ApiToken>>;
    /// Whose secret has this hash, as long as it is neither revoked nor expired.
    fn find_token_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<ApiToken>>;
    /// All of them.
    fn list_tokens(&self) -> StoreFuture<'_, Vec<ApiToken>>;
    /// Revokes one, if it is there.
    fn revoke(&self, token_id: Uuid) -> StoreFuture<'_, bool>;
    /// Notes that they were used now.
    fn touch_tokens(&self, tokens: Vec<Uuid>) -> StoreFuture<'_, ()>;
}

/// All of it.
pub trait HubStore: Queue + RunRecords + BlobStore + TokenStore {}

impl<T: Queue + RunRecords + BlobStore + TokenStore> HubStore for T {}
