//! Puts the file on disk; one that is there is a person's work and stays.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::document::settings_document;
use super::setup::SetupLine;
use super::trial::TriedProposal;
use crate::settings::REPOSITORY_FILE;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// There is a file, and nobody said to replace it.
    #[error("{} exists already; --force replaces it", .0.display())]
    Exists(PathBuf),
    /// The disk said no.
    #[error("cannot write {}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Writes `selvedge.toml` into `root`, whose path is returned with the file's name.
pub(crate) fn write(
    root: &Path,
    tried: &[TriedProposal],
    setup: &[SetupLine],
    force: bool,
) -> Result<PathBuf, WriteError> {
    let path = root.join(REPOSITORY_FILE);
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(&path).and_then(|mut file| {
        file.write_all(settings_document(tried, setup).as_bytes())?;
        file.sync_all()
    });
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(WriteError::Exists(path)),
        Err(source) => Err(WriteError::Failed { path, source }),
    }
}
