//! Files with the secret of a new token. An existing file is never overwritten: its token may be in use.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::CliError;

/// A new file that only its owner can read; removed on drop unless it was written.
pub(super) struct NewTokenFile<'a> {
    path: &'a Path,
    file: File,
    is_written: bool,
}

impl<'a> NewTokenFile<'a> {
    /// Creates the file: before the token, because a token that cannot be written must not be created.
    pub(super) fn create(path: &'a Path) -> Result<Self, CliError> {
        let mut options = OpenOptions::new();
        let created = options.write(true).create_new(true).mode(0o600).open(path);
        let file = created.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => CliError::usage(format!(
                "{} already exists and is not overwritten",
                path.display()
            ))
            .hint("choose another file, or remove this one if its token is no longer used"),
            _ => CliError::infrastructure(format!("cannot write {}: {error}", path.display())),
        })?;
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
}
