//! Runs of this machine: where their state lives, and the thread that writes their journal.

mod home;
mod journal;

pub(crate) use home::{Home, results};
pub(crate) use journal::JournalSink;
