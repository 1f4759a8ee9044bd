//! Accesses files below the workspace's root without leaving it. A path is opened name by name from a descriptor of the
//! root, and no name may be a link. A folder that was replaced by a link is therefore rejected and never followed,
//! regardless of when it was replaced.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::is_repository_data;

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::RDONLY);

/// An open folder, for access to everything below it.
#[derive(Debug)]
pub(crate) struct DirHandle {
    root: OwnedFd,
}

impl DirHandle {
    pub(crate) fn open_root(root: &Path) -> io::Result<Self> {
        Ok(Self {
            root: rustix::fs::open(root, FOLDER, Mode::empty())?,
        })
    }

    /// Opens a plain file for reading. Anything else is an error; a pipe does not block.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        let (folder, name) = self.parent(path)?;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::RDONLY;
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(Errno::LOOP.into())
        }
    }

    pub(super) fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let (folder, name) = self.parent(path)?;
        let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Writes a temporary file and renames it, so that the file is never incomplete, and other names of an old file
    /// (hard links) keep their bytes.
    pub(super) fn write(
        &self,
        path: &Path,
        permissions: u32,
        bytes: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let temporary_file = temporary_name();
        ignore_not_found(rustix::fs::unlinkat(
            &folder,
            &temporary_file,
            AtFlags::empty(),
        ))?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY;
        let mut file = File::from(rustix::fs::openat(
            &folder,
            &temporary_file,
            flags,
            Mode::from_raw_mode(0o600),
        )?);
        let written = bytes(&mut file)
            .and_then(|()| Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(permissions))?))
            .and_then(|()| {
                Ok(rustix::fs::renameat(
                    &folder,
                    &temporary_file,
                    &folder,
                    name,
                )?)
            });
        if written.is_err() {
            // Only the first error is returned.
            let _ = rustix::fs::unlinkat(&folder, &temporary_file, AtFlags::empty());
        }
        written
    }

    pub(super) fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let temporary_file = temporary_name();
        ignore_not_found(rustix::fs::unlinkat(
            &folder,
            &temporary_file,
            AtFlags::empty(),
        ))?;
        rustix::fs::symlinkat(target, &folder, &temporary_file)?;
        Ok(rustix::fs::renameat(
            &folder,
            &temporary_file,
            &folder,
            name,
        )?)
    }

    /// Removes a file, or a link itself. A missing file is not an error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        ignore_not_found(rustix::fs::unlinkat(&folder, name, AtFlags::empty()))
    }

    /// Removes a folder if it is empty, and returns whether it no longer exists.
    pub(super) fn remove_empty(&self, path: &Path) -> io::Result<bool> {
        let (folder, name) = self.parent(path)?;
        match rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            other => ignore_not_found(other).map(|()| true),
        }
    }

    /// Removes the folder at `path` and the folders in it, as far as they contain only folders.
    pub(super) fn remove_empty_folders(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        if !stat.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory) {
            return Ok(());
        }
        let opened = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
        for entry in rustix::fs::Dir::read_from(&opened)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.remove_empty_folders(&path.join(OsStr::from_bytes(name)))?;
            }
        }
        self.remove_empty(path).map(drop)
    }

    /// Creates a folder and its missing ancestors.
    pub(super) fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut folder = self.root.try_clone()?;
        for name in path_components(path)? {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
            folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(())
    }

    /// Creates a folder and its missing ancestors, replacing links and files that have their names.
    pub(super) fn replace_with_folder(&self, path: &Path) -> io::Result<()> {
        for folder in path.ancestors().collect::<Vec<_>>().into_iter().rev() {
            if folder.as_os_str().is_empty() {
                continue;
            }
            let (above, name) = self.parent(folder)?;
            let stat = rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW);
            if stat.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) != FileType::Directory) {
                self.remove(folder)?;
            }
            self.make_folder(folder)?;
        }
        Ok(())
    }

    /// Sets the permission bits of a file or folder. The special bits (set-id, sticky) are not changed.
    pub(super) fn set_permissions(&self, path: &Path, permissions: u32) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7000 | permissions);
        Ok(rustix::fs::chmodat(&folder, name, mode, AtFlags::empty())?)
    }

    /// Sets the modification time of a file. A link is not followed.
    pub(super) fn set_modified(&self, path: &Path, modified: SystemTime) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let since_1970 = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            },
            last_modification: since_1970.try_into().map_err(|_| Errno::INVAL)?,
        };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(&folder, name, &times, flags)?)
    }

    fn parent<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let mut names = path_components(path)?;
        let Some(last) = names.pop() else {
            return Err(Errno::INVAL.into());
        };
        let mut folder = self.root.try_clone()?;
        for name in names {
            folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok((folder, last))
    }
}

/// Returns the names in a path. Only plain names are allowed, and no repository data.
fn path_components(path: &Path) -> io::Result<Vec<&OsStr>> {
    path.components()
        .map(|component| match component {
            Component::Normal(name) if !is_repository_data(name) => Ok(name),
            _ => Err(Errno::INVAL.into()),
        })
        .collect()
}

fn ignore_not_found(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

/// Returns the name of a temporary file. It is unique because only one process writes at a time. A crash may leave the
/// file behind; the next restore removes it like any other file that is not in the snapshot.
fn temporary_name() -> String {
    format!(".selvedge-{}.draft", process::id())
}
