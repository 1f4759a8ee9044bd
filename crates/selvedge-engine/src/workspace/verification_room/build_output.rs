//! Build output: files that tools generate in a workspace or a room and that no snapshot contains.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{copy_files, remove_all, size_of};
use super::kept_folder::{
    FileFingerprints, KeptFolder, RemovedFiles, load_fingerprints, save_fingerprints,
};
use super::{AGENT_MARKER, VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;
use crate::workspace::exclusions::{ExcludedPath, ExclusionReason};

/// Maximum bytes of build output that are kept. Further output is built again for every tree.
pub(super) const MAX_BUILD_OUTPUT_BYTES: u64 = 4 << 30;
pub(super) const BUILD_OUTPUT_FOLDER: &str = "built";
/// The fingerprints of kept files in a room.
pub(super) const FINGERPRINTS_FILE: &str = "built.files";

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
        fingerprints: &mut FileFingerprints,
    ) -> Result<(), WorkspaceError> {
        let kept = kept_output(&self.folder);
        self.build_output(&kept)
            .keep(paths, MAX_BUILD_OUTPUT_BYTES, fingerprints)?;
        save_fingerprints(&self.folder.join(FINGERPRINTS_FILE), &*fingerprints)
    }

    /// Copies the workspace's build output. Once an agent has worked in the workspace, the output of the last room is
    /// used instead. `written` are the folders of that room which are already here.
    pub(super) fn take_build_output(
        &self,
        excluded: &[ExcludedPath],
        written: &[PathBuf],
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let shadow = self.origin.shadow.dir();
        if shadow.join(AGENT_MARKER).exists() {
            let kept = kept_output(&self.folder);
            let has_kept = fs::rename(kept_output(shadow), &kept).is_ok();
            if has_kept {
                state.kept.output = load_fingerprints(&self.folder.join(FINGERPRINTS_FILE));
            }
            self.build_output(&kept)
                .remove_changed(written, &state.kept.output)?;
            return self.restore_build_output(state).map(drop);
        }
        for path in written {
            remove_all(&self.tree().join(path))?;
        }
        let is_copied =
            |it: &&ExcludedPath| is_build_output(it) && !self.mounted.contains(&it.path);
        let paths = excluded.iter().filter(is_copied).map(|it| it.path.clone());
        let copied = copy_within_limit(paths.collect(), &self.origin.dir, self.tree())?;
        // A new room has no other output.
        self.keep_build_output(&copied, &mut state.kept.output)
    }

    /// Removes build output that differs from the kept one. `excluded` are the paths in the room that snapshots do not
    /// cover.
    pub(super) fn remove_build_output(
        &self,
        excluded: &[ExcludedPath],
        state: &VerificationRoomState,
    ) -> Result<RemovedFiles, WorkspaceError> {
        let mut paths = self.build_output_in(excluded);
        paths.retain(|path| !state.installed.contains(path));
        let kept = kept_output(&self.folder);
        self.build_output(&kept)
            .remove_changed(&paths, &state.kept.output)
    }

    /// Copies kept build output to where it is missing. The tree must have been restored since the checks ran, because
    /// they may have replaced folders by links. Returns the missing ones.
    pub(super) fn restore_build_output(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let kept = kept_output(&self.folder);
        let fingerprints = &mut state.kept.output;
        let missing = self.build_output(&kept).restore(fingerprints)?;
        save_fingerprints(&self.folder.join(FINGERPRINTS_FILE), &*fingerprints)?;
        Ok(missing)
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
    super::files::replace_with(&kept_output(folder), &kept_output(origin.shadow.dir()))
}

/// The folder of kept build output in a room, or next to a workspace's snapshots.
pub(super) fn kept_output(folder: &Path) -> PathBuf {
    folder.join(BUILD_OUTPUT_FOLDER)
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
