//! Tests of workspaces: snapshots, restores, diffs, locks and hostile repositories.

// Clippy's exception for tests does not include their helper functions.
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
