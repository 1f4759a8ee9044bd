//! Detects deletions of files that snapshots leave out: the files are recorded when a run begins and checked after
//! each session.
//!
//! Only paths and sizes are compared, with one `lstat` each, for at most [`ExcludedPaths::LISTED`] paths.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_core::model::ExcludedContent;
use serde::{Deserialize, Serialize};

use crate::workspace::{ExcludedPath, ExcludedPaths, ExclusionReason, is_regenerable};

/// File in the run's directory that lists the watched paths.
const WATCHED_PATHS_FILE: &str = "unkept.json";

/// One path that no snapshot contains.
#[derive(Debug, Serialize, Deserialize)]
struct WatchedPath {
    /// Relative to the workspace.
    path: PathBuf,
    /// In bytes; `None` for a folder.
    size: Option<u64>,
}

/// Records what a snapshot left out, and returns what a report must name: files that are too large, and folders that
/// tools fill.
pub(crate) fn record_excluded(
    workspace: &Path,
    left_out: &ExcludedPaths,
    run_dir: &Path,
) -> Option<ExcludedContent> {
    let mut unkept = ExcludedContent::default();
    let mut watched = Vec::new();
    for ExcludedPath { path, reason, size } in &left_out.listed {
        let Some(name) = path.to_str() else { continue };
        let by_size = matches!(
            reason,
            ExclusionReason::TooLarge
                | ExclusionReason::IgnoredTooLarge
                | ExclusionReason::IgnoredTooMuch
        );
        match (size, reason) {
            (Some(size), _) if by_size => unkept.add_file(name.to_owned(), *size),
            (None, ExclusionReason::Cache | ExclusionReason::IgnoredTooMuch) => {
                unkept.add_folder(name.to_owned());
            }
            _ => {}
        }
        let comes_back = *reason == ExclusionReason::Cache && is_regenerable(&workspace.join(path));
        if !comes_back {
            let path = path.clone();
            watched.push(WatchedPath { path, size: *size });
        }
    }
    // Without the list deletions are not noticed later; the run itself does not need it.
    let _ =
        serde_json::to_vec(&watched).map(|list| fs::write(run_dir.join(WATCHED_PATHS_FILE), list));
    (!unkept.is_empty()).then_some(unkept)
}

/// Finds watched paths that are missing, replaced by something else, or emptied.
pub(crate) fn find_deleted(workspace: &Path, run_dir: &Path) -> Option<ExcludedContent> {
    let list = fs::read(run_dir.join(WATCHED_PATHS_FILE)).ok()?;
    let watched: Vec<WatchedPath> = serde_json::from_slice(&list).ok()?;
    let mut deleted = ExcludedContent::default();
    for WatchedPath { path, size } in watched {
        let now = fs::symlink_metadata(workspace.join(&path)).ok();
        let is_there = now.is_some_and(|now| match size {
            Some(size) => !now.is_dir() && (now.len() > 0 || size == 0),
            None => now.is_dir(),
        });
        let name = path.to_string_lossy().into_owned();
        match size {
            _ if is_there => {}
            Some(size) => deleted.add_file(name, size),
            None => deleted.add_folder(name),
        }
    }
    (!deleted.is_empty()).then_some(deleted)
}
