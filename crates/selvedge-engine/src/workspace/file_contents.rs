//! Single files of snapshots: their bytes, and putting them back alone.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::Workspace;
use super::blobs::BlobReader;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::ids::{BlobId, SnapshotId};
use super::import::FileKind;
use super::restore::write;

/// The bytes of a file as a snapshot holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// The snapshot has no such file.
    Absent,
    /// A plain file.
    Bytes(Vec<u8>),
    /// A link.
    Link,
}

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedFile {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// As the first snapshot holds it.
    pub before: FileContent,
    /// As the second one does.
    pub after: FileContent,
}

impl Workspace {
    /// The files that differ between two snapshots and are `wanted`, with their bytes, in the order
    /// of their paths.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn compare_files(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<ComparedFile>, WorkspaceError> {
        let mut differences = self.differences(from, to)?;
        differences.retain(|file| wanted(&file.path));
        if differences.is_empty() {
            return Ok(Vec::new());
        }
        let mut blobs = BlobReader::open(&self.git, &self.shadow)?;
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

    /// Makes the files at these paths what a snapshot holds, removing those that it does not have,
    /// and touches nothing else but links and files where such a file needs a folder. What stands there now
    /// must be in another snapshot.
    ///
    /// # Errors
    /// The snapshot is unknown, a folder has a file's name, or the file system refuses.
    pub fn restore_files(
        &self,
        from: &SnapshotId,
        paths: &[PathBuf],
    ) -> Result<(), WorkspaceError> {
        let mut blobs = BlobReader::open(&self.git, &self.shadow)?;
        let target = self.restore_target(from, &mut blobs)?;
        let failed =
            |path: &PathBuf, error| WorkspaceError::io("put back", &self.dir.join(path), error);
        let anchor =
            DirHandle::open_root(&self.dir).map_err(|error| failed(&PathBuf::new(), error))?;
        // First what has to go, so that a file can take the place of a folder.
        for path in paths
            .iter()
            .filter(|path| !target.files.contains_key(path.as_os_str()))
        {
            let gone = match anchor.remove(path) {
                // Below what is a file now, or a link, there is nothing.
                Err(error) if is_below_a_file(&error) => Ok(()),
                done => done,
            };
            gone.map_err(|error| failed(path, error))?;
        }
        for path in paths {
            let Some(wanted) = target.files.get(path.as_os_str()) else {
                continue;
            };
            let done = path
                .parent()
                .map_or(Ok(()), |folder| anchor.replace_with_folder(folder))
                .and_then(|()| anchor.remove_empty_folders(path))
                .and_then(|()| write(&anchor, &mut blobs, path, wanted));
            done.map_err(|error| failed(path, error))?;
        }
        Ok(())
    }
}

/// A link is not followed, which is another error than that for a file.
fn is_below_a_file(error: &io::Error) -> bool {
    [Errno::NOTDIR, Errno::LOOP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
