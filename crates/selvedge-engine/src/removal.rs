//! Removes trees that hostile programs have built: of any depth, with any permissions.
//!
//! A removal that recurses needs a stack frame and a descriptor for each level. Here folders are moved up instead, next
//! to the one that is being emptied, so that no more than two levels are open at a time.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// Opens a folder that may have no permissions, to name it.
const NAMED: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Opens a folder to list it.
const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Removes a file, a link, or a folder with its content, even if folders in it are read-only. Links are not followed. A
/// missing path is not an error.
///
/// # Errors
/// Something belongs to another user, or cannot be removed for another reason.
pub fn remove_all(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(data) if !data.is_dir() => std::fs::remove_file(path),
        Ok(_) => {
            empty_folder(path)?;
            std::fs::remove_dir(path)
        }
    }
}

/// Removes everything in a folder, as [`remove_all`] does. The folder itself keeps its permissions, unless these have to
/// be extended.
pub(crate) fn empty_folder(path: &Path) -> io::Result<()> {
    let folder = rustix::fs::open(path, NAMED, Mode::empty())?;
    let root = open_listed(&folder)?;
    let mut moved = MovedNames::default();
    // Folders that were moved up are found by the next pass.
    while remove_entries(root.as_fd(), root.as_fd(), &mut moved)? {}
    Ok(())
}

/// Numbers the names of folders that were moved.
#[derive(Default)]
struct MovedNames(u64);

impl MovedNames {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!(".selvedge-removed-{}", self.0)
    }
}

/// Removes the entries of a folder. Files in its folders are removed, and folders moved to `root`.
/// Returns whether there were entries.
fn remove_entries(
    folder: BorrowedFd<'_>,
    root: BorrowedFd<'_>,
    moved: &mut MovedNames,
) -> io::Result<bool> {
    let mut has_entries = false;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_self_or_parent(name) {
            continue;
        }
        has_entries = true;
        if is_folder(folder, name, entry.file_type())? {
            remove_folder(folder, name, root, moved)?;
        } else {
            ignore_not_found(rustix::fs::unlinkat(folder, name, AtFlags::empty()))?;
        }
    }
    Ok(has_entries)
}

/// Removes a folder, after its folders were moved to `root`.
fn remove_folder(
    parent: BorrowedFd<'_>,
    name: &CStr,
    root: BorrowedFd<'_>,
    moved: &mut MovedNames,
) -> io::Result<()> {
    let named = match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {
            rustix::fs::openat(parent, name, NAMED, Mode::empty())?
        }
        done => return ignore_not_found(done),
    };
    let folder = open_listed(&named)?;
    loop {
        let mut folders: Vec<CString> = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let inner = entry.file_name();
            if is_self_or_parent(inner) {
                continue;
            }
            if is_folder(folder.as_fd(), inner, entry.file_type())? {
                folders.push(inner.to_owned());
            } else {
                ignore_not_found(rustix::fs::unlinkat(&folder, inner, AtFlags::empty()))?;
            }
        }
        for inner in &folders {
            move_up(folder.as_fd(), inner, root, moved)?;
        }
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            // A listing during which entries are removed may be incomplete.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            done => return ignore_not_found(done),
        }
    }
}

/// Moves a folder to `root`, or removes it if it is empty.
fn move_up(
    parent: BorrowedFd<'_>,
    name: &CStr,
    root: BorrowedFd<'_>,
    moved: &mut MovedNames,
) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
        done => return ignore_not_found(done),
    }
    // Only a user who can write a folder can move it.
    make_accessible(&rustix::fs::openat(parent, name, NAMED, Mode::empty())?)?;
    loop {
        let to = moved.next();
        match rustix::fs::renameat_with(parent, name, root, &to, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // On an overlay, a folder of a lower layer cannot be moved: it is emptied where it is.
            Err(Errno::XDEV) => {
                let folder = open_listed(&rustix::fs::openat(parent, name, NAMED, Mode::empty())?)?;
                while remove_entries(folder.as_fd(), folder.as_fd(), &mut MovedNames::default())? {}
                let removed = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
                return ignore_not_found(removed);
            }
            done => return Ok(done?),
        }
    }
}

/// Opens a folder to list it, and to remove its entries.
fn open_listed(named: &OwnedFd) -> io::Result<OwnedFd> {
    make_accessible(named)?;
    Ok(rustix::fs::openat(named, c".", LISTED, Mode::empty())?)
}

fn make_accessible(named: &OwnedFd) -> io::Result<()> {
    let needed = Mode::RWXU;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(named)?.st_mode);
    if !mode.contains(needed) {
        // The only way to change the mode of a folder that was opened by `O_PATH`.
        let path = format!("/proc/self/fd/{}", named.as_raw_fd());
        rustix::fs::chmod(path, mode | needed)?;
    }
    Ok(())
}

fn is_folder(parent: BorrowedFd<'_>, name: &CStr, kind: FileType) -> io::Result<bool> {
    let kind = if kind == FileType::Unknown {
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        FileType::from_raw_mode(stat.st_mode)
    } else {
        kind
    };
    Ok(kind == FileType::Directory)
}

fn is_self_or_parent(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

fn ignore_not_found(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Builds a folder in which each level contains a file and the next level.
    fn build_levels(path: &Path, count: usize) {
        let mut folder = rustix::fs::open(path, LISTED, Mode::empty()).unwrap();
        for _ in 0..count {
            rustix::fs::mkdirat(&folder, c"d", Mode::RWXU).unwrap();
            let file = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(&folder, c"file", file, Mode::RUSR).unwrap();
            folder = rustix::fs::openat(&folder, c"d", LISTED, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn removal_needs_neither_stack_nor_descriptors_for_depth() {
        let root = tempfile::tempdir().unwrap();
        let tree = root.path().join("tree");
        fs::create_dir(&tree).unwrap();
        build_levels(&tree, 3_000);
        let remove = move || remove_all(&tree);
        let small = std::thread::Builder::new().stack_size(64 << 10);
        small.spawn(remove).unwrap().join().unwrap().unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn removal_ignores_permissions_and_follows_no_link() {
        let root = tempfile::tempdir().unwrap();
        let (tree, kept) = (root.path().join("tree"), root.path().join("kept"));
        fs::create_dir_all(tree.join("a/b/c/d")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        fs::write(tree.join("a/b/.selvedge-removed-1"), "").unwrap();
        fs::create_dir_all(tree.join(".selvedge-removed-2/x/y")).unwrap();
        std::os::unix::fs::symlink(&kept, tree.join("a/b/c/link")).unwrap();
        for (path, mode) in [("a/b/c", 0o000), ("a/b", 0o555), ("a", 0o400), ("", 0o500)] {
            fs::set_permissions(tree.join(path), Permissions::from_mode(mode)).unwrap();
        }
        remove_all(&tree).unwrap();
        assert!(!tree.exists());
        assert!(kept.join("file").exists());
        remove_all(&tree).unwrap();
    }
}
