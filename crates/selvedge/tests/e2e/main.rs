//! Real agents from npm, against a scripted model on loopback: no account, no network beyond the
//! registries that they are installed from. And real test runners, asked for their reports, or judged over
//! the corpus of cheats and honest changes. `cargo xtask e2e` (or `just e2e`) installs them, pinned,
//! into scratch folders and runs this suite. Without those programs it fails, and says how to run it;
//! what it skips, and says so, are runners that neither npm nor pip can install and the machine lacks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must stop, and say why"
)]

mod agents;
mod builds;
mod callers;
mod claude_code;
mod corpus;
#[path = "../it/corrected.rs"]
mod corrected;
mod disk_full;
mod fixtures;
mod replays;
mod reports;
mod slow;
mod tools;
