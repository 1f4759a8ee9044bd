//! Files with the secret of a new token. A file with content is never overwritten: its token may be in use.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::CliError;

const OWNER_ONLY: u32 = 0o600;

/// A file for a token that only its owner can read; removed on drop unless it was written. It is locked, so that no other
/// program takes it for a file that was left empty.
pub(super) struct NewTokenFile<'a> {
    path: &'a Path,
    file: File,
    is_written: bool,
}

impl<'a> NewTokenFile<'a> {
    /// Creates the file, or uses an empty one of this user, which a program leaves behind if it is killed before it
    /// writes the token. Must be called before the token is created: a token that cannot be written must not exist.
    pub(super) fn create(path: &'a Path) -> Result<Self, CliError> {
        let cannot = |error: std::io::Error| {
            CliError::infrastructure(format!("cannot write {}: {error}", path.display()))
        };
        let in_use = || {
            CliError::usage(format!(
                "{} already exists and is not overwritten",
                path.display()
            ))
            .hint("choose another file, or remove this one if its token is no longer used")
        };
        let mut options = OpenOptions::new();
        let created = options
            .write(true)
            .create_new(true)
            .mode(OWNER_ONLY)
            .open(path);
        let file = match created {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
                let flags = flags.bits().cast_signed();
                let mut options = OpenOptions::new();
                let opened = options.write(true).custom_flags(flags).open(path);
                opened.map_err(|_| in_use())?
            }
            Err(error) => return Err(cannot(error)),
        };
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => in_use(),
            TryLockError::Error(error) => cannot(error),
        })?;
        // Checked after locking: another program may have written or removed the file meanwhile.
        let metadata = file.metadata().map_err(cannot)?;
        let is_ours = metadata.is_file()
            && metadata.len() == 0
            && metadata.nlink() == 1
            && metadata.uid() == rustix::process::geteuid().as_raw();
        if !is_ours {
            return Err(in_use());
        }
        let mode = std::fs::Permissions::from_mode(OWNER_ONLY);
        file.set_permissions(mode).map_err(cannot)?;
        Ok(Self {
            path,
            file,
            is_written: false,
        })
    }

    pub(super) const fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn write(mut self, secret: &str) -> std::io::Result<()> {
        writeln!(self.file, "{secret}")?;
        self.file.sync_all()?;
        self.is_written = true;
        Ok(())
    }
}

impl Drop for NewTokenFile<'_> {
    fn drop(&mut self) {
        if !self.is_written {
            let _ = std::fs::remove_file(self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_is_created_once_and_removed_unless_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.token");
        drop(NewTokenFile::create(&path).unwrap());
        assert!(!path.exists());
        NewTokenFile::create(&path).unwrap().write("slv_1").unwrap();
        let refused = NewTokenFile::create(&path).err().unwrap();
        assert!(refused.to_string().contains("not overwritten"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "slv_1\n");
    }

    #[test]
    fn empty_token_file_is_taken_unless_it_is_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.token");
        std::fs::write(&path, "").unwrap();
        let taken = NewTokenFile::create(&path).unwrap();
        assert!(NewTokenFile::create(&path).is_err());
        taken.write("slv_1").unwrap();
        let mode = std::fs::metadata(&path).unwrap().mode();
        assert_eq!(mode & 0o777, OWNER_ONLY);

        let link = folder.path().join("link.token");
        let target = folder.path().join("target");
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(NewTokenFile::create(&link).is_err());
        assert!(link.exists() && target.exists());
    }
}
