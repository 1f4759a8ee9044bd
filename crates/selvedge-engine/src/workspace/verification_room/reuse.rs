//! Reuses the files of a workspace's last room, so that the next room writes only the files that differ.
//!
//! Checks may have left anything in those files. A file is reused if its fingerprint is the one that Selvedge recorded
//! when it last read the file, which no process can restore after a write. Everything else is removed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::SHADOW_FOLDER;
use super::files::{is_folder, make_folder, remove_all};
use crate::workspace::Workspace;
use crate::workspace::dir_handle::DirHandle;
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::ids::BlobId;
use crate::workspace::inventory::{Inventory, StoredEntry};
use crate::workspace::manifest::parent_folders;
use crate::workspace::relative::RelativePath;
use crate::workspace::restore::is_owner_restricted;

/// The folder of the last room's files, next to a workspace's snapshots.
pub(super) const LAST_ROOM_FOLDER: &str = "last-room";
const FILES: &str = "files";
const INVENTORY: &str = "inventory";
/// Maximum size of a file that is read again to be reused.
const MAX_READ_BYTES: u64 = 1024 * 1024;

/// The files of a room by their paths.
pub(super) type ReusableFiles = BTreeMap<RelativePath, StoredEntry>;

/// Moves the files of a room that ends to where the next room of the workspace looks for them. `tree` is the part of
/// the room's `folder` with the workspace's files. Folders without such files are removed, unless `keep_folder` moves
/// them.
pub(super) fn keep_for_next(
    origin: &Workspace,
    tree: &Path,
    folder: &Path,
    keep_folder: impl FnMut(&Path) -> bool,
) -> Result<(), WorkspaceError> {
    let last = origin.shadow.dir().join(LAST_ROOM_FOLDER);
    remove_all(&last)?;
    let inventory = Inventory::load(&folder.join(SHADOW_FOLDER).join(INVENTORY));
    let Some(mut inventory) = inventory.filter(|_| is_folder(tree)) else {
        return Ok(());
    };
    read_unsettled(tree, &mut inventory.files);
    remove_others(tree, &inventory.files, keep_folder)?;
    make_folder(&last)?;
    inventory.save(&last.join(INVENTORY))?;
    // If the next room does not find them, it writes all files.
    let _ = fs::rename(tree, last.join(FILES));
    Ok(())
}

/// Reads files again that were written too shortly before they were last read.
fn read_unsettled(tree: &Path, files: &mut ReusableFiles) {
    let Ok(anchor) = DirHandle::open_root(tree) else {
        return;
    };
    for (path, stored) in files.iter_mut().filter(|(_, stored)| !stored.is_settled) {
        // The time before the file is read, because it could be written while it is read.
        let now = SystemTime::now();
        let is_same = |mut file: File| {
            let fingerprint = FileFingerprint::from_metadata(&file.metadata()?);
            if fingerprint != stored.fingerprint || fingerprint.size > MAX_READ_BYTES {
                return Ok(false);
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(BlobId::of(&bytes) == stored.blob)
        };
        let is_same: io::Result<bool> = anchor.open(path).and_then(is_same);
        stored.is_settled = is_same.unwrap_or(false) && stored.fingerprint.is_settled_at(now);
    }
}

/// Moves the files of the workspace's last room to `tree`, and returns those that nothing has changed since.
pub(super) fn take_last(origin: &Workspace, tree: &Path) -> Result<ReusableFiles, WorkspaceError> {
    let last = origin.shadow.dir().join(LAST_ROOM_FOLDER);
    let inventory = Inventory::load(&last.join(INVENTORY));
    let is_moved = inventory.is_some()
        && is_folder(&last.join(FILES))
        && fs::rename(last.join(FILES), tree).is_ok();
    remove_all(&last)?;
    match inventory {
        Some(inventory) if is_moved => retain_files(tree, &inventory.files),
        _ => Ok(ReusableFiles::new()),
    }
}

/// Removes everything below a folder that has another path than these files and their folders, so that kept rooms do
/// not grow. The files themselves are compared when they are reused.
fn remove_others(
    root: &Path,
    files: &ReusableFiles,
    mut keep_folder: impl FnMut(&Path) -> bool,
) -> Result<(), WorkspaceError> {
    let folders = parent_folders(files.keys());
    let mut pending = vec![PathBuf::new()];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            remove_all(&root.join(&folder))?;
            continue;
        };
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && folders.contains(path.as_os_str()) {
                pending.push(path);
            } else if is_folder && keep_folder(&path) {
                // It is no longer here.
            } else if is_folder || !files.contains_key(path.as_os_str() as &OsStr) {
                remove_all(&entry.path())?;
            }
        }
    }
    Ok(())
}

/// Removes everything below a folder except for these files, if they are unchanged, and their folders. Returns the
/// retained files.
fn retain_files(root: &Path, files: &ReusableFiles) -> Result<ReusableFiles, WorkspaceError> {
    let folders = parent_folders(files.keys());
    let mut retained = ReusableFiles::new();
    let mut pending = vec![PathBuf::new()];
    let mut visited = Vec::new();
    while let Some(folder) = pending.pop() {
        let Ok(entries) = list(&root.join(&folder)) else {
            remove_all(&root.join(&folder))?;
            continue;
        };
        for (name, data) in entries {
            let path = folder.join(name);
            // Nothing can be removed from a restricted folder, so it is removed as a whole.
            let is_accessible = data.is_dir() && !is_owner_restricted(data.permissions().mode());
            if is_accessible && folders.contains(path.as_os_str()) {
                visited.push(path.clone());
                pending.push(path);
                continue;
            }
            let stored = files
                .get(path.as_os_str() as &OsStr)
                .filter(|stored| stored.is_settled)
                .filter(|stored| stored.fingerprint == FileFingerprint::from_metadata(&data));
            match stored {
                Some(stored) => drop(retained.insert(path.into(), *stored)),
                None => remove_all(&root.join(path))?,
            }
        }
    }
    // A folder is visited before those in it. The ones with files stay.
    for folder in visited.iter().rev() {
        let _ = fs::remove_dir(root.join(folder));
    }
    Ok(retained)
}

/// Returns the names and metadata of all entries of a folder.
fn list(folder: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
    let entries = fs::read_dir(folder)?.map(|entry| -> io::Result<_> {
        let entry = entry?;
        Ok((entry.file_name(), entry.metadata()?))
    });
    entries.collect()
}

/// Removes files of a room, and folders that become empty and are not `wanted`.
pub(super) fn remove_files<'p>(
    root: &Path,
    files: impl Iterator<Item = &'p RelativePath>,
    wanted: impl Fn(&OsStr) -> bool,
) -> Result<(), WorkspaceError> {
    let files: Vec<&RelativePath> = files.collect();
    for path in &files {
        remove_all(&root.join(&***path))?;
    }
    let mut folders: Vec<&OsStr> = parent_folders(files.into_iter()).into_iter().collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    for folder in folders
        .into_iter()
        .filter(|folder| !folder.is_empty() && !wanted(folder))
    {
        let _ = fs::remove_dir(root.join(folder));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn stored(root: &Path, path: &str) -> (RelativePath, StoredEntry) {
        let data = root.join(path).symlink_metadata().unwrap();
        let entry = StoredEntry {
            fingerprint: FileFingerprint::from_metadata(&data),
            blob: BlobId::of(b""),
            is_settled: true,
        };
        (Path::new(path).into(), entry)
    }

    #[test]
    fn retain_files_keeps_only_what_nothing_has_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(root.join("restricted")).unwrap();
        let paths = [
            "same",
            "a/same",
            "a/b/changed",
            "replaced",
            "restricted/same",
            "unsettled",
        ];
        for path in paths {
            fs::write(root.join(path), "bytes").unwrap();
        }
        let mut files: ReusableFiles = paths.map(|path| stored(root, path)).into();
        files.values_mut().last().expect("the last one").is_settled = false;

        let changed = root.join("a/b/changed");
        let modified = changed.metadata().unwrap().modified().unwrap();
        fs::write(&changed, "other").unwrap();
        let file = File::options().write(true).open(&changed).unwrap();
        file.set_modified(modified).unwrap();
        fs::remove_file(root.join("replaced")).unwrap();
        symlink("same", root.join("replaced")).unwrap();
        fs::create_dir_all(root.join("planted/.git")).unwrap();
        fs::write(root.join(".git"), "gitdir: elsewhere").unwrap();
        let read_only = fs::Permissions::from_mode(0o555);
        fs::set_permissions(root.join("restricted"), read_only).unwrap();

        remove_others(root, &files, |_| false).unwrap();
        assert!(!root.join("planted").exists() && !root.join(".git").exists());
        assert!(root.join("a/b/changed").exists());
        let retained = retain_files(root, &files).unwrap();
        let retained: Vec<_> = retained.keys().map(|path| path.to_path_buf()).collect();
        assert_eq!(retained, [Path::new("a/same"), Path::new("same")]);
        let mut remaining: Vec<_> = fs::read_dir(root).unwrap().flatten().collect();
        remaining.sort_by_key(fs::DirEntry::file_name);
        let remaining: Vec<_> = remaining.iter().map(fs::DirEntry::file_name).collect();
        assert_eq!(remaining, ["a", "same"]);
        assert!(!root.join("a/b").exists());
    }
}
