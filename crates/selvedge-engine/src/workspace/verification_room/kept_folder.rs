//! Folders of a room that are reset to their kept content before every tree. Changes that a run of the checks has made
//! are reverted by comparing fingerprints.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::DOING;

use super::files::{
    copy_files, files_below, is_folder, make_folder, paths_below, remove_all,
    remove_restricted_folders, size_of,
};
use crate::workspace::error::WorkspaceError;
use crate::workspace::file_records::{self, FileRecord};
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::relative::RelativePath;

/// Fingerprints of kept files in the room. A file with the same fingerprint has not been written since.
pub(super) type FileFingerprints = BTreeMap<RelativePath, FileFingerprint>;

/// What was removed because it differed from what is kept.
#[derive(Debug, Default)]
pub(super) struct RemovedFiles {
    /// The given paths of which nothing is left.
    pub(super) paths: HashSet<PathBuf>,
    /// Removed files in the others.
    pub(super) files: Vec<RelativePath>,
    /// Whether folders in them were removed.
    pub(super) has_folders: bool,
}

/// Writes fingerprints to a file.
pub(super) fn save_fingerprints<'a>(
    path: &Path,
    files: impl IntoIterator<Item = (impl Borrow<RelativePath>, &'a FileFingerprint)>,
) -> Result<(), WorkspaceError> {
    let mut bytes = Vec::new();
    for (path, fingerprint) in files {
        let record = FileRecord {
            fingerprint: *fingerprint,
            is_settled: true,
            blob: None,
        };
        record.append_to(&mut bytes, path.borrow());
    }
    // Some file systems write a replaced file to the disk at once.
    let _ = fs::remove_file(path);
    fs::write(path, bytes).map_err(|error| WorkspaceError::io(DOING, path, error))
}

/// Reads fingerprints. If they cannot be read, all files count as changed.
pub(super) fn load_fingerprints(path: &Path) -> FileFingerprints {
    let files = fs::read(path)
        .ok()
        .and_then(|bytes| file_records::read_all(&bytes, |record| Some(record.fingerprint)));
    files.unwrap_or_default()
}

/// A folder of the room that checks write, and the folder of its kept copies, which they cannot access.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptFolder<'a> {
    pub(super) written: &'a Path,
    pub(super) kept: &'a Path,
}

impl KeptFolder<'_> {
    /// Keeps the current files at these paths, up to `limit` bytes. Files that have not been written since they were
    /// recorded are not copied again.
    pub(super) fn keep(
        self,
        paths: &[PathBuf],
        limit: u64,
        recorded: &mut FileFingerprints,
    ) -> Result<(), WorkspaceError> {
        let mut remaining_bytes = limit;
        let mut current = BTreeSet::new();
        let mut changed = Vec::new();
        for path in paths {
            let at = self.written.join(path);
            let size = size_of(&at, remaining_bytes);
            if size > remaining_bytes {
                continue;
            }
            remaining_bytes -= size;
            if !is_folder(&at) || !is_folder(&self.kept.join(path)) {
                let files = files_of(&at, path);
                if files.is_empty() {
                    remove_all(&self.kept.join(path))?;
                    make_folder(&self.kept.join(path))?;
                } else {
                    changed.push(path.clone());
                    current.extend(files);
                }
                continue;
            }
            for (below, fingerprint) in files_below(&at, path) {
                if recorded.get(&below) != Some(&fingerprint) {
                    changed.push(below.to_path_buf());
                }
                current.insert(below);
            }
        }
        for path in paths_below(self.kept, Path::new("")) {
            if !current.contains(&path) {
                remove_all(&self.kept.join(&*path))?;
            }
        }
        for path in &changed {
            remove_all(&self.kept.join(path))?;
        }
        copy_files(self.written, self.kept, &changed)?;
        *recorded = self.fingerprints_and_missing().0;
        Ok(())
    }

    /// Removes files at these paths that differ from the kept ones. Links are not followed, because the paths come from
    /// walks that do not follow them.
    pub(super) fn remove_changed(
        self,
        paths: &[PathBuf],
        recorded: &FileFingerprints,
    ) -> Result<RemovedFiles, WorkspaceError> {
        let mut removed = RemovedFiles::default();
        for path in paths {
            let at = self.written.join(path);
            if !is_folder(&self.kept.join(path)) || !is_folder(&at) {
                remove_all(&at)?;
                removed.paths.insert(path.clone());
                continue;
            }
            removed.has_folders |= remove_restricted_folders(&at)?;
            for (below, fingerprint) in files_below(&at, path) {
                if recorded.get(&below) != Some(&fingerprint) {
                    remove_all(&self.written.join(&*below))?;
                    removed.files.push(below);
                }
            }
        }
        Ok(removed)
    }

    /// Copies kept files to where they are missing, and returns these paths. Checks may have replaced folders by links;
    /// files below a link are skipped.
    pub(super) fn restore(
        self,
        recorded: &mut FileFingerprints,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let (mut current, missing) = self.fingerprints_and_missing();
        copy_files(self.kept, self.written, &missing)?;
        let copied = missing.iter().filter_map(|path| {
            let data = self.written.join(path).symlink_metadata().ok()?;
            Some((path.as_path().into(), FileFingerprint::from_metadata(&data)))
        });
        current.extend(copied);
        *recorded = current;
        Ok(missing)
    }

    /// Returns the current fingerprints of kept files in the room, and those that are missing there.
    fn fingerprints_and_missing(self) -> (FileFingerprints, Vec<PathBuf>) {
        let (mut current, mut missing) = (FileFingerprints::new(), Vec::new());
        let mut folders = BTreeSet::new();
        for path in paths_below(self.kept, Path::new("")) {
            if !is_below_folders(self.written, &path, &mut folders) {
                continue;
            }
            match self.written.join(&*path).symlink_metadata() {
                Ok(data) => {
                    current.insert(path, FileFingerprint::from_metadata(&data));
                }
                Err(_) => missing.push(path.into_path()),
            }
        }
        (current, missing)
    }
}

/// Returns the path of a file, or the paths of all files of a folder.
fn files_of(at: &Path, path: &Path) -> Vec<RelativePath> {
    if !is_folder(at) {
        return vec![path.into()];
    }
    paths_below(at, path)
}

/// Returns whether all existing ancestors of a path below `root` are folders, not links. `seen` contains the folders
/// that were already examined.
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn changed_file_in_a_restricted_folder_is_reset() {
        let folder = tempfile::tempdir().unwrap();
        let (written, kept) = (folder.path().join("written"), folder.path().join("kept"));
        fs::create_dir_all(written.join("cache/part")).unwrap();
        let file = written.join("cache/part/entry");
        fs::write(&file, "good").unwrap();
        let (paths, mut recorded) = ([PathBuf::from("cache")], FileFingerprints::new());
        let folders = KeptFolder {
            written: &written,
            kept: &kept,
        };
        folders.keep(&paths, u64::MAX, &mut recorded).unwrap();
        fs::write(&file, "poisoned").unwrap();
        // Files in it can be opened by their names, but an ordinary user cannot list them.
        let hidden = Permissions::from_mode(0o111);
        fs::set_permissions(written.join("cache/part"), hidden).unwrap();
        let removed = folders.remove_changed(&paths, &recorded).unwrap();
        assert!(removed.has_folders);
        folders.restore(&mut recorded).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "good");
    }
}
