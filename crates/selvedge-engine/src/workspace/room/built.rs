//! Build output: what tools make in a workspace or a room, and no snapshot holds.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{copy, set_modified, size_of};
use super::kept::KeptFolder;
use super::{AGENTS, Room, RoomState};
use crate::workspace::Workspace;
use crate::workspace::coverage::{LeftOut, Reason};
use crate::workspace::error::WorkspaceError;

/// The most build output that is kept, in bytes. What is beyond is built again for every tree.
pub(super) const BUILT_BYTES: u64 = 4 << 30;
/// The folder of kept build output, in a room and next to a workspace's snapshots.
const BUILT: &str = "built";

/// Caches that are quickly made again: they are not copied.
const SMALL_CACHES: [&str; 8] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".nyc_output",
    "coverage",
];

impl Room {
    /// Keeps the build output that is in the room now, for every tree to begin with.
    pub(super) fn keep_build_output(&self, state: &mut RoomState) -> Result<(), WorkspaceError> {
        let paths = self.find_build_output()?;
        let kept = self.folder.join(BUILT);
        self.build_output(&kept)
            .keep(&paths, BUILT_BYTES, &mut state.built)
    }

    /// Copies the workspace's build output, and the times of its files, so that tools find the output up to date. Once
    /// agents have worked in the workspace, it is the output of the last room instead.
    pub(super) fn take_build_output(
        &self,
        left_out: &[LeftOut],
        state: &mut RoomState,
    ) -> Result<(), WorkspaceError> {
        let shadow = self.origin.shadow.dir();
        if shadow.join(AGENTS).exists() {
            // Its sources are newer: an agent may have set their times.
            let kept = self.folder.join(BUILT);
            if fs::rename(shadow.join(BUILT), &kept).is_err() {
                return Ok(());
            }
            return self.build_output(&kept).restore(&mut state.built);
        }
        let is_taken = |it: &&LeftOut| is_build_output(it) && !self.shown.is_at(&it.path);
        let paths = left_out.iter().filter(is_taken).map(|it| it.path.clone());
        let paths: Vec<PathBuf> = paths.collect();
        if copy_within_limit(&paths, &self.origin.dir, self.tree())? {
            self.copy_times()?;
        }
        self.keep_build_output(state)
    }

    /// Removes build output that is not as it was kept.
    pub(super) fn remove_build_output(&self, state: &RoomState) -> Result<(), WorkspaceError> {
        let mut paths = self.find_build_output()?;
        paths.retain(|path| !state.installed.contains(path));
        let kept = self.folder.join(BUILT);
        self.build_output(&kept)
            .remove_changed(&paths, &state.built)
    }

    /// Copies kept build output to where it is missing. The tree must have been restored since the checks ran, for they
    /// may have left links in the place of folders.
    pub(super) fn restore_build_output(&self, state: &mut RoomState) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILT);
        self.build_output(&kept).restore(&mut state.built)
    }

    fn build_output<'a>(&'a self, kept: &'a Path) -> KeptFolder<'a> {
        KeptFolder {
            written: self.tree(),
            kept,
        }
    }

    fn copy_times(&self) -> Result<(), WorkspaceError> {
        let survey = self.inside.survey(self.inside.rules(), &HashSet::new())?;
        for path in survey.files.keys() {
            if let Ok(theirs) = self.origin.dir.join(&**path).symlink_metadata() {
                // A file that keeps its new time is only built again.
                let _ = set_modified(&self.tree().join(&**path), &theirs);
            }
        }
        Ok(())
    }

    fn find_build_output(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let survey = self.inside.survey(self.inside.rules(), &HashSet::new())?;
        let left_out = survey.left_out.into_iter();
        let paths = left_out.filter(|it| it.reason != Reason::RepositoryRecords);
        Ok(paths
            .map(|it| it.path)
            .filter(|path| !self.shown.is_at(path))
            .collect())
    }
}

/// Moves a room's kept build output to where the next room of the workspace looks for it.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    super::files::move_in_place_of(&folder.join(BUILT), &origin.shadow.dir().join(BUILT))
}

/// Copies files and folders as long as they fit; returns whether any was copied.
fn copy_within_limit(paths: &[PathBuf], from: &Path, to: &Path) -> Result<bool, WorkspaceError> {
    let mut left = BUILT_BYTES;
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
fn is_build_output(left_out: &LeftOut) -> bool {
    let name = left_out.path.file_name().unwrap_or_default();
    let is_small = SMALL_CACHES.iter().any(|cache| name == OsStr::new(cache));
    left_out.reason == Reason::Cache && !is_small
}
