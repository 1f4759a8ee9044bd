//! Writes the settings file. An existing file is replaced only if forced.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::settings::REPOSITORY_FILE;

/// Why the file was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The file exists, and `--force` was not given.
    #[error("{} already exists; use --force to replace it", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Failed {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Writes `text` as the `selvedge.toml` of `root`; returns its path.
pub(crate) fn write(root: &Path, text: &str, force: bool) -> Result<PathBuf, WriteError> {
    let path = root.join(REPOSITORY_FILE);
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(WriteError::Exists(path)),
        Err(source) => Err(WriteError::Failed { path, source }),
    }
}
