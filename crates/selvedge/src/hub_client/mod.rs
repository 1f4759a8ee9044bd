//! Speaking to a hub, as a client and as a worker: where it is, who we are, and what it answers.
//!
//! A token is read from a file or the environment, sent in one header, and printed nowhere.

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
