//! Folders of installed tools that checks write to: a room has a copy of them, instead of a read-only mount, which is made
//! equal to them again for each tree. The list of these folders is kept for later runs in the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::thread;

use itertools::{EitherOrBoth, Itertools};

use super::files::{is_folder, make_folder, remove_all, size_of};
use super::folder_copy::{CopiedFiles, update_copy};
use super::kept_folder::{load_fingerprints, save_fingerprints};
use super::results::MAX_COPIED_BYTES;
use super::{DOING, UNUSED_TOOLS_FOLDER, VerificationRoom, VerificationRoomState};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;
use crate::workspace::tool_folders::ToolFiles;

/// The list of these folders, next to a workspace's snapshots.
const LIST: &str = "copied-tools.json";

/// The fingerprints of the tools and of the copies of a room.
pub(super) const ORIGINALS_FILE: &str = "tools.files";
pub(super) const COPIES_FILE: &str = "tools.copies";

/// Returns the tool folders that checks of the workspace write to.
pub(super) fn listed(origin: &Workspace) -> BTreeSet<PathBuf> {
    let list = fs::read(origin.shadow.dir().join(LIST)).unwrap_or_default();
    serde_json::from_slice(&list).unwrap_or_default()
}

/// Returns the tool folders of which a new room has a copy, unless they are too large.
pub(super) fn remembered(origin: &Workspace, tools: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut folders = listed(origin);
    folders.retain(|folder| tools.contains(folder));
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

    /// Removes copies, and what a setup has installed in the room, before tools are installed: earlier checks may have
    /// changed either, and a package manager leaves what it finds. There may be many files, so a thread removes them
    /// while the setup runs.
    pub(crate) fn remove_tools(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state();
        state.wait_for_removed_tools();
        state.tool_copies.clear();
        state.are_copies_current = false;
        let mut folders = self.mounted.tools();
        folders.retain(|folder| self.has_tools(folder));
        folders.extend(state.copied.union(&state.installed).cloned());
        let unused = self.folder.join(UNUSED_TOOLS_FOLDER);
        remove_all(&unused)?;
        make_folder(&unused)?;
        for (index, folder) in folders.iter().enumerate() {
            let is_moved = || {
                let unused = unused.join(index.to_string());
                fs::rename(self.tree().join(folder), unused).is_ok()
            };
            if !self.can_create(folder) || !is_moved() {
                self.remove_tool(folder)?;
            }
        }
        // What remains is removed with the room.
        let remove = move || drop(remove_all(&unused));
        state.removing_tools = thread::Builder::new().spawn(remove).ok();
        self.mounted.create_places_of_settings(self.tree())
    }

    /// Makes the copies equal to the tools of the workspace while the tree stays entered.
    pub(crate) fn refresh_copied_tools(&self) -> Result<(), WorkspaceError> {
        self.refresh_copies(&mut self.state())
    }

    /// Makes the copies equal to the tools of the workspace, except for tools that were installed in the room.
    pub(super) fn refresh_copies(
        &self,
        state: &mut VerificationRoomState,
    ) -> Result<(), WorkspaceError> {
        let folders: Vec<PathBuf> = state.copied.difference(&state.installed).cloned().collect();
        let mut copies = CopiedFiles::new();
        for folder in folders {
            let original = self.origin.dir.join(&folder);
            let is_known = state.tool_copies.keys().any(|it| it.starts_with(&folder));
            if !is_folder(&original) {
                self.remove_tool(&folder)?;
            } else if !is_known && !is_small(&self.origin, &folder) {
                self.remove_tool(&folder)?;
                state.copied.remove(&folder);
            } else if self.can_create(&folder) {
                let copy = self.tree().join(&folder);
                make_folder(copy.parent().unwrap_or(&copy))?;
                let known = &state.tool_copies;
                copies.extend(update_copy(&self.origin.dir, self.tree(), &folder, known)?);
            }
        }
        if copies != state.tool_copies {
            state.tool_copies = copies;
            let files = state.tool_copies.iter();
            let originals = files.clone().map(|(path, (original, _))| (path, original));
            save_fingerprints(&self.folder.join(ORIGINALS_FILE), originals)?;
            let copies = files.map(|(path, (_, copy))| (path, copy));
            save_fingerprints(&self.folder.join(COPIES_FILE), copies)?;
        }
        Ok(())
    }

    /// Loads what the last room knew of its copies.
    pub(super) fn load_copies(&self, state: &mut VerificationRoomState) {
        let copies = load_fingerprints(&self.folder.join(COPIES_FILE)).into_iter();
        let originals = load_fingerprints(&self.folder.join(ORIGINALS_FILE));
        let pairs = originals
            .into_iter()
            .merge_join_by(copies, |one, other| one.0.cmp(&other.0));
        let pairs = pairs.filter_map(EitherOrBoth::both);
        state.tool_copies = pairs
            .map(|((path, original), (_, copy))| (path, (original, copy)))
            .collect();
    }

    fn remove_tool(&self, folder: &Path) -> Result<(), WorkspaceError> {
        if self.can_create(folder) {
            remove_all(&self.tree().join(folder))?;
        }
        Ok(())
    }

    /// Whether a folder can be created: the tree may have a file or a link above it.
    pub(super) fn can_create(&self, folder: &Path) -> bool {
        let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
        above.reverse();
        let blocked = above.into_iter().find_map(|path| {
            let data = self.tree().join(path).symlink_metadata();
            match data {
                Ok(data) if data.is_dir() => None,
                found => Some(found.is_ok()),
            }
        });
        blocked != Some(true)
    }
}

impl VerificationRoomState {
    pub(super) fn wait_for_removed_tools(&mut self) {
        if let Some(removing) = self.removing_tools.take() {
            let _ = removing.join();
        }
    }

    /// Takes the files of the copies, unless something has run in the room since they were made.
    pub(super) fn take_current_copies(&mut self) -> ToolFiles {
        if !mem::take(&mut self.are_copies_current) {
            return ToolFiles::default();
        }
        let files = self.tool_copies.iter();
        ToolFiles {
            folders: self.copied.difference(&self.installed).cloned().collect(),
            files: files
                .map(|(path, (_, copy))| (path.clone(), *copy))
                .collect(),
        }
    }
}

fn names(folders: &BTreeSet<PathBuf>) -> Vec<String> {
    let names = folders.iter().map(|folder| folder.display().to_string());
    names.collect()
}
