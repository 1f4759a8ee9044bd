//! Compiled code and results that tools store outside of the workspace (Go's build cache, a `CARGO_TARGET_DIR`). In a
//! room, they are reset to the kept ones for each tree, so no run of the checks reads what another run wrote.
//!
//! The next room of the workspace begins with both folders, and copies only what has changed in the meantime: build
//! caches have thousands of files.

use std::fs;
use std::path::{Path, PathBuf};

use super::build_output::MAX_BUILD_OUTPUT_BYTES;
use super::files::{copy, make_folder, remove_all, size_of};
use super::kept_folder::{FileFingerprints, KeptFolder, load_fingerprints, save_fingerprints};
use super::mounts::{VerificationRoomMount, encode_path};
use super::written::MAX_REUSED_BYTES;
use super::{VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;
use crate::workspace::relative::RelativePath;

/// Maximum size in bytes of a folder that is copied into a new room.
pub(super) const MAX_COPIED_BYTES: u64 = 1 << 30;
/// Folders in a room: the mounted ones, and their kept copies.
const RESULTS_FOLDER: &str = "results";
const KEPT_FOLDER: &str = "kept-results";
/// The fingerprints of kept files in the mounted folders.
const FINGERPRINTS_FILE: &str = "kept-results.files";
/// The folder of these three of the last room, next to a workspace's snapshots.
pub(super) const LAST_RESULTS_FOLDER: &str = "last-results";

/// A folder outside of the workspace in which tools store results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultCache {
    pub(crate) path: PathBuf,
    /// Whether tools of this workspace seem to use it; then it is copied, unless it is too large.
    pub(crate) is_used: bool,
}

impl VerificationRoom {
    /// Creates the room's folders of caches that do not have one yet.
    pub(super) fn make_result_caches(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let (written, kept) = self.result_folders();
        let names = self.result_caches.iter().map(|it| encode_path(&it.path));
        let is_new = |name: &PathBuf| !written.join(name).exists();
        if !names.clone().any(|name| is_new(&name)) {
            return Ok(());
        }
        let last = self.origin.shadow.dir().join(LAST_RESULTS_FOLDER);
        let last_fingerprints = load_fingerprints(&last.join(FINGERPRINTS_FILE));
        make_folder(&written)?;
        make_folder(&kept)?;
        for (cache, name) in self.result_caches.iter().zip(names) {
            if !is_new(&name) {
                continue;
            }
            let is_small = || size_of(&cache.path, MAX_COPIED_BYTES) <= MAX_COPIED_BYTES;
            let taken = |folder: &str, to: &Path| {
                fs::rename(last.join(folder).join(&name), to.join(&name)).is_ok()
            };
            if taken(KEPT_FOLDER, &kept) {
                if taken(RESULTS_FOLDER, &written) {
                    let of_cache = |(path, _): &(&RelativePath, _)| path.starts_with(&name);
                    let files = last_fingerprints.iter().filter(of_cache);
                    let files = files.map(|(path, fingerprint)| (path.clone(), *fingerprint));
                    state.kept.results.extend(files);
                }
            } else if cache.is_used && is_small() {
                copy(&cache.path, &kept.join(&name))?;
            }
            make_folder(&written.join(&name))?;
        }
        remove_all(&last)?;
        if self.reset_results(state).is_ok() {
            return Ok(());
        }
        // Checks may have left anything in the folders of the last room.
        remove_all(&written)?;
        state.kept.results.clear();
        for cache in &self.result_caches {
            make_folder(&written.join(encode_path(&cache.path)))?;
        }
        self.reset_results(state)
    }

    /// Whether there are any results.
    pub(super) fn has_results(&self) -> bool {
        size_of(&self.result_folders().0, 0) > 0
    }

    /// Keeps the current results, with which every tree begins.
    pub(super) fn keep_results(
        &self,
        fingerprints: &mut FileFingerprints,
    ) -> Result<(), WorkspaceError> {
        let (written, kept) = self.result_folders();
        let folder = Self::results(&written, &kept);
        folder.keep(&names_in(&written), MAX_BUILD_OUTPUT_BYTES, fingerprints)?;
        save_fingerprints(&self.folder.join(FINGERPRINTS_FILE), &*fingerprints)
    }

    /// Resets the results to the kept ones.
    pub(super) fn reset_results(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let (written, kept) = self.result_folders();
        let folder = Self::results(&written, &kept);
        let names = names_in(&written);
        folder.remove_changed(&names, &state.kept.results)?;
        for name in names {
            make_folder(&written.join(name))?;
        }
        folder.restore(&mut state.kept.results)?;
        save_fingerprints(&self.folder.join(FINGERPRINTS_FILE), &state.kept.results)
    }

    pub(super) fn result_mounts(&self) -> Vec<VerificationRoomMount> {
        let (written, _) = self.result_folders();
        let mounts = self
            .result_caches
            .iter()
            .map(|cache| VerificationRoomMount {
                source: written.join(encode_path(&cache.path)),
                mount_point: cache.path.clone(),
                is_writable: true,
            });
        mounts.collect()
    }

    fn results<'a>(written: &'a Path, kept: &'a Path) -> KeptFolder<'a> {
        KeptFolder { written, kept }
    }

    fn result_folders(&self) -> (PathBuf, PathBuf) {
        (
            self.folder.join(RESULTS_FOLDER),
            self.folder.join(KEPT_FOLDER),
        )
    }
}

/// Moves a room's results to where the next room of the workspace looks for them.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    // It is written once they are complete.
    if !folder.join(FINGERPRINTS_FILE).exists() {
        return Ok(());
    }
    let last = origin.shadow.dir().join(LAST_RESULTS_FOLDER);
    remove_all(&last)?;
    make_folder(&last)?;
    let is_small = size_of(&folder.join(RESULTS_FOLDER), MAX_REUSED_BYTES) <= MAX_REUSED_BYTES;
    let reused = [FINGERPRINTS_FILE, RESULTS_FOLDER];
    for name in reused.iter().filter(|_| is_small).chain([&KEPT_FOLDER]) {
        // What the next room does not find is copied or built again.
        let _ = fs::rename(folder.join(name), last.join(name));
    }
    Ok(())
}

fn names_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into()).collect()
}
