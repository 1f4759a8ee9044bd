//! Cross-verification: an attempt's work is checked with the tests that existed before it.
//!
//! There are two trees, one before and one after the attempt. If the attempt changed anything on the *test side*, the
//! checks run once more with the original test side, so that changes of tests cannot affect the result. `sides` decides
//! which changed files are on that side, `packages` recognizes packages of helpers, `project_files` recognizes files
//! that only look like test files, `examples` recognizes documents that are run as tests, `test_names` and `product`
//! recognize tests and the sources of the product, `manifest` separates the two sides within a manifest, `renames`
//! follows the attempt's renames, `tool_settings` recognizes settings of unknown tools, and `outcome` evaluates the second
//! run.

mod added_tests;
mod aliases;
mod build_sources;
mod config_files;
mod definitions;
mod environment;
mod examples;
mod expected;
mod expected_failures;
mod go_packages;
mod languages;
mod loaded_files;
mod manifest;
mod namesakes;
mod namespaces;
mod outcome;
mod packages;
mod product;
mod project_files;
mod recipes;
mod references;
mod renames;
mod scripts;
mod shell_flow;
mod sides;
mod test_names;
mod test_programs;
#[cfg(test)]
mod tests;
mod tool_settings;
mod workspaces;
mod wrappers;

pub use added_tests::{AttemptsTests, is_plain_test};
pub use expected::ExpectedChanges;
pub use expected_failures::accept_unexpected_passes;
pub use manifest::{MergeResult, with_supported_versions};
pub(crate) use manifest::{is_manifest, package_name, with_dependencies};
pub use outcome::{CrossedRuns, NextRun, conclude, name_changed, next_run, report_all_expected};
pub use renames::{NewNames, RenamedOriginals, rename_originals};
pub use sides::{
    BaseFiles, CrossedFile, CrossingContext, ProjectSide, Replacement, content_filter,
    find_crossed_files, find_written_tests, scripts_among,
};
