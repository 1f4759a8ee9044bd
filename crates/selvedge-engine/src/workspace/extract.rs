//! Extracts files that differ between two snapshots to paths of the caller's choice, up to a maximum size.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use selvedge_core::model::TreeId;

use super::Workspace;
use super::blobs::BlobReader;
use super::error::WorkspaceError;
use super::ids::BlobId;
use super::import::FileKind;

/// The bytes of a plain file in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobVersion(BlobId);

/// A file that differs between two snapshots. Links are not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersions {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Version in the first snapshot.
    pub before: Option<BlobVersion>,
    /// Version in the second snapshot.
    pub after: Option<BlobVersion>,
}

impl Workspace {
    /// Returns the plain files whose bytes differ, sorted by path.
    ///
    /// # Errors
    /// A snapshot is unknown, or git fails.
    pub fn versions(
        &self,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Vec<FileVersions>, WorkspaceError> {
        let plain = |side: Option<(FileKind, BlobId)>| {
            side.filter(|(kind, _)| *kind != FileKind::Link)
                .map(|(_, blob)| BlobVersion(blob))
        };
        let differences = self.differences(from, to)?.into_iter();
        let versions = differences.map(|file| FileVersions {
            before: plain(file.before),
            after: plain(file.after),
            path: file.path,
        });
        Ok(versions.filter(|it| it.before != it.after).collect())
    }

    /// Writes each version to a file and returns its size in bytes. Versions larger than `max_bytes` are not written.
    ///
    /// # Errors
    /// Git fails, or a file cannot be written.
    pub fn extract(
        &self,
        versions: impl IntoIterator<Item = (BlobVersion, PathBuf)>,
        max_bytes: u64,
    ) -> Result<Vec<u64>, WorkspaceError> {
        let mut versions = versions.into_iter().peekable();
        if versions.peek().is_none() {
            return Ok(Vec::new());
        }
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let write = |(BlobVersion(blob), file): (BlobVersion, PathBuf)| {
            let mut written = BoundedFile::create(&file, max_bytes);
            let done = blobs.copy(&blob.to_string(), &mut written);
            let done = done.and_then(|()| written.finish());
            done.map_err(|error| WorkspaceError::io("write a file of a snapshot", &file, error))
        };
        versions.map(write).collect()
    }
}

/// A writer that counts all bytes, and removes its file once there are too many.
struct BoundedFile<'a> {
    path: &'a Path,
    file: Option<File>,
    max: u64,
    received: u64,
}

impl<'a> BoundedFile<'a> {
    fn create(path: &'a Path, max: u64) -> Self {
        let (file, received) = (None, 0);
        Self {
            path,
            file,
            max,
            received,
        }
    }

    /// Creates the file if nothing was written, and returns the number of bytes.
    fn finish(&mut self) -> io::Result<u64> {
        if self.received == 0 {
            File::create(self.path)?;
        }
        Ok(self.received)
    }
}

impl io::Write for BoundedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.received += bytes.len() as u64;
        if self.received > self.max {
            if self.file.take().is_some() {
                std::fs::remove_file(self.path)?;
            }
            return Ok(bytes.len());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(self.path)?),
        };
        file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
