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
mod facts;
mod hub;
mod limits;
mod neighbours;
mod plans;
mod problem;
mod result;
mod review;
mod serve;
mod session;
mod settings;
mod sweep;
mod telling;
mod tls;
mod validate;

pub use api::openapi::document as openapi;
pub use api::{Access, OPERATIONS, Operation, app};
pub use auth::{Minted, mint};
pub use dashboard::dashboard;
pub use hub::{Activity, Hub};
pub use serve::{Running, run};
pub use settings::{Defaults, HubSettings};
pub use tls::{TlsError, acceptor};
