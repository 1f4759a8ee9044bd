//! Placeholder replaced within the first commits.
pub mod process;
