//! A session's own folder for temporary files, which the next session of the supervisor may get,
//! emptied. It is locked while the supervisor lives, so that a later run can recognize and remove the
//! folders of killed supervisors.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::removal::{empty_folder, remove_all};
use crate::sandbox::{TEMPORARY_FOLDERS, temporary_folder_name};

/// Parent folder and name prefix of these folders.
const ROOT_FOLDER: &str = "/tmp";
const FOLDER_PREFIX: &str = "selvedge-session-";

/// Removed on drop.
pub(super) struct TemporaryFolder {
    folder: PathBuf,
    /// With their modes.
    subfolders: Vec<(PathBuf, u32)>,
    _lock: File,
}

impl TemporaryFolder {
    /// Creates the folder with one subfolder for each location of temporary files.
    pub(super) fn create() -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new()
                .prefix(FOLDER_PREFIX)
                .tempdir_in(ROOT_FOLDER)?;
            // A concurrent cleanup may have removed the folder before it is locked: then another is needed.
            let lock = match open_folder(folder.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            let is_ours = flock(&lock, FlockOperation::NonBlockingLockShared).is_ok()
                && is_locked_folder(&lock, folder.path());
            if !is_ours {
                continue;
            }
            let mut subfolders = Vec::new();
            for place in TEMPORARY_FOLDERS.map(Path::new) {
                let path = folder.path().join(temporary_folder_name(place));
                std::fs::create_dir(&path)?;
                let mode = path.symlink_metadata()?.mode();
                subfolders.push((path, mode));
            }
            return Ok(Self {
                folder: folder.keep(),
                subfolders,
                _lock: lock,
            });
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder as it was created, for the next session, after all processes of the last one are gone; `None` if that
    /// cannot be restored. The last session must have been able to write only in the subfolders. Reused, because
    /// creating and removing folders takes longer than everything else that a supervisor does.
    pub(super) fn emptied(self) -> Option<Self> {
        let mut subfolders = self.subfolders.iter();
        let restored = subfolders.all(|(folder, mode)| {
            let is_unchanged = |found: std::fs::Metadata| found.mode() == *mode;
            empty_folder(folder).is_ok() && folder.symlink_metadata().is_ok_and(is_unchanged)
        });
        restored.then_some(self)
    }
}

/// Removes folders of this user whose supervisors are gone; returns their number. Follows no links
/// and does not touch files of other users.
pub(crate) fn remove_abandoned_folders() -> usize {
    remove_abandoned_in(Path::new(ROOT_FOLDER))
}

fn remove_abandoned_in(root: &Path) -> usize {
    let listed = std::fs::read_dir(root).into_iter().flatten().flatten();
    let ours = listed.filter(|entry| {
        let name = entry.file_name();
        name.to_str()
            .is_some_and(|name| name.starts_with(FOLDER_PREFIX))
    });
    ours.filter(|entry| remove_if_abandoned(&entry.path()).unwrap_or(false))
        .count()
}

fn remove_if_abandoned(folder: &Path) -> io::Result<bool> {
    let lock = open_folder(folder)?;
    let is_own = lock.metadata()?.uid() == rustix::process::geteuid().as_raw();
    if !is_own || flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    remove_all(folder)?;
    Ok(true)
}

fn open_folder(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(folder)
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // A later run removes what cannot be removed now.
        let _ = remove_all(&self.folder);
    }
}

fn is_locked_folder(lock: &File, folder: &Path) -> bool {
    let number = |found: io::Result<std::fs::Metadata>| found.map(|it| (it.dev(), it.ino())).ok();
    number(lock.metadata()) == number(folder.symlink_metadata())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn temporary_folder_is_reused_only_as_it_was_created() {
        let folder = TemporaryFolder::create().unwrap();
        let path = folder.path().to_owned();
        fs::create_dir_all(path.join("tmp/a/b")).unwrap();
        fs::write(path.join("tmp/a/b/file"), "").unwrap();
        std::os::unix::fs::symlink("/etc", path.join("var-tmp/link")).unwrap();
        let folder = folder.emptied().unwrap();
        for name in ["tmp", "var-tmp"] {
            assert_eq!(fs::read_dir(path.join(name)).unwrap().count(), 0, "{name}");
        }
        let open = fs::Permissions::from_mode(0o7777);
        fs::set_permissions(path.join("tmp"), open).unwrap();
        assert!(folder.emptied().is_none());
        assert!(!path.exists());
    }

    #[test]
    fn temporary_folder_cleanup_skips_locked_and_links() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in [
            "selvedge-session-left/tmp",
            "selvedge-session-held",
            "other",
            "kept",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("kept/file"), "").unwrap();
        std::os::unix::fs::symlink(at("kept"), at("selvedge-session-left/tmp/link")).unwrap();
        std::os::unix::fs::symlink(at("kept"), at("selvedge-session-link")).unwrap();
        let held = open_folder(&at("selvedge-session-held")).unwrap();
        flock(&held, FlockOperation::LockShared).unwrap();
        assert_eq!(remove_abandoned_in(root.path()), 1);
        assert!(!at("selvedge-session-left").exists());
        for left in [
            "selvedge-session-held",
            "selvedge-session-link",
            "other",
            "kept/file",
        ] {
            assert!(at(left).exists(), "{left}");
        }
        drop(held);
        assert_eq!(remove_abandoned_in(root.path()), 1);
    }
}
