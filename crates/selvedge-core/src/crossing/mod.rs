//! Cross-verification: the work of an attempt is checked with the tests that were there before it.
//!
//! After an attempt there are two trees, the one it began from and the one it left. Where it changed anything on the
//! *test side*, the checks run once more, with the test side as it was before: whatever was done to the tests can
//! then make no difference. `sides` decides which changed files are on that side, `packages`
//! knows packages of helpers, `products` what only looks like one, `manifest` separates the two sides within a manifest, `renames` follows what the attempt renamed, and `outcome` draws the conclusion from the second run.

mod aliases;
mod config_files;
mod definitions;
mod expected;
mod go_packages;
mod languages;
mod manifest;
mod namesakes;
mod outcome;
mod packages;
mod project_files;
mod references;
mod renames;
mod scripts;
mod sides;
#[cfg(test)]
mod tests;

pub use expected::ExpectedChanges;
pub use manifest::MergeResult;
pub use outcome::{CrossedRuns, NextRun, conclude, next_run, report_all_expected};
pub use renames::{NewNames, RenamedOriginals, rename_originals};
pub use sides::{
    BaseFiles, CrossedFile, CrossingContext, ProjectSide, Replacement, content_filter,
    find_crossed_files, find_written_tests, scripts_among,
};
