//! Makes the copy of a folder equal to the folder again, without copying what neither side has changed.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::hash::Hash;
use std::ops::Bound;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use itertools::{EitherOrBoth, Itertools};

use super::files::remove_all;
use crate::parallel;
use crate::workspace::error::WorkspaceError;
use crate::workspace::fingerprint::FileFingerprint;
use crate::workspace::relative::RelativePath;
use crate::workspace::restore::is_owner_restricted;
use crate::workspace::tree_copy::TreeCopy;

/// The fingerprints of files and of their copies. As long as both are the same, the bytes are equal.
pub(super) type CopiedFiles = BTreeMap<RelativePath, (FileFingerprint, FileFingerprint)>;

/// A folder and everything below it, sorted by path.
type Entries = Vec<(RelativePath, Metadata)>;

/// Copies a folder from one root to the same path below another one, or updates its copy. `known` contains the result of
/// the last update. Links are not followed.
pub(super) fn update_copy(
    originals: &Path,
    copies: &Path,
    folder: &Path,
    known: &CopiedFiles,
) -> Result<CopiedFiles, WorkspaceError> {
    let (wanted, found) = parallel::join(
        || entries_below(originals, folder),
        || entries_below(copies, folder),
    );
    let start = (Bound::Included(folder.as_os_str()), Bound::Unbounded);
    let same = remove_differing(copies, found, &wanted, known.range::<OsStr, _>(start))?;
    let mut missing = TreeCopy::default();
    let mut copied = HashSet::new();
    // A folder comes before what is in it.
    for pair in both(&wanted, &same) {
        let Some((path, data)) = pair.as_ref().left() else {
            continue;
        };
        if pair.has_right() && data.is_dir() {
            missing.note_folder(copies.join(&**path), data.clone());
        } else if !pair.has_right() && !is_below(path, &copied) {
            // With everything in it.
            missing.copy(&originals.join(&**path), &copies.join(&**path))?;
            copied.insert(path.as_os_str());
        }
    }
    missing.finish()?;
    let files = both(&wanted, &same).filter_map(|pair| {
        let (path, data) = pair.as_ref().left().filter(|(_, data)| !data.is_dir())?;
        let copied = || copies.join(&**path).symlink_metadata().ok();
        let kept = pair.as_ref().right().map(|(_, data)| data.clone());
        let copy = kept.or_else(copied)?;
        let fingerprints = [data, &copy].map(FileFingerprint::from_metadata);
        Some((path.clone(), fingerprints.into()))
    });
    Ok(files.collect())
}

/// The entries of both lists at each path.
fn both<'e>(
    one: &'e Entries,
    other: &'e Entries,
) -> impl Iterator<Item = EitherOrBoth<&'e (RelativePath, Metadata)>> {
    one.iter()
        .merge_join_by(other, |(one, _), (other, _)| one.cmp(other))
}

/// Removes what the original does not have, and files that have changed on either side. Returns the rest.
fn remove_differing<'k>(
    copies: &Path,
    mut found: Entries,
    wanted: &Entries,
    known: impl Iterator<Item = (&'k RelativePath, &'k (FileFingerprint, FileFingerprint))>,
) -> Result<Entries, WorkspaceError> {
    let mut known = known.peekable();
    let mut is_known = |path: &RelativePath, current: (FileFingerprint, FileFingerprint)| {
        while known.next_if(|(known, _)| *known < path).is_some() {}
        known.peek() == Some(&(path, &current))
    };
    let mut differing = HashSet::new();
    for pair in both(&found, wanted) {
        let Some((path, data)) = pair.as_ref().left() else {
            continue;
        };
        let is_same = pair.as_ref().right().is_some_and(|(_, wanted)| {
            match (wanted.is_dir(), data.is_dir()) {
                // What is in a restricted folder may not have been seen, so it is copied again.
                (true, true) => !is_owner_restricted(data.permissions().mode()),
                (false, false) => {
                    let of_copy = FileFingerprint::from_metadata(data);
                    is_known(path, (FileFingerprint::from_metadata(wanted), of_copy))
                }
                _ => false,
            }
        });
        // What is in a removed folder no longer exists.
        if !is_same && !is_below(path, &differing) {
            remove_all(&copies.join(&**path))?;
            differing.insert(path.as_os_str().to_owned());
        }
    }
    found.retain(|(path, _)| !differing.contains(path.as_os_str()) && !is_below(path, &differing));
    Ok(found)
}

/// Whether a path is below one of these.
fn is_below<T: Borrow<OsStr> + Eq + Hash>(path: &RelativePath, folders: &HashSet<T>) -> bool {
    !folders.is_empty() && path.folders().any(|above| folders.contains(above))
}

fn entries_below(root: &Path, folder: &Path) -> Entries {
    let Ok(data) = root.join(folder).symlink_metadata() else {
        return Entries::new();
    };
    let mut pending = Vec::from_iter(data.is_dir().then(|| folder.to_owned()));
    let mut entries: Entries = vec![(folder.into(), data)];
    while let Some(path) = pending.pop() {
        let found = fs::read_dir(root.join(&path)).into_iter().flatten();
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
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    entries
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn set_modified(path: &Path, at: SystemTime) {
        fs::File::open(path).unwrap().set_modified(at).unwrap();
    }

    /// Paths, kinds, permissions and times of folders, and content of files.
    fn listing(folder: &Path) -> Vec<(PathBuf, u32, String)> {
        let (root, name) = (folder.parent().unwrap(), folder.file_name().unwrap());
        let entries = entries_below(root, Path::new(name)).into_iter();
        let entries = entries.map(|(path, data)| {
            let at = root.join(&*path);
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
        let roots = ["originals", "copies"].map(|root| folder.path().join(root));
        let [original, copy] = roots.each_ref().map(|root| root.join("tools"));
        let update = |known: &CopiedFiles| {
            update_copy(&roots[0], &roots[1], Path::new("tools"), known).unwrap()
        };
        fs::create_dir_all(original.join("lib/empty")).unwrap();
        fs::create_dir(&roots[1]).unwrap();
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
        for path in ["lib/empty", "lib", "read-only", "."] {
            set_modified(&original.join(path), earlier);
        }

        let first = update(&CopiedFiles::new());
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

        let second = update(&first);
        assert_eq!(listing(&copy), listing(&original));
        assert_eq!(copy.join("same").metadata().unwrap().ino(), inode);
        // Without what is known, everything is copied.
        let third = update(&CopiedFiles::new());
        assert_eq!(listing(&copy), listing(&original));
        assert!(second.keys().eq(third.keys()));
        let writable = Permissions::from_mode(0o755);
        for folder in [&original, &copy] {
            fs::set_permissions(folder.join("read-only"), writable.clone()).unwrap();
        }
    }
}
