//! The protocol of hubs, workers and clients: messages of a worker's WebSocket, and bodies of the REST interface.
//!
//! It consists of wire types and the few pure rules that both ends share. The hub has the policy of queueing, and
//! [`selvedge_core::machine`] that of the loop. Names are in snake case, unknown fields are ignored, and messages of a later
//! release are read as unknown instead of ending the session.
//!
//! A task on a hub has *one* journal, of [`Envelope`](selvedge_core::model::Envelope)s that are numbered across all its
//! workers. The holder of the lease writes it; the hub stores it unchanged. Any reader, such as a client or the next
//! worker, thus folds it like a local journal.

#![warn(missing_docs)]

mod access;
mod assign;
mod capabilities;
mod entry;
pub mod lease;
mod lease_token;
mod page;
mod patches;
mod plan;
mod problem;
mod progress;
mod project;
mod schedule;
mod session;
mod state;
mod submit;
mod timing;
mod webhook;

pub use access::{AuditPage, AuditRow, PersonId, SessionPage, SessionPerson, SessionRow};
pub use assign::{AssignedReview, TaskAssign};
pub use capabilities::{WorkerCapabilities, WorkerQuarantine};
pub use entry::{
    AttemptClosing, AttemptReport, AttemptStart, CostEntry, EntryHeader, EntryKind, FileRef,
    StreamEntry, TaskCompletion, TaskRelease, TaskResult,
};
pub use lease_token::{HeldLease, LeaseId, LeaseRenewal, LeaseToken, RenewalResult};
pub use page::{JournalPage, ReportPage, SubtaskRow, TaskPage, TaskRow, WorkerPage, WorkerRow};
pub use patches::{
    RESULT_PATCH, attempt_patch, patch_since_start, since_start_patch, whole_patches,
};
pub use problem::{FieldError, LIMIT_PROBLEM, PROBLEM_PREFIX, Problem};
pub use progress::{ProgressEvent, project};
pub use project::{
    DEFAULT_PROJECT, ProjectPage, ProjectRequest, ProjectRow, ProjectSettings, ProjectUsage,
    SubmitterUsage,
};
pub use schedule::{CreatedSchedule, ScheduleLast, SchedulePage, ScheduleRequest, ScheduleRow};
pub use session::{Hello, HubMessage, RefusalCode, WorkerMessage};
pub use state::TaskState;
pub use submit::{
    BulkRetryAnswer, BulkRetryRequest, CancelRequest, IssuedToken, RetriedTask, ReviewDecision,
    ReviewRequest, Scope, SubmitAnswer, TokenPage, TokenRequest, TokenRow,
};
pub use timing::LeaseTiming;
pub use webhook::{
    DeliveryPage, DeliveryRow, DeliveryState, DeliveryTry, IssuedWebhook, WebhookEventType,
    WebhookFormat, WebhookMessage, WebhookPage, WebhookRequest, WebhookRow, WebhookTask,
};

/// The version of the worker session protocol.
pub const SESSION_VERSION: u32 = 1;
/// The path of the workers' WebSocket.
pub const WORKER_PATH: &str = "/api/v1/workers/session";
/// The WebSocket subprotocol of a worker's session.
pub const SESSION_PROTOCOL: &str = "selvedge.v1";
/// Close code of a worker's session whose token was revoked or has expired.
pub const CLOSE_ACCESS_ENDED: u16 = 4401;
/// Close code of a worker's session: another process of the same name is connected.
pub const CLOSE_NAME_IN_USE: u16 = 4409;
/// Prefix of labels that are reserved for the hub: no task may require them, and no worker has them.
pub const RESERVED_LABEL_PREFIX: &str = "selvedge:";
/// The label of a task that is a plan, which is not assigned to any worker.
pub const PLAN_LABEL: &str = "selvedge:plan";
/// The path prefix of the REST interface.
pub const API_PATH: &str = "/api/v1";
