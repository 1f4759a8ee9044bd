//! Speaking to a hub, as a client and as a worker: where it is, who we are, and what it answers.
//!
//! A token is read from a file or the environment, sent in one header, and printed nowhere.

mod account;
mod blobs;
mod error;
mod http;
mod socket;
mod stream;

pub(crate) use account::{Account, HubArgs};
pub(crate) use blobs::file_ref;
pub(crate) use error::HubError;
pub(crate) use http::Hub;
pub(crate) use stream::Frame;
