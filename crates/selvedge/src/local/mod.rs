//! Runs of this machine: where their state lives, and the thread that writes their journal.

mod home;
mod journal;

pub(crate) use home::Home;
pub(crate) use journal::JournalSink;
