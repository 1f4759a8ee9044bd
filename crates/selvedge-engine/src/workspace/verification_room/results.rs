//! Compiled code and results that tools store outside of the workspace (Go's build cache, a `CARGO_TARGET_DIR`). In a
//! room, they are reset to the kept ones for each tree, so no run of the checks reads what another run wrote.

use std::fs;
use std::path::{Path, PathBuf};

use super::build_output::MAX_BUILD_OUTPUT_BYTES;
use super::files::{copy, make_folder, replace_with, size_of};
use super::kept_folder::KeptFolder;
use super::mounts::{VerificationRoomMount, encode_path};
use super::{VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;

/// Maximum size in bytes of a folder that is copied into a new room.
pub(super) const MAX_COPIED_BYTES: u64 = 1 << 30;
/// Folders in a room: the mounted ones, and their kept copies. The latter is also used next to a workspace's snapshots.
const RESULTS_FOLDER: &str = "results";
const KEPT_FOLDER: &str = "kept-results";

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
        let next = self.origin.shadow.dir().join(KEPT_FOLDER);
        let mut is_any_new = false;
        for cache in &self.result_caches {
            let name = encode_path(&cache.path);
            if written.join(&name).exists() {
                continue;
            }
            is_any_new = true;
            make_folder(&written.join(&name))?;
            make_folder(&kept)?;
            let is_small = || size_of(&cache.path, MAX_COPIED_BYTES) <= MAX_COPIED_BYTES;
            if fs::rename(next.join(&name), kept.join(&name)).is_ok() {
                continue;
            }
            if cache.is_used && is_small() {
                copy(&cache.path, &kept.join(&name))?;
            }
        }
        if is_any_new {
            Self::results(&written, &kept).restore(&mut state.results)?;
        }
        Ok(())
    }

    /// Keeps the current results, with which every tree begins.
    pub(super) fn keep_results(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let (written, kept) = self.result_folders();
        let folder = Self::results(&written, &kept);
        folder.keep(
            &names_in(&written),
            MAX_BUILD_OUTPUT_BYTES,
            &mut state.results,
        )
    }

    /// Resets the results to the kept ones.
    pub(super) fn reset_results(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let (written, kept) = self.result_folders();
        let folder = Self::results(&written, &kept);
        let names = names_in(&written);
        folder.remove_changed(&names, &state.results)?;
        for name in names {
            make_folder(&written.join(name))?;
        }
        folder.restore(&mut state.results)
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

/// Moves a room's kept results to where the next room of the workspace looks for them.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    replace_with(
        &folder.join(KEPT_FOLDER),
        &origin.shadow.dir().join(KEPT_FOLDER),
    )
}

fn names_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into()).collect()
}
