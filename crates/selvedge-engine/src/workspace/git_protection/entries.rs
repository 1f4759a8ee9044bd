//! Finds the `.git` entries of a work tree: folders, pointer files and links, and folders that are git directories
//! themselves (bare repositories). Every folder is searched, also ignored ones, deep ones and those that no user may
//! read: git would obey what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::super::is_repository_data;

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::RDONLY);
/// Longer paths are opened in parts, because the kernel limits the length of a path.
const MAX_PATH_LENGTH: usize = 3_000;
/// Maximum size of a pointer file that is recorded.
const MAX_POINTER_LENGTH: u64 = 64 * 1024;

/// Longer than the start of a `HEAD` that is examined.
const HEAD_START: u64 = 64;

/// Identifies a file on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Returns the id of a file, or of a link itself.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        Some(Self::from_metadata(&metadata))
    }
}

/// One `.git` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GitEntry {
    Folder(FileId),
    /// A file that names a folder.
    Pointer(Vec<u8>),
    Link(PathBuf),
    /// Unreadable, or of another kind.
    Other(FileId),
}

impl GitEntry {
    fn capture(folder: &OwnedFd, name: &OsStr) -> io::Result<Self> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let id = FileId {
            device: stat.st_dev,
            inode: stat.st_ino,
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Self::Folder(id),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
                Self::Link(OsStr::from_bytes(target.as_bytes()).into())
            }
            FileType::RegularFile => {
                read_pointer(folder, name).map_or(Self::Other(id), Self::Pointer)
            }
            _ => Self::Other(id),
        })
    }
}

fn read_pointer(folder: &OwnedFd, name: &OsStr) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::RDONLY;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(MAX_POINTER_LENGTH).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The `.git` entries of a folder and of all folders in it, by paths relative to it. Folders that were closed are open
/// until it is dropped.
pub(super) struct GitEntries {
    root: OwnedFd,
    pub(super) found: BTreeMap<PathBuf, GitEntry>,
    /// Folders that git accepts as git directories, though they are not named `.git`.
    pub(super) bare: BTreeSet<PathBuf>,
    /// Folders whose permissions were changed, with their earlier ones.
    opened: Vec<(PathBuf, Mode)>,
}

impl GitEntries {
    /// Searches a work tree. Nothing in a `.git` folder is searched.
    pub(super) fn find(root: &Path) -> io::Result<Self> {
        let mut entries = Self {
            root: rustix::fs::open(root, FOLDER, Mode::empty())?,
            found: BTreeMap::new(),
            bare: BTreeSet::new(),
            opened: Vec::new(),
        };
        let mut pending = vec![PathBuf::new()];
        while let Some(folder) = pending.pop() {
            // A folder of another user is closed for git, too.
            let Ok(opened) = entries.open_for_search(&folder) else {
                continue;
            };
            let Ok(listed) = Dir::read_from(&opened) else {
                continue;
            };
            let mut parts = GitDirEntries::default();
            for entry in listed.flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                parts.add(name);
                if is_repository_data(name) {
                    if let Ok(found) = GitEntry::capture(&opened, name) {
                        entries.found.insert(folder.join(name), found);
                    }
                    continue;
                }
                let is_folder = match entry.file_type() {
                    FileType::Directory => true,
                    FileType::Unknown => is_folder_at(&opened, name),
                    _ => false,
                };
                if is_folder {
                    pending.push(folder.join(name));
                }
            }
            if parts.are_complete() && is_head(&opened) {
                entries.bare.insert(folder);
            }
        }
        Ok(entries)
    }

    fn open_for_search(&mut self, folder: &Path) -> io::Result<OwnedFd> {
        match self.open_folder(folder) {
            Err(Errno::ACCESS) => {}
            done => return Ok(done?),
        }
        let (parent, name) = self.open_parent(folder)?;
        let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        rustix::fs::chmodat(&parent, name, mode | Mode::RWXU, AtFlags::empty())?;
        self.opened.push((folder.to_owned(), mode));
        Ok(self.open_folder(folder)?)
    }

    /// Opens a folder below the root.
    fn open_folder(&self, folder: &Path) -> rustix::io::Result<OwnedFd> {
        if folder.as_os_str().is_empty() {
            return rustix::fs::openat(&self.root, ".", FOLDER, Mode::empty());
        }
        if folder.as_os_str().len() <= MAX_PATH_LENGTH {
            return rustix::fs::openat(&self.root, folder, FOLDER, Mode::empty());
        }
        let mut opened = rustix::fs::openat(&self.root, ".", FOLDER, Mode::empty())?;
        for name in folder {
            opened = rustix::fs::openat(&opened, name, FOLDER, Mode::empty())?;
        }
        Ok(opened)
    }

    fn open_parent<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.open_folder(parent)?, name))
    }

    /// Whether a path below the root exists.
    pub(super) fn exists(&self, path: &Path) -> bool {
        let found = self.open_parent(path).ok().and_then(|(folder, name)| {
            rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
        });
        found.is_some()
    }

    /// Moves an entry to an unused path outside of the work tree. If that is on another file system, a folder is copied
    /// without following links.
    pub(super) fn move_aside(&mut self, path: &Path, to: &Path) -> io::Result<()> {
        let parent = path.parent().unwrap_or(Path::new(""));
        self.make_writable(parent);
        let (folder, name) = self.open_parent(path)?;
        let moved = rustix::fs::renameat(folder.as_fd(), name, rustix::fs::CWD, to);
        match moved {
            Err(Errno::XDEV | Errno::ACCESS | Errno::PERM) => {}
            done => return Ok(done?),
        }
        let from = Path::new("/proc/self/fd")
            .join(std::os::fd::AsRawFd::as_raw_fd(&folder).to_string())
            .join(name);
        super::copy::copy_aside(&from, to)?;
        super::copy::remove_all(&from)
    }

    /// Makes a folder writable for the moment, if its owner may.
    fn make_writable(&mut self, folder: &Path) {
        let Ok(opened) = self.open_folder(folder) else {
            return;
        };
        let Ok(stat) = rustix::fs::fstat(&opened) else {
            return;
        };
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        if !mode.contains(Mode::RWXU) && rustix::fs::fchmod(&opened, mode | Mode::RWXU).is_ok() {
            self.opened.push((folder.to_owned(), mode));
        }
    }
}

impl Drop for GitEntries {
    fn drop(&mut self) {
        for (folder, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            if let Ok(opened) = self.open_folder(&folder) {
                // It stays open for its owner.
                let _ = rustix::fs::fchmod(&opened, mode);
            }
        }
    }
}

/// The entries by which git recognizes a git directory.
#[derive(Debug, Default)]
struct GitDirEntries {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl GitDirEntries {
    fn add(&mut self, name: &OsStr) {
        match name.to_str() {
            Some("HEAD") => self.head = true,
            Some("objects") => self.objects = true,
            Some("refs") => self.refs = true,
            Some("commondir") => self.commondir = true,
            _ => {}
        }
    }

    fn are_complete(&self) -> bool {
        self.head && (self.commondir || self.objects && self.refs)
    }
}

/// Whether a folder's `HEAD` can belong to git: a file that names a ref or a commit, or a link.
fn is_head(folder: &OwnedFd) -> bool {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::RDONLY;
    let Ok(file) = rustix::fs::openat(folder, "HEAD", flags, Mode::empty()) else {
        // A link, or a file that can be made readable.
        return true;
    };
    let file = File::from(file);
    if file.metadata().is_ok_and(|it| it.is_dir()) {
        return false;
    }
    let mut bytes = Vec::new();
    if file.take(HEAD_START).read_to_end(&mut bytes).is_err() {
        return true;
    }
    let is_id = bytes.len() >= 40 && bytes[..40].iter().all(u8::is_ascii_hexdigit);
    bytes.starts_with(b"ref:") || is_id
}

fn is_folder_at(folder: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn git_entries_are_found_in_closed_and_deep_folders() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for folder in [".git/modules/x/.git", "closed/.GIT", "ignored/deps"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("ignored/deps/.git"), "gitdir: x\n").unwrap();
        symlink("elsewhere", root.join("closed/.git")).unwrap();
        fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o111)).unwrap();
        let name = "n".repeat(200);
        let mut deep = rustix::fs::open(root, FOLDER, Mode::empty()).unwrap();
        let mut path = PathBuf::new();
        for _ in 0..30 {
            rustix::fs::mkdirat(&deep, &*name, Mode::RWXU).unwrap();
            deep = rustix::fs::openat(&deep, &*name, FOLDER, Mode::empty()).unwrap();
            path.push(&name);
        }
        rustix::fs::mkdirat(&deep, ".git", Mode::RWXU).unwrap();
        let aside = tempfile::tempdir().unwrap();
        let mut entries = GitEntries::find(root).unwrap();
        let found: Vec<PathBuf> = entries.found.keys().cloned().collect();
        let deep = path.join(".git");
        let expected = [".git", "closed/.GIT", "closed/.git", "ignored/deps/.git"];
        let mut expected = expected.map(PathBuf::from).to_vec();
        expected.push(deep.clone());
        assert_eq!(found, expected);
        entries
            .move_aside(&deep, &aside.path().join("deep"))
            .unwrap();
        entries
            .move_aside(Path::new("closed/.git"), &aside.path().join("link"))
            .unwrap();
        drop(entries);
        assert!(aside.path().join("deep").is_dir());
        assert!(aside.path().join("link").is_symlink());
        let mode = fs::metadata(root.join("closed"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o111);
        assert_eq!(GitEntries::find(root).unwrap().found.len(), 3);
    }

    /// Folders that git accepts as git directories are found by their content.
    #[test]
    fn bare_repositories_are_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let head = "ref: refs/heads/main\n";
        for folder in [
            "bare/objects",
            "bare/refs",
            "linked/objects",
            "text/objects",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for folder in ["linked/refs", "text/refs", "common", "objects", "refs"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("bare/HEAD"), head).unwrap();
        symlink("refs/heads/main", root.join("linked/HEAD")).unwrap();
        fs::write(root.join("text/HEAD"), "a text about heads\n").unwrap();
        fs::write(root.join("common/HEAD"), "1".repeat(40)).unwrap();
        fs::write(root.join("common/commondir"), "../bare\n").unwrap();
        let found = |root: &Path| GitEntries::find(root).unwrap().bare.clone();
        let expected = ["bare", "common", "linked"];
        assert_eq!(found(root), BTreeSet::from(expected.map(PathBuf::from)));
        fs::write(root.join("HEAD"), head).unwrap();
        assert!(found(root).contains(Path::new("")));
    }
}
