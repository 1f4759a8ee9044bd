//! One saved entry of a directory, and how to restore it. Links are never followed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};

/// Larger files are compared by their metadata and cannot be restored.
const MAX_SAVED_BYTES: u64 = 64 << 20;

const PERMISSIONS: u32 = 0o7777;

/// State of a path.
#[derive(Debug)]
pub(super) enum SavedEntry {
    Absent,
    /// A link and its target.
    Link(PathBuf),
    File(SavedFile),
    Folder(SavedFolder),
    /// Cannot be read, is too large to be saved, or is of another kind.
    Opaque(MetadataFingerprint),
}

#[derive(Debug)]
pub(super) struct SavedFile {
    pub(super) bytes: Vec<u8>,
    mode: u32,
    inode: (u64, u64),
    owner: (u32, u32),
    /// Keeps the file itself open if it has other names.
    shared: Option<File>,
}

#[derive(Debug, Default)]
pub(super) struct SavedFolder {
    pub(super) names: BTreeSet<OsString>,
    /// `None` for a folder that may be missing.
    pub(super) mode: Option<u32>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct MetadataFingerprint {
    inode: (u64, u64),
    mode: u32,
    size: u64,
    /// Changes with content and with permissions.
    changed: (i64, i64),
}

/// Whether the content of files is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentPolicy {
    Saved,
    /// For entries that are not restored.
    MetadataOnly,
}

impl SavedEntry {
    pub(super) fn capture(path: &Path, content: ContentPolicy) -> Self {
        let Ok(found) = path.symlink_metadata() else {
            return Self::Absent;
        };
        let captured = if found.is_symlink() {
            fs::read_link(path).ok().map(Self::Link)
        } else if found.is_dir() {
            SavedFolder::capture(path, &found).map(Self::Folder)
        } else {
            let is_kept = content == ContentPolicy::Saved;
            let file = is_kept.then(|| SavedFile::capture(path, &found)).flatten();
            file.map(Self::File)
        };
        captured.unwrap_or_else(|| Self::Opaque(MetadataFingerprint::from_metadata(&found)))
    }

    /// Whether both are the same for a reader.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Absent, Self::Folder(folder)) | (Self::Folder(folder), Self::Absent) => {
                folder.mode.is_none()
            }
            (Self::Link(one), Self::Link(other)) => one == other,
            (Self::File(one), Self::File(other)) => {
                one.bytes == other.bytes && one.mode == other.mode
            }
            (Self::Folder(one), Self::Folder(other)) => {
                one.mode.is_none() || other.mode.is_none() || one.mode == other.mode
            }
            (Self::Opaque(one), Self::Opaque(other)) => one == other,
            _ => false,
        }
    }

    /// Restores the path to this entry. The content of a folder is left to the folder's own entries.
    pub(super) fn restore(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Absent => remove(path),
            Self::Link(target) => {
                remove(path)?;
                symlink(target, path)
            }
            Self::File(file) => file.restore(path),
            Self::Folder(folder) => folder.restore(path),
            // The earlier content is unknown, so a replacement is different from it.
            Self::Opaque(before) => match path.symlink_metadata() {
                Ok(found) if before.inode == inode(&found) && !found.is_symlink() => {
                    set_mode(path, before.mode)
                }
                _ => remove(path),
            },
        }
    }

    /// Restores the permissions, if nothing else changed.
    pub(super) fn restore_mode(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::File(file) => set_mode(path, file.mode),
            Self::Folder(folder) => folder.mode.map_or(Ok(()), |mode| set_mode(path, mode)),
            Self::Absent | Self::Link(_) | Self::Opaque(_) => Ok(()),
        }
    }

    pub(super) fn mode(&self) -> Option<u32> {
        match self {
            Self::File(file) => Some(file.mode),
            Self::Folder(folder) => folder.mode,
            Self::Absent | Self::Link(_) | Self::Opaque(_) => None,
        }
    }
}

impl SavedFile {
    fn capture(path: &Path, found: &Metadata) -> Option<Self> {
        if !found.is_file() || found.len() > MAX_SAVED_BYTES {
            return None;
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(no_follow());
        let mut file = options.open(path).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        Some(Self {
            bytes,
            mode: found.mode() & PERMISSIONS,
            inode: inode(found),
            owner: (found.uid(), found.gid()),
            shared: (found.nlink() > 1).then_some(file),
        })
    }

    fn restore(&self, path: &Path) -> io::Result<()> {
        let is_itself = |found: Metadata| found.is_file() && inode(&found) == self.inode;
        if !path.symlink_metadata().is_ok_and(is_itself) {
            // Under its other names it is still the same file.
            let is_linked = self.shared.as_ref().is_some_and(|file| {
                let own = format!("/proc/self/fd/{}", file.as_raw_fd());
                remove(path).is_ok() && linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW).is_ok()
            });
            if !is_linked {
                return self.replace(path);
            }
        }
        set_mode(path, self.mode | 0o200)?;
        let mut options = OpenOptions::new();
        options.write(true).truncate(true).custom_flags(no_follow());
        options.open(path)?.write_all(&self.bytes)?;
        set_mode(path, self.mode)
    }

    /// Replaces the path by a new file.
    fn replace(&self, path: &Path) -> io::Result<()> {
        remove(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&self.bytes)?;
        // Only root may change a file's owner, and only root needs to.
        let (user, group) = self.owner;
        let _ = std::os::unix::fs::fchown(file.as_file(), Some(user), Some(group));
        file.as_file()
            .set_permissions(Permissions::from_mode(self.mode))?;
        file.persist(path)?;
        Ok(())
    }

    /// A file with these bytes, for a path that needs one and had none.
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            mode: 0o644,
            inode: (0, 0),
            owner: (
                rustix::process::geteuid().as_raw(),
                rustix::process::getegid().as_raw(),
            ),
            shared: None,
        }
    }
}

impl SavedFolder {
    fn capture(path: &Path, found: &Metadata) -> Option<Self> {
        let names = fs::read_dir(path).ok()?.flatten();
        Some(Self {
            names: names.map(|entry| entry.file_name()).collect(),
            mode: Some(found.mode() & PERMISSIONS),
        })
    }

    /// It is writable until its permissions are restored.
    fn restore(&self, path: &Path) -> io::Result<()> {
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if !is_folder {
            remove(path)?;
        }
        let Some(mode) = self.mode else {
            return Ok(());
        };
        if !is_folder {
            fs::create_dir(path)?;
        }
        set_mode(path, mode | 0o700)
    }
}

impl MetadataFingerprint {
    fn from_metadata(found: &Metadata) -> Self {
        Self {
            inode: inode(found),
            mode: found.mode() & PERMISSIONS,
            size: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Removes the entry at a path; of a link, only the link.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

fn inode(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if path.symlink_metadata()?.mode() & PERMISSIONS == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn no_follow() -> i32 {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    flags.bits().cast_signed()
}
