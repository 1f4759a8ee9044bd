//! Folders of a room that every tree begins with as they were kept. What a run of the checks has left in them is
//! replaced, by difference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::files::{copy, copy_files, files_below, is_folder, remove_all, size_of};
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;

/// Files of kept folders as they were in the room then: one that is still like this was not written.
pub(super) type FileFingerprints = BTreeMap<PathBuf, FileFingerprint>;

/// A folder of the room that checks write, and the one with the copies, which they cannot reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptFolder<'a> {
    pub(super) written: &'a Path,
    pub(super) kept: &'a Path,
}

impl KeptFolder<'_> {
    /// Keeps what is at these paths now, as far as it fits into `limit` bytes. Files that were not written since they
    /// were noted are not copied again.
    pub(super) fn keep(
        self,
        paths: &[PathBuf],
        limit: u64,
        noted: &mut FileFingerprints,
    ) -> Result<(), WorkspaceError> {
        let mut left = limit;
        let mut now = BTreeSet::new();
        let mut changed = Vec::new();
        for path in paths {
            let at = self.written.join(path);
            let size = size_of(&at, left);
            if size > left {
                continue;
            }
            left -= size;
            if !is_folder(&at) || !is_folder(&self.kept.join(path)) {
                remove_all(&self.kept.join(path))?;
                copy(&at, &self.kept.join(path))?;
                now.extend(files_of(&at, path));
                continue;
            }
            for (below, print) in files_below(&at, path) {
                if noted.get(&below) != Some(&print) {
                    changed.push(below.clone());
                }
                now.insert(below);
            }
        }
        for (path, _) in files_below(self.kept, Path::new("")) {
            if !now.contains(&path) {
                remove_all(&self.kept.join(path))?;
            }
        }
        for path in &changed {
            remove_all(&self.kept.join(path))?;
        }
        copy_files(self.written, self.kept, &changed)?;
        *noted = self.fingerprints();
        Ok(())
    }

    /// Removes what is at these paths and is not as it was kept. No link is followed: paths come from walks that follow
    /// none.
    pub(super) fn remove_changed(
        self,
        paths: &[PathBuf],
        noted: &FileFingerprints,
    ) -> Result<(), WorkspaceError> {
        for path in paths {
            let at = self.written.join(path);
            if !is_folder(&self.kept.join(path)) || !is_folder(&at) {
                remove_all(&at)?;
                continue;
            }
            for (below, print) in files_below(&at, path) {
                if noted.get(&below) != Some(&print) {
                    remove_all(&self.written.join(below))?;
                }
            }
        }
        Ok(())
    }

    /// Copies what was kept to where it is missing. Checks may have left links in the place of folders: what is below one
    /// is left out.
    pub(super) fn restore(self, noted: &mut FileFingerprints) -> Result<(), WorkspaceError> {
        let mut folders = BTreeSet::new();
        let mut missing = Vec::new();
        for (path, _) in files_below(self.kept, Path::new("")) {
            if is_below_folders(self.written, &path, &mut folders)
                && self.written.join(&path).symlink_metadata().is_err()
            {
                missing.push(path);
            }
        }
        copy_files(self.kept, self.written, &missing)?;
        *noted = self.fingerprints();
        Ok(())
    }

    /// Notes kept files as they are in the room.
    fn fingerprints(self) -> FileFingerprints {
        let mut folders = BTreeSet::new();
        let paths = files_below(self.kept, Path::new(""));
        let noted = paths.into_iter().filter_map(|(path, _)| {
            let data = self.written.join(&path).symlink_metadata().ok()?;
            let is_inside = is_below_folders(self.written, &path, &mut folders);
            is_inside.then(|| (path, FileFingerprint::from_metadata(&data)))
        });
        noted.collect()
    }
}

/// The paths of a file, or of all files of a folder.
fn files_of(at: &Path, path: &Path) -> Vec<PathBuf> {
    if !is_folder(at) {
        return vec![path.to_owned()];
    }
    let files = files_below(at, path);
    files.into_iter().map(|(path, _)| path).collect()
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
