//! Workspaces: snapshots, restores, diffs, locks, and repositories that mean harm.

// Clippy's leave for tests does not reach the helpers beside them.
#![allow(clippy::unwrap_used)]

mod diffs;
mod fixture;
mod hostile;
mod locks;
mod properties;
mod random_trees;
mod restores;
mod snapshots;
mod statuses;
mod transfers;
