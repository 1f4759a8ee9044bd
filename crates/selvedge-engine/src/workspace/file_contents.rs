//! Reads and restores single files of snapshots.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use selvedge_core::model::TreeId;

use super::Workspace;
use super::blobs::BlobReader;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::ids::BlobId;
use super::import::FileKind;
use super::restore::write;

/// The content of a file in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// The snapshot has no such file.
    Absent,
    /// A plain file.
    Bytes(Vec<u8>),
    /// A link.
    Link,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedFile {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Content in the first snapshot.
    pub before: FileContent,
    /// Content in the second snapshot.
    pub after: FileContent,
}

impl Workspace {
    /// Returns the files that differ between two snapshots and are `wanted`, with their bytes, sorted by path.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn compare_files(
        &self,
        from: &TreeId,
        to: &TreeId,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<ComparedFile>, WorkspaceError> {
        let mut differences = self.differences(from, to)?;
        differences.retain(|file| wanted(&file.path));
        if differences.is_empty() {
            return Ok(Vec::new());
        }
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let mut content = |side: Option<(FileKind, BlobId)>| match side {
            None => Ok(FileContent::Absent),
            Some((FileKind::Link, _)) => Ok(FileContent::Link),
            Some((_, blob)) => blobs.read(&blob.to_string()).map(FileContent::Bytes),
        };
        let mut compared = Vec::with_capacity(differences.len());
        for file in differences {
            compared.push(ComparedFile {
                before: content(file.before)?,
                after: content(file.after)?,
                path: file.path,
            });
        }
        Ok(compared)
    }

    /// Restores the files at these paths from a snapshot, and removes those that it does not have. Nothing else is
    /// changed, except for links and files that are in the way of a restored file's folder. The current files must be
    /// in another snapshot.
    ///
    /// # Errors
    /// The snapshot is unknown, a folder has a file's name, or the file system rejects a change.
    pub fn restore_files(&self, from: &TreeId, paths: &[PathBuf]) -> Result<(), WorkspaceError> {
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let target = self.restore_target(from, &mut blobs)?;
        let to_error =
            |path: &PathBuf, error| WorkspaceError::io("restore", &self.dir.join(path), error);
        let anchor =
            DirHandle::open_root(&self.dir).map_err(|error| to_error(&PathBuf::new(), error))?;
        // Remove files first, so that a file can replace a folder.
        for path in paths
            .iter()
            .filter(|path| !target.files.contains_key(path.as_os_str()))
        {
            let result = match anchor.remove(path) {
                // There is nothing below a path that is now a file or a link.
                Err(error) if is_below_a_file(&error) => Ok(()),
                done => done,
            };
            result.map_err(|error| to_error(path, error))?;
        }
        for path in paths {
            let Some(wanted) = target.files.get(path.as_os_str()) else {
                continue;
            };
            let done = path
                .parent()
                .map_or(Ok(()), |folder| anchor.replace_with_folder(folder))
                .and_then(|()| anchor.remove_empty_folders(path))
                .and_then(|()| write(&anchor, &mut blobs, path, wanted, None));
            done.map_err(|error| to_error(path, error))?;
        }
        Ok(())
    }
}

/// A path below a link fails with another error than a path below a file.
fn is_below_a_file(error: &io::Error) -> bool {
    [Errno::NOTDIR, Errno::LOOP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
