//! Makes the copy of a folder equal to the folder again, without copying what neither side has changed.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::hash::Hash;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::files::remove_all;
use crate::parallel;
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::relative::RelativePath;
use crate::workspace::restore::is_owner_restricted;
use crate::workspace::tree_copy::TreeCopy;

/// The fingerprints of files and of their copies. As long as both are the same, the bytes are equal.
pub(super) type CopiedFiles = BTreeMap<RelativePath, (FileFingerprint, FileFingerprint)>;

/// Everything below a folder, and the folder itself with an empty path.
type Entries = BTreeMap<RelativePath, Metadata>;

/// Copies a folder, or updates its copy. `known` is the result of the last update. Links are not followed.
pub(super) fn update_copy(
    original: &Path,
    copy: &Path,
    known: &CopiedFiles,
) -> Result<CopiedFiles, WorkspaceError> {
    let (wanted, found) = parallel::join(|| entries_below(original), || entries_below(copy));
    let same = remove_differing(copy, found, &wanted, known)?;
    let mut missing = TreeCopy::default();
    let mut copied = HashSet::new();
    // A folder comes before what is in it.
    for (path, data) in &wanted {
        if is_below(path, &copied) {
            continue;
        }
        if !same.contains_key(path) {
            // With everything in it.
            missing.copy(&join(original, path), &join(copy, path))?;
            copied.insert(path.as_os_str());
        } else if data.is_dir() {
            missing.note_folder(join(copy, path), data.clone());
        }
    }
    missing.finish()?;
    let files = wanted.into_iter().filter(|(_, data)| !data.is_dir());
    let copied = files.filter_map(|(path, data)| {
        let of_copy = match same.get(&path) {
            Some(same) => FileFingerprint::from_metadata(same),
            None => FileFingerprint::from_metadata(&copy.join(&*path).symlink_metadata().ok()?),
        };
        Some((path, (FileFingerprint::from_metadata(&data), of_copy)))
    });
    Ok(copied.collect())
}

/// Removes what the original does not have, and files that have changed on either side. Returns the rest.
fn remove_differing(
    copy: &Path,
    mut found: Entries,
    wanted: &Entries,
    known: &CopiedFiles,
) -> Result<Entries, WorkspaceError> {
    let is_same = |path: &RelativePath, found: &Metadata| {
        wanted.get(path).is_some_and(|data| {
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
        })
    };
    let mut differing = HashSet::new();
    for (path, data) in &found {
        // What is in a removed folder no longer exists.
        if !is_below(path, &differing) && !is_same(path, data) {
            remove_all(&join(copy, path))?;
            differing.insert(path.as_os_str());
        }
    }
    let differing: HashSet<OsString> = differing.into_iter().map(OsStr::to_owned).collect();
    found.retain(|path, _| !differing.contains(path.as_os_str()) && !is_below(path, &differing));
    Ok(found)
}

/// Whether a path is below one of these.
fn is_below<T: Borrow<OsStr> + Eq + Hash>(path: &Path, folders: &HashSet<T>) -> bool {
    let mut above = path.ancestors().skip(1);
    !folders.is_empty() && above.any(|above| folders.contains(above.as_os_str()))
}

fn entries_below(folder: &Path) -> Entries {
    let Ok(data) = folder.symlink_metadata() else {
        return Entries::new();
    };
    let mut entries = Vec::new();
    let mut pending = Vec::from_iter(data.is_dir().then(PathBuf::new));
    entries.push((PathBuf::new().into(), data));
    while let Some(path) = pending.pop() {
        let found = fs::read_dir(join(folder, &path)).into_iter().flatten();
        for entry in found.flatten() {
            let Ok(data) = entry.metadata() else {
                continue;
            };
            let path = path.join(entry.file_name());
            if data.is_dir() {
                pending.push(path.clone());
            }
            entries.push((path.into(), data));
        }
    }
    entries.into_iter().collect()
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
            let at = folder.join(&*path);
            let content = match (data.is_dir(), data.is_symlink()) {
                (true, _) => format!("{}.{}", data.mtime(), data.mtime_nsec()),
                (_, true) => fs::read_link(at).unwrap().display().to_string(),
                _ => fs::read_to_string(at).unwrap(),
            };
            (path.into_path(), data.mode(), content)
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
            "lib/replaced-not",
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
        fs::create_dir_all(copy.join("lib/replaced/planted")).unwrap();
        // A tool is installed again.
        fs::write(original.join("lib/changed"), "other").unwrap();
        fs::create_dir(original.join("lib/new")).unwrap();
        for path in ["lib/new/file", "lib/new-file"] {
            fs::write(original.join(path), "new").unwrap();
        }
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
