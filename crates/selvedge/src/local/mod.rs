//! State of local runs: the state directory, its disk usage, and the thread that writes the journal.

mod check_slots;
pub(crate) mod disk;
mod isolated_clone;
mod journal;
mod latest;
mod state_dir;

pub(crate) use check_slots::check_slots;
pub(crate) use isolated_clone::IsolatedClone;
pub(crate) use journal::JournalSink;
pub(crate) use latest::WorkspaceRuns;
pub(crate) use state_dir::{StateDir, run_results};
