//! Build output: files that tools generate in a workspace or a room and that no snapshot contains.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{copy_files, size_of};
use super::kept_folder::KeptFolder;
use super::{AGENT_MARKER, VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;
use crate::workspace::exclusions::{ExcludedPath, ExclusionReason};

/// Maximum bytes of build output that are kept. Further output is built again for every tree.
pub(super) const MAX_BUILD_OUTPUT_BYTES: u64 = 4 << 30;
/// The folder of kept build output, in a room and next to a workspace's snapshots.
const BUILD_OUTPUT_FOLDER: &str = "built";

/// Caches that are generated quickly and are therefore not copied.
const CHEAP_CACHES: [&str; 8] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".nyc_output",
    "coverage",
];

impl VerificationRoom {
    /// Keeps the current build output of the room at these paths, with which every tree begins.
    pub(super) fn keep_build_output(
        &self,
        paths: &[PathBuf],
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
        self.build_output(&kept)
            .keep(paths, MAX_BUILD_OUTPUT_BYTES, &mut state.build_output)
    }

    /// Copies the workspace's build output. Once an agent has worked in the workspace, the output of the last room is
    /// used instead.
    pub(super) fn take_build_output(
        &self,
        excluded: &[ExcludedPath],
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let shadow = self.origin.shadow.dir();
        if shadow.join(AGENT_MARKER).exists() {
            let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
            if fs::rename(shadow.join(BUILD_OUTPUT_FOLDER), &kept).is_err() {
                return Ok(());
            }
            return self.build_output(&kept).restore(&mut state.build_output);
        }
        let is_copied =
            |it: &&ExcludedPath| is_build_output(it) && !self.mounted.contains(&it.path);
        let paths = excluded.iter().filter(is_copied).map(|it| it.path.clone());
        let copied = copy_within_limit(paths.collect(), &self.origin.dir, self.tree())?;
        // A new room has no other output.
        self.keep_build_output(&copied, state)
    }

    /// Removes build output that differs from the kept one, and returns whether there was any. `excluded` are the paths
    /// in the room that snapshots do not cover.
    pub(super) fn remove_build_output(
        &self,
        excluded: &[ExcludedPath],
        state: &VerificationRoomState,
    ) -> Result<bool, WorkspaceError> {
        let mut paths = self.build_output_in(excluded);
        paths.retain(|path| !state.installed.contains(path));
        let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
        self.build_output(&kept)
            .remove_changed(&paths, &state.build_output)
    }

    /// Copies kept build output to where it is missing. The tree must have been restored since the checks ran, because
    /// they may have replaced folders by links.
    pub(super) fn restore_build_output(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
        self.build_output(&kept).restore(&mut state.build_output)
    }

    fn build_output<'a>(&'a self, kept: &'a Path) -> KeptFolder<'a> {
        KeptFolder {
            written: self.tree(),
            kept,
        }
    }

    /// Selects build output among the paths in the room that snapshots do not cover.
    pub(super) fn build_output_in(&self, excluded: &[ExcludedPath]) -> Vec<PathBuf> {
        let excluded = excluded.iter();
        let paths = excluded.filter(|it| it.reason != ExclusionReason::RepositoryRecords);
        paths
            .map(|it| it.path.clone())
            .filter(|path| !self.mounted.contains(path))
            .collect()
    }
}

/// Moves a room's kept build output to where the next room of the workspace looks for it.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    super::files::replace_with(
        &folder.join(BUILD_OUTPUT_FOLDER),
        &origin.shadow.dir().join(BUILD_OUTPUT_FOLDER),
    )
}

/// Copies files and folders as long as they fit, and returns the copied ones.
fn copy_within_limit(
    mut paths: Vec<PathBuf>,
    from: &Path,
    to: &Path,
) -> Result<Vec<PathBuf>, WorkspaceError> {
    let mut remaining_bytes = MAX_BUILD_OUTPUT_BYTES;
    paths.retain(|path| {
        let size = size_of(&from.join(path), remaining_bytes);
        let fits = size <= remaining_bytes;
        remaining_bytes -= if fits { size } else { 0 };
        fits
    });
    copy_files(from, to, &paths)?;
    Ok(paths)
}

/// Returns whether an excluded path is worth copying.
fn is_build_output(excluded: &ExcludedPath) -> bool {
    let name = excluded.path.file_name().unwrap_or_default();
    let is_cheap = CHEAP_CACHES.iter().any(|cache| name == OsStr::new(cache));
    excluded.reason == ExclusionReason::Cache && !is_cheap
}
