//! Copies and removes files and folders of a room.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, DirEntry};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::DOING;
use crate::removal;
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::relative::RelativePath;
use crate::workspace::restore::is_owner_restricted;
use crate::workspace::tree_copy::TreeCopy;

pub(super) fn make_folder(path: &Path) -> Result<(), WorkspaceError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| WorkspaceError::io(DOING, path, error))
}

/// Removes a file, a link, or a folder with its content, even if folders in it are read-only.
pub(super) fn remove_all(path: &Path) -> Result<(), WorkspaceError> {
    removal::remove_all(path).map_err(|error| WorkspaceError::io("remove", path, error))
}

/// Moves a folder, if it exists, and replaces an existing one.
pub(super) fn replace_with(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    if from.exists() {
        remove_all(to)?;
        // If the next room does not find it, it is generated again.
        let _ = fs::rename(from, to);
    }
    Ok(())
}

pub(super) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_dir())
}

/// Copies a file or folder to an unused path, preserving modes, times and links.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    make_folder(to.parent().unwrap_or(to))?;
    let mut copy = TreeCopy::default();
    copy.copy(from, to)?;
    copy.finish()
}

/// Copies files to the same relative paths in another folder, where they do not exist yet.
pub(super) fn copy_files(from: &Path, to: &Path, paths: &[PathBuf]) -> Result<(), WorkspaceError> {
    if paths.is_empty() {
        return Ok(());
    }
    make_folder(to)?;
    let mut copy = TreeCopy::default();
    for path in paths {
        copy.copy_below(from, to, path)?;
    }
    copy.finish()
}

/// Returns the bytes below a path. Stops counting once there are more than `limit`.
pub(super) fn size_of(path: &Path, limit: u64) -> u64 {
    let mut total = 0;
    let mut pending = Vec::new();
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => pending.push(path.to_owned()),
        Ok(data) => total = data.len(),
        Err(_) => {}
    }
    while let Some(folder) = pending.pop()
        && total <= limit
    {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => pending.push(entry.path()),
                Ok(data) => total += data.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// Removes the folders below one, and itself, that their owner cannot list or change: a check may have hidden a changed
/// file in them. Returns whether there were any.
pub(super) fn remove_restricted_folders(folder: &Path) -> Result<bool, WorkspaceError> {
    let mut has_removed = false;
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let Ok(data) = folder.symlink_metadata() else {
            continue;
        };
        if is_owner_restricted(data.permissions().mode()) {
            remove_all(&folder)?;
            has_removed = true;
            continue;
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        pending.extend(entries.filter(is_folder).map(|entry| entry.path()));
    }
    Ok(has_removed)
}

/// Returns everything below a folder except for folders, with paths that begin with `name`.
pub(super) fn files_below(folder: &Path, name: &Path) -> Vec<(RelativePath, FileFingerprint)> {
    let mut files = Vec::new();
    visit_files(folder, name, |path, entry| {
        if let Ok(data) = entry.metadata() {
            files.push((path.into(), FileFingerprint::from_metadata(&data)));
        }
    });
    files
}

/// Returns the same paths without fingerprints, which takes less time.
pub(super) fn paths_below(folder: &Path, name: &Path) -> Vec<RelativePath> {
    let mut paths = Vec::new();
    visit_files(folder, name, |path, _| paths.push(path.into()));
    paths
}

fn visit_files(folder: &Path, name: &Path, mut visit: impl FnMut(PathBuf, &DirEntry)) {
    let mut pending = vec![(folder.to_owned(), name.to_owned())];
    while let Some((folder, name)) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let entry_name: OsString = entry.file_name();
            let path = name.join(&entry_name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push((folder.join(&entry_name), path)),
                Ok(_) => visit(path, &entry),
                Err(_) => {}
            }
        }
    }
}
