//! The hub's storage: the queue of tasks with their leases, the runs' journals and reports, the cost ledger,
//! blobs, API tokens, webhooks and schedules.
//!
//! Small traits ([`Queue`], [`RunRecords`], [`BlobStore`], [`TokenStore`], [`AuditStore`], [`WebhookStore`],
//! [`ScheduleStore`]) are implemented by databases. The
//! meaning of an input is decided in one place, without I/O, by `selvedge_protocol::lease` and [`apply`]. A
//! database only loads rows, keeps them locked and writes the decision in a transaction, and answers after
//! the commit. No transaction may be held while an agent works.

mod access;
mod apply;
mod blobs;
mod change;
mod error;
mod fair_share;
mod overview;
#[cfg(feature = "postgres")]
mod postgres;
mod projects;
mod reported;
mod rows;
mod schedules;
pub mod sqlite;
mod task_queries;
mod traits;
mod webhooks;

pub use access::{
    AuditAction, AuditActor, AuditChannel, AuditEntry, AuditOrder, AuditQuery, LoginSession,
    NewLoginSession, NewSessionOwner, Person, RevokeOutcome, SessionOwner, TaskAudit,
};
pub use apply::apply;
pub use blobs::{BlobObject, BlobPart, BlobState, NewBlobChunk};
pub use change::{ChangeAnswer, ChangeOutcome, JournalLine, StoredAttempt, TaskChange, WriteSet};
pub use error::HubStoreError;
#[cfg(feature = "postgres")]
pub use postgres::PostgresHub;
pub use projects::{DeleteProjectOutcome, NewProject, Project, ProjectSubmitter, ReachedLimit};
pub use rows::{
    ApiToken, Assignment, AttemptRow, Completion, LedgerTotal, ListFilter, ListPage, LogLine,
    NewApiToken, NewTask, Overview, PollRequest, QueuedGroup, ReportRow, SubmitOutcome, TaskRecord,
    TaskView,
};
pub use schedules::{NewSchedule, Schedule, ScheduleFiring, ScheduleMove};
pub use sqlite::SqliteHub;
pub use task_queries::{
    CheckCondition, FindingCondition, NewRunStats, RunStatsFilter, RunStatsRow, StateAndOutcome,
    TaskCounts, TaskFilter, TaskPageRequest, TaskSortOrder,
};
pub use traits::{
    AuditStore, BlobStore, DatabaseStatus, HubStore, Peers, ProjectStore, Queue, RunRecords,
    ScheduleStore, StoreFuture, StoreSettings, TokenStore, WebhookStore,
};
pub use webhooks::{
    ClaimedDelivery, DeliveryFollowUp, DeliveryRecord, DeliveryResult, DeliveryTryRow, NewWebhook,
    ReceiverAnswer, TaskEvent, Webhook,
};
