//! Build output: what tools make in a workspace or a room, and no snapshot holds.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{copy, copy_files, files_below, is_folder, remove_all, set_modified, size_of};
use super::{AGENTS, Room, RoomState};
use crate::workspace::Workspace;
use crate::workspace::coverage::{LeftOut, Reason};
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::Fingerprint;

/// The most build output that is kept, in bytes. What is beyond is built again for every tree.
const BUILT_BYTES: u64 = 4 << 30;
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
    pub(crate) fn keep_build_output(&self) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILT);
        remove_all(&kept)?;
        copy_within_limit(&self.find_build_output()?, self.tree(), &kept)?;
        self.state().built = self.note_build_output(&kept);
        Ok(())
    }

    /// Copies the workspace's build output, and the times of its files, so that tools find the output up to date. Once
    /// agents have worked in the workspace, it is the output of the last room instead.
    pub(super) fn take_build_output(&self, left_out: &[LeftOut]) -> Result<(), WorkspaceError> {
        let shadow = self.origin.shadow.dir();
        if shadow.join(AGENTS).exists() {
            let kept = shadow.join(BUILT);
            let files = files_below(&kept, Path::new(""));
            let files: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
            // Its sources are newer: an agent may have set their times.
            copy_files(&kept, self.tree(), &files)?;
        } else {
            let is_taken = |it: &&LeftOut| is_build_output(it) && !self.shown.is_at(&it.path);
            let paths = left_out.iter().filter(is_taken).map(|it| it.path.clone());
            let paths: Vec<PathBuf> = paths.collect();
            if copy_within_limit(&paths, &self.origin.dir, self.tree())? {
                self.copy_times()?;
            }
        }
        self.keep_build_output()
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

    /// Removes build output that is not as it was kept. No link is followed: paths come from walks that follow none.
    pub(super) fn remove_build_output(&self, state: &RoomState) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILT);
        for path in self.find_build_output()? {
            let at = self.tree().join(&path);
            if state.installed.contains(&path) {
                continue;
            }
            if !is_folder(&kept.join(&path)) || !is_folder(&at) {
                remove_all(&at)?;
                continue;
            }
            for (below, print) in files_below(&at, &path) {
                if state.built.get(&below) != Some(&print) {
                    remove_all(&self.tree().join(below))?;
                }
            }
        }
        Ok(())
    }

    /// Copies kept build output to where it is missing. The tree must have been restored since the checks ran, for they
    /// may have left links in the place of folders.
    pub(super) fn restore_build_output(&self, state: &mut RoomState) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILT);
        let tree = self.tree();
        let mut folders = BTreeSet::new();
        let mut missing = Vec::new();
        for (path, _) in files_below(&kept, Path::new("")) {
            if !is_below_folders(tree, &path, &mut folders) {
                continue;
            }
            if tree.join(&path).symlink_metadata().is_err() {
                missing.push(path);
            }
        }
        copy_files(&kept, tree, &missing)?;
        state.built = self.note_build_output(&kept);
        Ok(())
    }

    /// Notes the files of kept build output as they are in the room.
    fn note_build_output(&self, kept: &Path) -> BTreeMap<PathBuf, Fingerprint> {
        let tree = self.tree();
        let mut folders = BTreeSet::new();
        let paths = files_below(kept, Path::new(""));
        let noted = paths.into_iter().filter_map(|(path, _)| {
            let data = tree.join(&path).symlink_metadata().ok()?;
            let is_inside = is_below_folders(tree, &path, &mut folders);
            is_inside.then(|| (path, Fingerprint::of(&data)))
        });
        noted.collect()
    }
}

/// Moves a room's kept build output to where the next room of the workspace looks for it.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    let (built, kept) = (folder.join(BUILT), origin.shadow.dir().join(BUILT));
    if !built.exists() {
        return Ok(());
    }
    remove_all(&kept)?;
    // Without it the next room builds it again.
    let _ = fs::rename(&built, &kept);
    Ok(())
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

/// Whether everything above a path that exists below `root` is a folder, and no link. Folders that were seen are known.
fn is_below_folders(root: &Path, path: &Path, seen: &mut BTreeSet<PathBuf>) -> bool {
    let Some(parent) = path.parent().filter(|it| !it.as_os_str().is_empty()) else {
        return true;
    };
    if seen.contains(parent) {
        return true;
    }
    let is_plain = match root.join(parent).symlink_metadata() {
        Ok(data) => data.is_dir(),
        Err(_) => true,
    };
    let is_inside = is_plain && is_below_folders(root, parent, seen);
    if is_inside {
        seen.insert(parent.to_owned());
    }
    is_inside
}

/// Whether something that no snapshot holds is worth a copy.
fn is_build_output(left_out: &LeftOut) -> bool {
    let name = left_out.path.file_name().unwrap_or_default();
    let is_small = SMALL_CACHES.iter().any(|cache| name == OsStr::new(cache));
    left_out.reason == Reason::Cache && !is_small
}
