//! Folders of a room that checks write and that no snapshot contains: build output, and copies of tools. The next room
//! of the workspace begins with them, and copies only what differs from the kept output and from the tools, because they
//! have thousands of files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::build_output::{self, kept_output};
use super::copied_tools;
use super::files::{is_folder, make_folder, remove_all, size_of};
use super::{DOING, VerificationRoom};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;

/// The last room's folders, next to a workspace's snapshots.
pub(super) const LAST_WRITTEN_FOLDER: &str = "last-written";
/// The list of their paths. Each has its index as its name.
const LIST: &str = "folders.json";
/// Maximum size in bytes of each folder, because it doubles the space of what it was copied from.
pub(super) const MAX_REUSED_BYTES: u64 = 1 << 30;
/// The fingerprints of their files, in a room and next to the folders.
const FINGERPRINTS: [&str; 3] = [
    build_output::FINGERPRINTS_FILE,
    copied_tools::ORIGINALS_FILE,
    copied_tools::COPIES_FILE,
];

/// Keeps folders of a room that ends.
pub(super) struct WrittenFolders {
    tree: PathBuf,
    last: PathBuf,
    /// The kept build output.
    output: Option<PathBuf>,
    tools: BTreeSet<PathBuf>,
    paths: Vec<String>,
}

impl WrittenFolders {
    /// Begins to keep folders of the room in `folder`; its build output only if the kept one `has_output`.
    pub(super) fn begin(
        origin: &Workspace,
        tree: &Path,
        folder: &Path,
        has_output: bool,
    ) -> Result<Self, WorkspaceError> {
        let last = origin.shadow.dir().join(LAST_WRITTEN_FOLDER);
        remove_all(&last)?;
        make_folder(&last)?;
        for name in FINGERPRINTS {
            // Without them, the next room copies all files.
            let _ = fs::rename(folder.join(name), last.join(name));
        }
        Ok(Self {
            tree: tree.to_owned(),
            last,
            output: has_output.then(|| kept_output(origin.shadow.dir())),
            tools: copied_tools::listed(origin),
            paths: Vec::new(),
        })
    }

    /// Moves a folder of the room, if it is one of them. Returns whether it was moved.
    pub(super) fn keep(&mut self, path: &Path) -> bool {
        let output = self.output.as_ref();
        let is_output = output.is_some_and(|kept| is_folder(&kept.join(path)));
        let Some(name) = path.to_str() else {
            return false;
        };
        if !is_output && !self.tools.contains(path) {
            return false;
        }
        let at = self.tree.join(path);
        if size_of(&at, MAX_REUSED_BYTES) > MAX_REUSED_BYTES {
            return false;
        }
        let index = self.paths.len().to_string();
        let is_moved = fs::rename(at, self.last.join(index)).is_ok();
        if is_moved {
            self.paths.push(name.to_owned());
        }
        is_moved
    }

    pub(super) fn finish(self) -> Result<(), WorkspaceError> {
        let path = self.last.join(LIST);
        serde_json::to_vec(&self.paths)
            .map_err(io::Error::from)
            .and_then(|list| fs::write(&path, list))
            .map_err(|error| WorkspaceError::io(DOING, &path, error))
    }
}

impl VerificationRoom {
    /// Moves the folders of the workspace's last room to this new one, and returns those that fit into its tree. Checks
    /// may have left anything in them.
    pub(super) fn take_written(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let last = self.origin.shadow.dir().join(LAST_WRITTEN_FOLDER);
        let list = fs::read(last.join(LIST)).unwrap_or_default();
        let mut paths: Vec<PathBuf> = serde_json::from_slice(&list).unwrap_or_default();
        let mut index = 0;
        paths.retain(|path| {
            let from = last.join(index.to_string());
            index += 1;
            let to = self.tree().join(path);
            let is_free = self.can_create(path) && to.symlink_metadata().is_err();
            is_free && is_folder(to.parent().unwrap_or(&to)) && fs::rename(from, to).is_ok()
        });
        for name in FINGERPRINTS {
            // Without them, all files count as changed.
            let _ = fs::rename(last.join(name), self.folder.join(name));
        }
        remove_all(&last)?;
        Ok(paths)
    }
}
