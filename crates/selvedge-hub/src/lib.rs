//! The hub: a queue of tasks for a team, the workers that carry them out, and the results.
//!
//! It is stateless over its store: everything that counts is in the database before it is announced, and the
//! in-memory state (connections, watchers) may be lost at any moment. Any number of hubs may share a
//! PostgreSQL database, and any of them accepts any worker. Nothing here carries a task out, and nothing here
//! may depend on the engine.

mod access;
mod active_access;
mod api;
mod auth;
mod dashboard;
mod dispatch;
mod hub;
mod journal_states;
mod limits;
mod metrics;
mod new_task;
mod object_storage;
mod observe;
mod oidc;
mod peers;
mod plans;
mod problem;
mod readiness;
mod reaper;
mod recent_activity;
mod result;
mod run_stats;
mod schedules;
mod serve;
mod service;
mod session;
mod settings;
mod task_rows;
mod tls;
mod validate;
mod webhooks;

pub use api::openapi::document as openapi;
pub use api::{OPERATIONS, Operation, OperationAccess, app};
pub use auth::{GeneratedToken, generate_token};
pub use dashboard::site_router;
pub use hub::{Hub, HubActivity};
pub use object_storage::{
    CredentialsFileError, ObjectStorage, ObjectStoreCredentials, ObjectStoreError,
    ObjectStoreSettings,
};
pub use oidc::{CALLBACK_PATH, ClientSecret, IssuerError, OidcSettings, Role, parse_issuer};
pub use serve::{HubServerHandle, run};
pub use session::QuarantineRules;
pub use settings::{HubSettings, TaskDefaults};
pub use tls::{CertificateProblem, ReloadableTls, TlsError};
