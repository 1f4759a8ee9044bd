//! Build output: what tools make in a workspace or a room, and no snapshot holds.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{copy, set_modified, size_of};
use super::kept_folder::KeptFolder;
use super::{AGENT_MARKER, VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;
use crate::workspace::exclusions::{ExcludedPath, ExclusionReason};

/// The most build output that is kept, in bytes. What is beyond is built again for every tree.
pub(super) const MAX_BUILD_OUTPUT_BYTES: u64 = 4 << 30;
/// The folder of kept build output, in a room and next to a workspace's snapshots.
const BUILD_OUTPUT_FOLDER: &str = "built";

/// Caches that are quickly made again: they are not copied.
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
    /// Keeps the build output that is in the room now, for every tree to begin with.
    pub(super) fn keep_build_output(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let paths = self.find_build_output()?;
        let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
        self.build_output(&kept)
            .keep(&paths, MAX_BUILD_OUTPUT_BYTES, &mut state.build_output)
    }

    /// Copies the workspace's build output, and the times of its files, so that tools find the output up to date. Once
    /// agents have worked in the workspace, it is the output of the last room instead.
    pub(super) fn take_build_output(
        &self,
        left_out: &[ExcludedPath],
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let shadow = self.origin.shadow.dir();
        if shadow.join(AGENT_MARKER).exists() {
            // Its sources are newer: an agent may have set their times.
            let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
            if fs::rename(shadow.join(BUILD_OUTPUT_FOLDER), &kept).is_err() {
                return Ok(());
            }
            return self.build_output(&kept).restore(&mut state.build_output);
        }
        let is_taken = |it: &&ExcludedPath| is_build_output(it) && !self.mounted.contains(&it.path);
        let paths = left_out.iter().filter(is_taken).map(|it| it.path.clone());
        let paths: Vec<PathBuf> = paths.collect();
        if copy_within_limit(&paths, &self.origin.dir, self.tree())? {
            self.copy_times()?;
        }
        self.keep_build_output(state)
    }

    /// Removes build output that is not as it was kept.
    pub(super) fn remove_build_output(
        &self,
        state: &VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let mut paths = self.find_build_output()?;
        paths.retain(|path| !state.installed.contains(path));
        let kept = self.folder.join(BUILD_OUTPUT_FOLDER);
        self.build_output(&kept)
            .remove_changed(&paths, &state.build_output)
    }

    /// Copies kept build output to where it is missing. The tree must have been restored since the checks ran, for they
    /// may have left links in the place of folders.
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

    fn copy_times(&self) -> Result<(), WorkspaceError> {
        let survey = self
            .snapshots
            .survey(self.snapshots.rules(), &HashSet::new())?;
        for path in survey.files.keys() {
            if let Ok(theirs) = self.origin.dir.join(&**path).symlink_metadata() {
                // A file that keeps its new time is only built again.
                let _ = set_modified(&self.tree().join(&**path), &theirs);
            }
        }
        Ok(())
    }

    fn find_build_output(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let survey = self
            .snapshots
            .survey(self.snapshots.rules(), &HashSet::new())?;
        let left_out = survey.excluded.into_iter();
        let paths = left_out.filter(|it| it.reason != ExclusionReason::RepositoryRecords);
        Ok(paths
            .map(|it| it.path)
            .filter(|path| !self.mounted.contains(path))
            .collect())
    }
}

/// Moves a room's kept build output to where the next room of the workspace looks for it.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    super::files::replace_with(
        &folder.join(BUILD_OUTPUT_FOLDER),
        &origin.shadow.dir().join(BUILD_OUTPUT_FOLDER),
    )
}

/// Copies files and folders as long as they fit; returns whether any was copied.
fn copy_within_limit(paths: &[PathBuf], from: &Path, to: &Path) -> Result<bool, WorkspaceError> {
    let mut left = MAX_BUILD_OUTPUT_BYTES;
    let mut has_copied = false;
    for path in paths {
        let size = size_of(&from.join(path), left);
        if size <= left {
            left -= size;
            copy(&from.join(path), &to.join(path))?;
            has_copied = true;
        }
    }
    Ok(has_copied)
}

/// Whether something that no snapshot holds is worth a copy.
fn is_build_output(left_out: &ExcludedPath) -> bool {
    let name = left_out.path.file_name().unwrap_or_default();
    let is_small = CHEAP_CACHES.iter().any(|cache| name == OsStr::new(cache));
    left_out.reason == ExclusionReason::Cache && !is_small
}
