//! Tests with real agents from npm against a scripted model on loopback, which need no account and no network
//! except for the package registries. Also tests with real test runners: their reports, and the corpus of
//! cheats and honest changes. `cargo xtask e2e` (or `just e2e`) installs the pinned programs into scratch
//! folders and runs this suite. Without them it fails and reports how to run it. Runners that neither npm nor
//! pip can install are skipped with a message if they are missing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must stop, and say why"
)]

mod agents;
mod archives;
mod builds;
mod callers;
mod claude_code;
mod corpus;
#[path = "../it/corrected.rs"]
mod corrected;
mod disk_full;
mod dist;
mod fixtures;
mod gate;
mod mcp;
mod object_store;
mod replays;
mod reports;
mod slow;
mod tools;
mod usage_limits;
mod wild;
