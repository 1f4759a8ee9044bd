//! The hub's interface to a database. Every write is answered after its commit. The store provides the time:
//! from the database, or from a clock that changes of the system time do not affect.

use std::future::Future;
use std::pin::Pin;

use selvedge_core::model::TaskId;
use selvedge_protocol::lease::LeaseRules;
use selvedge_protocol::{FileRef, PersonId, ProjectSettings};
use tokio::sync::watch;
use uuid::Uuid;

use super::access::{
    AuditActor, AuditEntry, AuditQuery, LoginSession, NewLoginSession, RevokeOutcome, TaskAudit,
};
use super::blobs::{BlobPart, BlobState, NewBlobChunk};
use super::change::{ChangeOutcome, JournalLine, TaskChange};
use super::error::HubStoreError;
use super::projects::{DeleteProjectOutcome, NewProject, Project, ProjectSubmitter};
use super::rows::{
    ApiToken, Assignment, AttemptRow, Completion, ListFilter, ListPage, LogLine, NewApiToken,
    NewTask, Overview, PollRequest, ReportRow, SubmitOutcome, TaskRecord, TaskView,
};
use super::schedules::{NewSchedule, Schedule, ScheduleMove};
use super::task_queries::{NewRunStats, RunStatsRow, TaskCounts, TaskFilter, TaskPageRequest};
use super::webhooks::{ClaimedDelivery, DeliveryRecord, DeliveryResult, NewWebhook, Webhook};

/// The waiting time that one step of priority is worth, in milliseconds.
pub(crate) const PRIORITY_STEP_MS: i64 = 600_000;

/// The future result of a store operation.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HubStoreError>> + Send + 'a>>;

/// Settings of a store.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreSettings {
    /// Periods and limits of leases.
    pub rules: LeaseRules,
}

/// Tasks and their leases.
pub trait Queue: Send + Sync {
    /// Adds a task.
    fn submit(&self, task: NewTask) -> StoreFuture<'_, SubmitOutcome>;
    /// Assigns tasks to workers with free slots; at most `slots` to each.
    fn assign_tasks(&self, wants: Vec<PollRequest>) -> StoreFuture<'_, Vec<Assignment>>;
    /// Number of tasks that a worker would be given now, if it had that many slots; nothing is assigned.
    fn count_assignable(&self, want: PollRequest) -> StoreFuture<'_, u64>;
    /// Applies a change; `None` if the task does not exist.
    fn change(&self, task: TaskId, change: TaskChange) -> StoreFuture<'_, Option<ChangeOutcome>>;
    /// Tasks that are offered to a worker, which has not accepted them yet.
    fn offers_to(&self, worker: String) -> StoreFuture<'_, Vec<TaskRecord>>;
    /// Plans that are not finished: tasks with the hub's own label for plans.
    fn plans(&self) -> StoreFuture<'_, Vec<TaskId>>;
    /// Expires deadlines, a limited number at a time, and returns the changed tasks. While `quiet`, leases do
    /// not expire.
    fn expire_due(&self, quiet: bool) -> StoreFuture<'_, Vec<TaskRecord>>;
    /// The store's clock: milliseconds since 1970.
    fn now(&self) -> StoreFuture<'_, i64>;
    /// One task, with its body.
    fn task(&self, task: TaskId) -> StoreFuture<'_, Option<(TaskView, String)>>;
    /// A page of tasks, the newest first.
    fn tasks(&self, filter: ListFilter, limit: usize) -> StoreFuture<'_, ListPage>;
    /// A page of tasks in any order.
    fn list_tasks(
        &self,
        filter: TaskFilter,
        page: TaskPageRequest,
    ) -> StoreFuture<'_, Vec<TaskView>>;
    /// Numbers of tasks by status.
    fn task_counts(&self, filter: TaskFilter) -> StoreFuture<'_, TaskCounts>;
    /// How long the first attempts of a project's latest tasks waited, in milliseconds: the latest first, at
    /// most `limit`.
    fn queue_latencies(&self, project: String, limit: usize) -> StoreFuture<'_, Vec<i64>>;
    /// All runs of a project that have a journal, with their saved statistics.
    fn run_stats(&self, project: String) -> StoreFuture<'_, Vec<RunStatsRow>>;
    /// At most `limit` tasks of a project that have a journal, but no saved statistics that include all of it; each
    /// with the last event of its journal.
    fn stale_run_stats(&self, project: String, limit: usize)
    -> StoreFuture<'_, Vec<(TaskId, u64)>>;
    /// The saved statistics of these tasks that include the whole journal.
    fn saved_run_stats(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<(TaskId, String)>>;
    /// The given tasks as they were submitted.
    fn task_bodies(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<(TaskId, String)>>;
    /// Saves statistics of runs, replacing those of shorter journals. They can be recomputed.
    fn save_run_stats(&self, stats: Vec<NewRunStats>) -> StoreFuture<'_, ()>;
    /// The hub's log of a task, after the given line.
    fn log(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<LogLine>>;
    /// Totals over all tasks, or those of a project.
    fn overview(&self, project: Option<String>) -> StoreFuture<'_, Overview>;
    /// Removes at most `limit` rows that are older than so many milliseconds; returns the number of removed
    /// rows.
    fn purge_expired(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64>;
    /// The peers, if several hubs can share the database.
    fn peers(&self) -> Option<&dyn Peers> {
        None
    }
}

/// Communication between several hubs on one database.
pub trait Peers: Send + Sync {
    /// A counter that increases when another hub has written something, and sometimes without a change.
    /// Changes may be missed, so waiting code must also poll.
    fn change_stream(&self) -> watch::Receiver<u64>;
    /// Records that this hub is running and, as JSON, its connected workers; returns those of the other hubs.
    fn heartbeat(&self, hub: Uuid, workers: String) -> StoreFuture<'_, Vec<String>>;
    /// The current rows of tasks, in any order; missing tasks are omitted.
    fn task_rows(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<TaskRecord>>;
    /// Tasks whose holders must be asked to stop; a limited number of them.
    fn pending_cancellations(&self) -> StoreFuture<'_, Vec<TaskRecord>>;
}

/// Records of runs.
pub trait RunRecords: Send + Sync {
    /// The journal of a task's run, after the given event.
    fn journal(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<JournalLine>>;
    /// The attempts that began.
    fn runs(&self, task: TaskId) -> StoreFuture<'_, Vec<AttemptRow>>;
    /// The reports, by attempt number.
    fn reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>>;
    /// One report.
    fn report(&self, task: TaskId, attempt_number: u32) -> StoreFuture<'_, Option<ReportRow>>;
    /// Reports that were sent under expired leases.
    fn late_reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>>;
    /// The accepted result.
    fn result(&self, task: TaskId) -> StoreFuture<'_, Option<Completion>>;
    /// Files, by name.
    fn files(&self, task: TaskId) -> StoreFuture<'_, Vec<FileRef>>;
}

/// Bytes by their SHA-256, in lower-case hexadecimal digits. The bytes are in the database or in an object store; what is
/// stored, and where, is in the database.
///
/// An object is written under a key that was reserved before and is never used again, and is deleted only after the
/// database no longer refers to it. So an object is lost by no crash and no concurrent upload or removal.
pub trait BlobStore: Send + Sync {
    /// How much of a blob is stored.
    fn blob_state(&self, hash: String) -> StoreFuture<'_, BlobState>;
    /// Adds a chunk at an offset; after the last one, the hash is verified. An error if the reservation of the chunk's
    /// object has expired.
    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: NewBlobChunk,
    ) -> StoreFuture<'_, BlobState>;
    /// A part of a complete blob from an offset on; `None` if the blob is not complete.
    fn blob_part(&self, hash: String, offset: u64) -> StoreFuture<'_, Option<BlobPart>>;
    /// The given blobs that are not complete.
    fn missing(&self, hashes: Vec<String>) -> StoreFuture<'_, Vec<String>>;
    /// Reserves a new object's key for so many milliseconds. An object that no chunk uses by then is to be deleted.
    fn reserve_object(&self, key: String, for_ms: i64) -> StoreFuture<'_, ()>;
    /// Takes keys of objects to delete. They are returned again after so many milliseconds, unless they are
    /// [forgotten](Self::forget_objects).
    fn claim_unused_objects(&self, retry_ms: i64, limit: usize) -> StoreFuture<'_, Vec<String>>;
    /// Removes the records of deleted objects.
    fn forget_objects(&self, keys: Vec<String>) -> StoreFuture<'_, ()>;
    /// Number of objects that are to be deleted.
    fn count_unused_objects(&self) -> StoreFuture<'_, u64>;
    /// Whether any blob has objects.
    fn has_objects(&self) -> StoreFuture<'_, bool>;
}

/// API tokens, and sessions of the dashboard.
pub trait TokenStore: Send + Sync {
    /// Inserts a token.
    fn insert_token(&self, token: NewApiToken) -> StoreFuture<'_, ApiToken>;
    /// Inserts a token only if there are none yet.
    fn insert_first_token(&self, token: NewApiToken) -> StoreFuture<'_, Option<ApiToken>>;
    /// The token whose secret has this hash, unless it is revoked or expired, or its project was deleted.
    fn find_token_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<ApiToken>>;
    /// All tokens.
    fn list_tokens(&self) -> StoreFuture<'_, Vec<ApiToken>>;
    /// Revokes a token, unless it is the last valid one of an administrator of its project. Its sessions end.
    fn revoke(&self, token_id: Uuid, by: AuditActor) -> StoreFuture<'_, RevokeOutcome>;
    /// Records that the tokens were used now.
    fn touch_tokens(&self, tokens: Vec<Uuid>) -> StoreFuture<'_, ()>;
    /// Inserts a session of the dashboard.
    fn insert_session(&self, session: NewLoginSession) -> StoreFuture<'_, ()>;
    /// The session whose cookie has this hash, unless it has ended or its token is not valid.
    fn find_session_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<LoginSession>>;
    /// All sessions of a project that have not ended, the newest first.
    fn list_sessions(&self, project: String) -> StoreFuture<'_, Vec<LoginSession>>;
    /// Ends a session of a project; `false` if there is none that has not ended.
    fn end_session(
        &self,
        project: String,
        session_id: Uuid,
        by: AuditActor,
    ) -> StoreFuture<'_, bool>;
    /// Records that a session was used now.
    fn touch_session(&self, session_id: Uuid) -> StoreFuture<'_, ()>;
    /// The tokens and sessions among the given ones that no longer give access.
    fn find_ended_access(
        &self,
        tokens: Vec<Uuid>,
        sessions: Vec<Uuid>,
    ) -> StoreFuture<'_, Vec<Uuid>>;
}

/// The audit log. Operations that change the database write it in their own transactions.
pub trait AuditStore: Send + Sync {
    /// Writes an entry about a task; none if the task does not exist. If the connection is lost meanwhile, it may be
    /// written twice.
    fn record_audit(&self, task: TaskId, audit: TaskAudit) -> StoreFuture<'_, ()>;
    /// Reads entries.
    fn audit_entries(&self, query: AuditQuery) -> StoreFuture<'_, Vec<AuditEntry>>;
    /// The person who submitted a task; `None` if a token or the hub did.
    fn submitting_person(&self, task: TaskId) -> StoreFuture<'_, Option<PersonId>>;
    /// Removes at most `limit` entries that are older than so many milliseconds; returns their number.
    fn purge_audit(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64>;
}

/// The state of the database itself.
pub trait DatabaseStatus: Send + Sync {
    /// The identity of the database, the same for all hubs that share it.
    fn database_id(&self) -> Uuid;
    /// Writes a row and commits it; an error if that is not possible, or if the database was removed.
    fn probe_writes(&self) -> StoreFuture<'_, ()>;
}

/// Webhooks, and the deliveries that changes of tasks added.
pub trait WebhookStore: Send + Sync {
    /// Inserts a webhook, unless its project was deleted.
    fn insert_webhook(&self, webhook: NewWebhook, by: AuditActor) -> StoreFuture<'_, ()>;
    /// The webhooks of a project, oldest first.
    fn webhooks(&self, project: String) -> StoreFuture<'_, Vec<Webhook>>;
    /// Removes a webhook with its deliveries; `false` if it does not exist.
    fn delete_webhook(&self, webhook: Uuid, by: AuditActor) -> StoreFuture<'_, bool>;
    /// Begins a try of deliveries that are due, of a few for each webhook. No hub tries them again for so many
    /// milliseconds, unless this one ends or [records](Self::record_try) the result.
    fn claim_deliveries(
        &self,
        claim_ms: i64,
        limit: usize,
    ) -> StoreFuture<'_, Vec<ClaimedDelivery>>;
    /// Records the result of a try.
    fn record_try(&self, result: DeliveryResult) -> StoreFuture<'_, ()>;
    /// The latest deliveries of a webhook, newest first.
    fn deliveries(&self, webhook: Uuid, limit: usize) -> StoreFuture<'_, Vec<DeliveryRecord>>;
}

/// Schedules.
pub trait ScheduleStore: Send + Sync {
    /// Inserts a schedule, unless its project was deleted.
    fn insert_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, ()>;
    /// The schedules of a project, oldest first.
    fn schedules(&self, project: String) -> StoreFuture<'_, Vec<Schedule>>;
    /// Schedules whose next time has passed; a limited number of them.
    fn due_schedules(&self) -> StoreFuture<'_, Vec<Schedule>>;
    /// Sets the next time of a schedule, if it is still the expected one.
    fn move_schedule(
        &self,
        schedule: Uuid,
        expected: Option<i64>,
        next: Option<i64>,
        cause: ScheduleMove,
    ) -> StoreFuture<'_, bool>;
    /// Removes a schedule; `false` if it does not exist.
    fn delete_schedule(&self, schedule: Uuid, by: AuditActor) -> StoreFuture<'_, bool>;
}

/// Projects.
pub trait ProjectStore: Send + Sync {
    /// Inserts a project; `false` if there is or was a project with this name.
    fn create_project(&self, project: NewProject) -> StoreFuture<'_, bool>;
    /// The projects, by name.
    fn projects(&self) -> StoreFuture<'_, Vec<Project>>;
    /// Replaces the settings of a project, if they are still the expected ones; `false` if they are not, or if the
    /// project does not exist.
    fn update_project(
        &self,
        name: String,
        expected: ProjectSettings,
        settings: ProjectSettings,
        by: AuditActor,
    ) -> StoreFuture<'_, bool>;
    /// Deletes a project without unfinished tasks: revokes its tokens, ends its sessions and removes its webhooks and
    /// schedules.
    fn delete_project(&self, name: String, by: AuditActor)
    -> StoreFuture<'_, DeleteProjectOutcome>;
    /// Current usage of a project's submitters, by name; without those that use nothing.
    fn project_usage(&self, name: String) -> StoreFuture<'_, Vec<ProjectSubmitter>>;
    /// Whether a task of a project has a file with this content.
    fn project_has_blob(&self, project: String, hash: String) -> StoreFuture<'_, bool>;
}

/// The complete store of a hub.
pub trait HubStore:
    Queue
    + RunRecords
    + BlobStore
    + TokenStore
    + AuditStore
    + DatabaseStatus
    + WebhookStore
    + ScheduleStore
    + ProjectStore
{
}

impl<T> HubStore for T where
    T: Queue
        + RunRecords
        + BlobStore
        + TokenStore
        + AuditStore
        + DatabaseStatus
        + WebhookStore
        + ScheduleStore
        + ProjectStore
{
}
