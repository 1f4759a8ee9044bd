//! Runs of this machine: where their state lives, and the thread that writes their journal.

mod home;
mod journal;

pub use home::Home;
pub use journal::JournalSink;
