//! Runs of this machine: where their state lives and what room it takes, and the thread that
//! writes their journal.

pub(crate) mod disk;
mod home;
mod journal;
mod latest;
mod own;

pub(crate) use home::{Home, results};
pub(crate) use journal::JournalSink;
pub(crate) use latest::WorkspaceRuns;
pub(crate) use own::Own;
