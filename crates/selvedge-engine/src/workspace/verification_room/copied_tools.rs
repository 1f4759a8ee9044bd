//! Folders of installed tools that checks write to: a room has a new copy of them for each tree, instead of a read-only
//! mount. The list of these folders is kept for later runs in the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{copy, is_folder, remove_all, size_of};
use super::results::MAX_COPIED_BYTES;
use super::{DOING, VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;

/// The list of these folders, next to a workspace's snapshots.
const LIST: &str = "copied-tools.json";

/// Returns the tool folders of which a new room has a copy.
pub(super) fn remembered(origin: &Workspace, tools: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let list = fs::read(origin.shadow.dir().join(LIST)).unwrap_or_default();
    let mut folders: BTreeSet<PathBuf> = serde_json::from_slice(&list).unwrap_or_default();
    folders.retain(|folder| tools.contains(folder) && is_small(origin, folder));
    folders
}

fn is_small(origin: &Workspace, folder: &Path) -> bool {
    size_of(&origin.dir.join(folder), MAX_COPIED_BYTES) <= MAX_COPIED_BYTES
}

impl VerificationRoom {
    /// Copies these folders from now on, and returns those of which it had none so far. The next tree counts as a
    /// different one. Paths that are not tool folders, and folders that are too large, are skipped.
    pub(crate) fn copy_tools(
        &self,
        folders: &BTreeSet<PathBuf>,
    ) -> Result<Vec<String>, WorkspaceError> {
        let mut state = self.state();
        let tools = self.mounted.tools();
        let is_new = |folder: &&PathBuf| {
            tools.contains(*folder)
                && !state.copied.contains(*folder)
                && is_small(&self.origin, folder)
        };
        let new: BTreeSet<PathBuf> = folders.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        state.copied.extend(new.iter().cloned());
        state.entered = None;
        let path = self.origin.shadow.dir().join(LIST);
        let list = serde_json::to_vec(&state.copied).unwrap_or_default();
        fs::write(&path, list).map_err(|error| WorkspaceError::io(DOING, &path, error))?;
        Ok(names(&new))
    }

    /// The folders that are copied.
    pub(crate) fn copied_tools(&self) -> Vec<String> {
        names(&self.state().copied)
    }

    /// Removes the copies, before tools are installed.
    pub(crate) fn remove_copied_tools(&self) -> Result<(), WorkspaceError> {
        for folder in &self.state().copied {
            self.remove_tool(folder)?;
        }
        Ok(())
    }

    /// Replaces the copies by new ones while the tree stays entered.
    pub(crate) fn refresh_copied_tools(&self) -> Result<(), WorkspaceError> {
        self.refresh_copies(&self.state())
    }

    /// Replaces the copies by new ones, except for tools that were installed in the room.
    pub(super) fn refresh_copies(
        &self,
        state: &VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        for folder in state.copied.difference(&state.installed) {
            let original = self.origin.dir.join(folder);
            if self.remove_tool(folder)? && is_folder(&original) {
                copy(&original, &self.tree().join(folder))?;
            }
        }
        Ok(())
    }

    /// Removes a folder. Returns whether it can be created again: the tree may have a file or a link above it.
    fn remove_tool(&self, folder: &Path) -> Result<bool, WorkspaceError> {
        let mut above: Vec<&Path> = folder.ancestors().collect();
        above.reverse();
        for path in above
            .into_iter()
            .filter(|path| !path.as_os_str().is_empty())
        {
            let at = self.tree().join(path);
            if path == folder {
                remove_all(&at)?;
            } else if !is_folder(&at) {
                return Ok(at.symlink_metadata().is_err());
            }
        }
        Ok(true)
    }
}

fn names(folders: &BTreeSet<PathBuf>) -> Vec<String> {
    let names = folders.iter().map(|folder| folder.display().to_string());
    names.collect()
}
