//! Copies files, folders and links with their permissions and times. Links are never followed. A file system that can
//! share the blocks of a file does so.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink,
};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps, UTIME_OMIT, utimensat};

use super::error::WorkspaceError;
use crate::parallel;

/// The bits of a mode that are permissions.
pub(super) const PERMISSIONS: u32 = 0o7777;

/// Copies trees. No file may exist at the path of a copied one. Names of one file (hard links) among everything that is copied remain names of one file.
#[derive(Debug, Default)]
pub(super) struct TreeCopy {
    /// The first copy of each file that has several names.
    copies: HashMap<(u64, u64), PathBuf>,
    /// Files and the paths of their copies. Their bytes are copied at the end, by several threads.
    files: Vec<(PathBuf, PathBuf, Metadata)>,
    /// The first copies of files, and the paths of their further names.
    names: Vec<(PathBuf, PathBuf)>,
    /// Folders that were created, with the originals' metadata, which they get at the end: one may be read-only.
    folders: Vec<(PathBuf, Metadata)>,
    /// Folders above copied paths that exist.
    parents: HashSet<PathBuf>,
}

impl TreeCopy {
    /// Copies a file, a link, or a folder with its content. Sockets and devices are left out. Files are not complete
    /// before the end.
    pub(super) fn copy(&mut self, from: &Path, to: &Path) -> Result<(), WorkspaceError> {
        let mut pending = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = pending.pop() {
            let copy = || -> io::Result<()> {
                let found = from.symlink_metadata()?;
                if !found.is_dir() {
                    return self.copy_leaf(&from, &to, &found);
                }
                for entry in fs::read_dir(&from)? {
                    let name = entry?.file_name();
                    pending.push((from.join(&name), to.join(&name)));
                }
                self.make_folder(to, found)
            };
            copy().map_err(|error| WorkspaceError::io("copy", &from, error))?;
        }
        Ok(())
    }

    /// Copies what is at a relative path of one folder to the same path of another one, with the folders above it.
    pub(super) fn copy_below(
        &mut self,
        from: &Path,
        to: &Path,
        path: &Path,
    ) -> Result<(), WorkspaceError> {
        let mut missing = Vec::new();
        for above in path.ancestors().skip(1) {
            if above.as_os_str().is_empty() || !self.parents.insert(above.to_owned()) {
                break;
            }
            missing.push(above);
        }
        for above in missing.into_iter().rev() {
            let (original, folder) = (from.join(above), to.join(above));
            if folder.symlink_metadata().is_err() {
                let found = original.symlink_metadata();
                found
                    .and_then(|found| self.make_folder(folder, found))
                    .map_err(|error| WorkspaceError::io("copy", &original, error))?;
            }
        }
        self.copy(&from.join(path), &to.join(path))
    }

    /// Copies the bytes of all files, and sets the permissions and times of the copied folders.
    pub(super) fn finish(self) -> Result<(), WorkspaceError> {
        let copied = parallel::map(&self.files, |(from, to, found)| {
            let copied = copy_file(from, to, found).map(drop);
            copied.map_err(|error| WorkspaceError::io("copy", from, error))
        });
        for file in copied {
            file?;
        }
        for (first, name) in self.names {
            fs::hard_link(&first, &name)
                .map_err(|error| WorkspaceError::io("copy", &name, error))?;
        }
        // Those in a folder come after it.
        for (folder, found) in self.folders.into_iter().rev() {
            keep_owner(&folder, &found);
            fs::set_permissions(&folder, permissions_of(&found))
                .and_then(|()| keep_time(&folder, &found))
                .map_err(|error| WorkspaceError::io("copy", &folder, error))?;
        }
        Ok(())
    }

    /// Sets the permissions and times of an existing folder at the end, too. A folder must be noted before those in it.
    pub(super) fn note_folder(&mut self, folder: PathBuf, original: Metadata) {
        self.folders.push((folder, original));
    }

    fn make_folder(&mut self, folder: PathBuf, found: Metadata) -> io::Result<()> {
        let created = DirBuilder::new().mode(0o700).create(&folder);
        let is_folder = || folder.symlink_metadata().is_ok_and(|data| data.is_dir());
        match created {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !is_folder() => {
                return Err(error);
            }
            _ => self.folders.push((folder, found)),
        }
        Ok(())
    }

    fn copy_leaf(&mut self, from: &Path, to: &Path, found: &Metadata) -> io::Result<()> {
        if found.is_symlink() {
            symlink(fs::read_link(from)?, to)?;
            keep_owner(to, found);
            return keep_time(to, found);
        }
        if !found.is_file() {
            return Ok(());
        }
        if found.nlink() > 1 {
            let id = (found.dev(), found.ino());
            if let Some(first) = self.copies.get(&id) {
                self.names.push((first.clone(), to.to_owned()));
                return Ok(());
            }
            self.copies.insert(id, to.to_owned());
        }
        self.files
            .push((from.to_owned(), to.to_owned(), found.clone()));
        Ok(())
    }
}

/// Copies a file to an unused path, and returns the opened original.
pub(super) fn copy_file(from: &Path, to: &Path, found: &Metadata) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut original = options.read(true).custom_flags(no_follow()).open(from)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut copy = options.open(to)?;
    io::copy(&mut original, &mut copy)?;
    keep_owner(to, found);
    copy.set_permissions(permissions_of(found))?;
    // Git compares the time of its index with those of files.
    copy.set_modified(found.modified()?)?;
    Ok(original)
}

/// Only root may give files away, and only root needs to.
pub(super) fn keep_owner(path: &Path, like: &Metadata) {
    if rustix::process::geteuid().is_root() {
        let _ = lchown(path, Some(like.uid()), Some(like.gid()));
    }
}

/// Flags with which a path is opened that may have become a link or a pipe.
pub(super) fn no_follow() -> i32 {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    flags.bits().cast_signed()
}

fn permissions_of(found: &Metadata) -> Permissions {
    Permissions::from_mode(found.mode() & PERMISSIONS)
}

fn keep_time(path: &Path, like: &Metadata) -> io::Result<()> {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: like.mtime(),
            tv_nsec: like.mtime_nsec(),
        },
    };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn trees_are_copied_with_modes_times_links_and_names() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("closed/inner")).unwrap();
        fs::write(from.join("closed/file"), "bytes").unwrap();
        fs::hard_link(from.join("closed/file"), from.join("second name")).unwrap();
        symlink("closed/missing", from.join("link")).unwrap();
        let pipe = from.join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let old = SystemTime::now() - Duration::from_hours(1);
        File::options()
            .write(true)
            .open(from.join("closed/file"))
            .and_then(|file| file.set_modified(old))
            .unwrap();
        File::open(from.join("closed"))
            .and_then(|file| file.set_modified(old))
            .unwrap();
        fs::set_permissions(from.join("closed"), Permissions::from_mode(0o555)).unwrap();

        fs::create_dir(&to).unwrap();
        let mut copy = TreeCopy::default();
        for path in ["closed/file", "closed/inner", "second name", "link", "pipe"] {
            copy.copy_below(&from, &to, Path::new(path)).unwrap();
        }
        copy.finish().unwrap();

        for path in ["closed", "closed/file", "closed/inner", "link"] {
            let (one, other) = (from.join(path), to.join(path));
            let one = one.symlink_metadata().unwrap();
            let other = other.symlink_metadata().unwrap();
            assert_eq!(one.mode(), other.mode(), "mode of {path}");
            assert_eq!(one.modified().ok(), other.modified().ok(), "time of {path}");
        }
        assert_eq!(fs::read(to.join("closed/file")).unwrap(), b"bytes");
        let link = fs::read_link(to.join("link")).unwrap();
        assert_eq!(link, Path::new("closed/missing"));
        let inode = |path: &str| to.join(path).symlink_metadata().unwrap().ino();
        assert_eq!(inode("closed/file"), inode("second name"));
        assert!(to.join("pipe").symlink_metadata().is_err());

        let error = TreeCopy::default().copy(&from.join("none"), &to.join("none"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("from/none"), "{error}");
        fs::set_permissions(to.join("closed"), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(from.join("closed"), Permissions::from_mode(0o755)).unwrap();
    }
}
