//! What hubs, workers and clients say to each other: messages over a worker's WebSocket, and bodies of
//! the REST interface.
//!
//! Wire types and the few pure rules that both ends must agree on; no policy of queueing, which is the
//! hub's, and none of the loop, which is [`crate::machine`]'s. Snake case, unknown fields are ignored on
//! read, and what a later release says beyond that reads as unknown instead of breaking the session.
//!
//! A task on a hub has *one* journal, of [`DsseEnvelope`](crate::model::Envelope)s numbered over all its
//! workers. Whoever holds the lease writes it; the hub keeps it as it is. So whoever reads it, a client or
//! the next worker, folds it as if it were a journal of their own.

mod assign;
mod entry;
mod lease;
mod page;
mod patches;
mod plan;
mod problem;
mod progress;
mod session;
mod state;
mod submit;
mod timing;

pub use assign::{AssignedReview, TaskAssign};
pub use entry::{CostEntry, EntryHeader, FileRef, TaskResult};
pub use lease::{HeldLease, LeaseId, LeaseRenewal, LeaseToken, RenewalResult};
pub use page::{JournalPage, ReportPage, SubtaskRow, TaskPage, TaskRow, WorkerPage, WorkerRow};
pub use patches::{
    RESULT_PATCH, attempt_patch, patch_since_start, since_start_patch, whole_patches,
};
pub use problem::{FieldError, Problem};
pub use progress::{ProgressEvent, project};
pub use session::{Hello, HubMessage, RefusalCode, WorkerMessage};
pub use state::TaskState;
pub use submit::{
    CancelRequest, IssuedToken, ReviewDecision, ReviewRequest, Scope, SubmitAnswer, TokenPage,
    TokenRequest, TokenRow,
};
pub use timing::LeaseTiming;

/// The version of the worker's session that this program speaks.
pub const SESSION_VERSION: u32 = 1;
/// Where a worker's WebSocket is.
pub const WORKER_PATH: &str = "/api/v1/workers/session";
/// The WebSocket subprotocol of a worker's session.
pub const SESSION_PROTOCOL: &str = "selvedge.v1";
/// Labels that begin so are the hub's own: no task may ask for them, and no worker has them.
pub const RESERVED_LABEL_PREFIX: &str = "selvedge:";
/// The label of a task that is a plan, which no worker is given.
pub const PLAN_LABEL: &str = "selvedge:plan";
/// Where all of the REST interface is.
pub const API_PATH: &str = "/api/v1";
