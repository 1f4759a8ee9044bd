//! Client of a hub's REST API and of its worker sessions.
//!
//! The token is read from a file or the environment, sent in one header, and never printed.

mod blobs;
mod credentials;
mod error;
mod http;
mod socket;
mod stream;

pub(crate) use blobs::file_ref;
pub(crate) use credentials::{HubArgs, HubCredentials};
pub(crate) use error::HubError;
pub(crate) use http::HubClient;
pub(crate) use stream::TaskStreamEvent;
