//! Makes the copy of a folder equal to the folder again, without copying what neither side has changed.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::files::{is_folder, remove_all};
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::restore::is_owner_restricted;
use crate::workspace::tree_copy::TreeCopy;

/// The fingerprints of files and of their copies. As long as both are the same, the bytes are equal.
pub(super) type CopiedFiles = BTreeMap<PathBuf, (FileFingerprint, FileFingerprint)>;

/// Copies a folder, or updates its copy. `known` is the result of the last update. Links are not followed.
pub(super) fn update_copy(
    original: &Path,
    copy: &Path,
    known: &CopiedFiles,
) -> Result<CopiedFiles, WorkspaceError> {
    let wanted = entries_below(original);
    let same = if is_folder(copy) {
        remove_differing(copy, &wanted, known)?
    } else {
        remove_all(copy)?;
        BTreeMap::new()
    };
    let mut missing = TreeCopy::default();
    let mut copied: Option<&Path> = None;
    // A folder comes before what is in it.
    for (path, data) in &wanted {
        if copied.is_some_and(|above| path.starts_with(above)) {
            continue;
        }
        if !same.contains_key(path) {
            // With everything in it.
            missing.copy(&join(original, path), &join(copy, path))?;
            copied = Some(path);
        } else if data.is_dir() {
            missing.note_folder(join(copy, path), data.clone());
        }
    }
    missing.finish()?;
    let files = wanted.into_iter().filter(|(_, data)| !data.is_dir());
    let copied = files.filter_map(|(path, data)| {
        let of_copy = match same.get(&path) {
            Some(same) => FileFingerprint::from_metadata(same),
            None => FileFingerprint::from_metadata(&copy.join(&path).symlink_metadata().ok()?),
        };
        Some((path, (FileFingerprint::from_metadata(&data), of_copy)))
    });
    Ok(copied.collect())
}

/// Removes what the original does not have, and files that have changed on either side. Returns the rest.
fn remove_differing(
    copy: &Path,
    wanted: &BTreeMap<PathBuf, Metadata>,
    known: &CopiedFiles,
) -> Result<BTreeMap<PathBuf, Metadata>, WorkspaceError> {
    let mut same = entries_below(copy);
    let mut differing: Vec<PathBuf> = Vec::new();
    same.retain(|path, found| {
        // What is in a removed folder no longer exists.
        if differing
            .last()
            .is_some_and(|above| path.starts_with(above))
        {
            return false;
        }
        let is_same = wanted.get(path).is_some_and(|data| {
            let current = || {
                let of_copy = FileFingerprint::from_metadata(found);
                (FileFingerprint::from_metadata(data), of_copy)
            };
            match (data.is_dir(), found.is_dir()) {
                // What is in a restricted folder may not have been seen, so it is copied again.
                (true, true) => !is_owner_restricted(found.permissions().mode()),
                (false, false) => known.get(path) == Some(&current()),
                _ => false,
            }
        });
        if !is_same {
            differing.push(path.clone());
        }
        is_same
    });
    for path in differing {
        remove_all(&join(copy, &path))?;
    }
    Ok(same)
}

/// Everything below a folder, and the folder itself with an empty path.
fn entries_below(folder: &Path) -> BTreeMap<PathBuf, Metadata> {
    let mut entries = BTreeMap::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(path) = pending.pop() {
        let Ok(data) = join(folder, &path).symlink_metadata() else {
            continue;
        };
        if data.is_dir() {
            let names = fs::read_dir(folder.join(&path)).into_iter().flatten();
            pending.extend(names.flatten().map(|entry| path.join(entry.file_name())));
        }
        entries.insert(path, data);
    }
    entries
}

/// An empty path would add a slash, and a link at the folder's place would be followed.
fn join(folder: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        folder.to_owned()
    } else {
        folder.join(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::time::{Duration, SystemTime};

    use super::*;

    fn set_modified(path: &Path, at: SystemTime) {
        fs::File::open(path).unwrap().set_modified(at).unwrap();
    }

    /// Paths, kinds, permissions and times of folders, and content of files.
    fn listing(folder: &Path) -> Vec<(PathBuf, u32, String)> {
        let entries = entries_below(folder).into_iter();
        let entries = entries.map(|(path, data)| {
            let at = folder.join(&path);
            let content = match (data.is_dir(), data.is_symlink()) {
                (true, _) => format!("{}.{}", data.mtime(), data.mtime_nsec()),
                (_, true) => fs::read_link(at).unwrap().display().to_string(),
                _ => fs::read_to_string(at).unwrap(),
            };
            (path, data.mode(), content)
        });
        entries.collect()
    }

    #[test]
    fn copy_is_equal_after_changes_on_both_sides() {
        let folder = tempfile::tempdir().unwrap();
        let (original, copy) = (folder.path().join("original"), folder.path().join("copy"));
        fs::create_dir_all(original.join("lib/empty")).unwrap();
        fs::create_dir(original.join("read-only")).unwrap();
        fs::create_dir(original.join("hidden")).unwrap();
        for path in [
            "same",
            "lib/written",
            "lib/changed",
            "lib/replaced",
            "hidden/written",
            "read-only/file",
        ] {
            fs::write(original.join(path), path).unwrap();
        }
        symlink("same", original.join("link")).unwrap();
        let read_only = Permissions::from_mode(0o555);
        fs::set_permissions(original.join("read-only"), read_only).unwrap();
        let earlier = SystemTime::now() - Duration::from_hours(1);
        for path in ["lib/empty", "lib", "read-only", ""] {
            set_modified(&original.join(path), earlier);
        }

        let first = update_copy(&original, &copy, &CopiedFiles::new()).unwrap();
        assert_eq!(listing(&copy), listing(&original));
        let inode = copy.join("same").metadata().unwrap().ino();

        // A check writes into the copy, and restores a time. The size differs, because the change time may be the same at once.
        let written = copy.join("lib/written");
        let modified = written.metadata().unwrap().modified().unwrap();
        fs::write(&written, "other bytes than before").unwrap();
        set_modified(&written, modified);
        fs::write(copy.join("lib/planted"), "").unwrap();
        fs::write(copy.join("hidden/written"), "other").unwrap();
        fs::set_permissions(copy.join("hidden"), Permissions::from_mode(0o000)).unwrap();
        fs::remove_dir(copy.join("lib/empty")).unwrap();
        symlink("/", copy.join("lib/empty")).unwrap();
        fs::remove_file(copy.join("lib/replaced")).unwrap();
        fs::create_dir(copy.join("lib/replaced")).unwrap();
        // A tool is installed again.
        fs::write(original.join("lib/changed"), "other").unwrap();
        fs::write(original.join("lib/new"), "new").unwrap();
        fs::remove_file(original.join("link")).unwrap();

        let second = update_copy(&original, &copy, &first).unwrap();
        assert_eq!(listing(&copy), listing(&original));
        assert_eq!(copy.join("same").metadata().unwrap().ino(), inode);
        // Without what is known, everything is copied.
        let third = update_copy(&original, &copy, &CopiedFiles::new()).unwrap();
        assert_eq!(listing(&copy), listing(&original));
        assert!(second.keys().eq(third.keys()));
        let writable = Permissions::from_mode(0o755);
        for folder in [&original, &copy] {
            fs::set_permissions(folder.join("read-only"), writable.clone()).unwrap();
        }
    }
}
