//! The hub: a queue of tasks for a team, the workers that carry them out, and what became of each.
//!
//! Stateless over its store: what counts is in the database before anybody is told so, and what is
//! kept in memory (who is connected, who watches) may be lost at any moment. Any number of hubs may
//! share a PostgreSQL database, and any of them takes any worker. Nothing here carries a task out,
//! and nothing here may know the engine.

mod access;
mod api;
mod auth;
mod dashboard;
mod dispatch;
mod hub;
mod limits;
mod peers;
mod plans;
mod problem;
mod reaper;
mod recent_activity;
mod result;
mod review;
mod run_stats;
mod serve;
mod session;
mod settings;
mod tls;
mod validate;

pub use api::openapi::document as openapi;
pub use api::{OPERATIONS, Operation, OperationAccess, app};
pub use auth::{GeneratedToken, generate_token};
pub use dashboard::dashboard;
pub use hub::{Hub, HubActivity};
pub use serve::{HubServerHandle, run};
pub use settings::{HubSettings, TaskDefaults};
pub use tls::{TlsError, acceptor};
