//! Composes a tree from two snapshots: the files of one of them at some paths, and of the other at the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use selvedge_core::model::TreeId;

use super::Workspace;
use super::blobs::BlobReader;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::import::FileKind;
use super::manifest::default_permissions;

/// Largest file that is read, in bytes.
const MAX_BYTES: usize = 512 << 10;
/// Maximum bytes that are read in total.
const MAX_TOTAL: usize = 128 << 20;

impl Workspace {
    /// Returns all paths of a snapshot, with the bytes of the plain files that are `wanted`. Files of more than 512 KiB
    /// have no bytes here, nor have files beyond 128 MiB in total.
    ///
    /// # Errors
    /// The snapshot is unknown, or git fails.
    pub fn read_files(
        &self,
        tree: &TreeId,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<BTreeMap<PathBuf, Option<Vec<u8>>>, WorkspaceError> {
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let target = self.restore_target(tree, &mut blobs)?;
        let to_error = |path: &Path, error| WorkspaceError::io("read a snapshot", path, error);
        let is_wanted: Vec<bool> = target
            .files
            .iter()
            .map(|(path, file)| file.kind != FileKind::Link && wanted(path))
            .collect();
        let requested = target.files.values().zip(&is_wanted);
        let requested = requested.filter(|(_, is_wanted)| **is_wanted);
        blobs
            .request_all(requested.map(|(file, _)| file.blob.to_string()).collect())
            .map_err(|error| to_error(Path::new(""), error))?;
        let mut files = BTreeMap::new();
        let mut total = 0;
        for ((path, file), is_wanted) in target.files.iter().zip(is_wanted) {
            let is_read = total < MAX_TOTAL && is_wanted;
            let mut bytes = CappedBuffer::default();
            if is_read {
                blobs
                    .copy(&file.blob.to_string(), &mut bytes)
                    .map_err(|error| to_error(path, error))?;
                total += bytes.0.len();
            }
            let is_whole = is_read && bytes.0.len() <= MAX_BYTES;
            files.insert(path.to_path_buf(), is_whole.then_some(bytes.0));
        }
        Ok(files)
    }

    /// Gives the workspace the files that a snapshot has at `originals` (none where it has none), and writes the files
    /// in `merged`. Links, files and empty folders in the way are removed; nothing else is changed. The previous
    /// content of the workspace must be in another snapshot.
    ///
    /// # Errors
    /// The snapshot is unknown, a non-empty folder has a file's name, or the file system rejects a change.
    pub fn compose(
        &self,
        base: &TreeId,
        originals: &[PathBuf],
        merged: &[(PathBuf, Vec<u8>)],
    ) -> Result<(), WorkspaceError> {
        self.restore_files(base, originals)?;
        self.remove_empty_folders_above(base, originals)?;
        let to_error =
            |path: &Path, error| WorkspaceError::io("compose", &self.dir.join(path), error);
        let anchor =
            DirHandle::open_root(&self.dir).map_err(|error| to_error(Path::new(""), error))?;
        for (path, bytes) in merged {
            // The attempt may have moved the whole folder.
            if let Some(folder) = path.parent() {
                anchor
                    .replace_with_folder(folder)
                    .map_err(|error| to_error(path, error))?;
            }
            let permissions = anchor.open(path).and_then(|file| file.metadata()).map_or(
                default_permissions(false),
                |data| {
                    use std::os::unix::fs::PermissionsExt;
                    data.permissions().mode() & 0o777
                },
            );
            anchor
                .write(path, permissions, |file| file.write_all(bytes))
                .map_err(|error| to_error(path, error))?;
        }
        Ok(())
    }
}

impl Workspace {
    /// Removes folders that have become empty because files at these paths were removed, unless they are empty folders
    /// of the snapshot `base`.
    pub(super) fn remove_empty_folders_above(
        &self,
        base: &TreeId,
        paths: &[PathBuf],
    ) -> Result<(), WorkspaceError> {
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let target = self.restore_target(base, &mut blobs)?;
        let to_error =
            |path: &Path, error| WorkspaceError::io("compose", &self.dir.join(path), error);
        let anchor =
            DirHandle::open_root(&self.dir).map_err(|error| to_error(Path::new(""), error))?;
        let removed = paths
            .iter()
            .filter(|path| !target.files.contains_key(path.as_os_str()));
        let folders: BTreeSet<&Path> = removed
            .flat_map(|path| path.ancestors().skip(1))
            .filter(|folder| !folder.as_os_str().is_empty())
            .filter(|folder| !target.manifest.folders.contains_key(folder.as_os_str()))
            .collect();
        for folder in folders.into_iter().rev() {
            // A link, a folder that is missing, or one with files is kept.
            let _ = anchor.remove_empty(folder);
        }
        Ok(())
    }
}

/// Stores at most one byte beyond the limit.
#[derive(Default)]
struct CappedBuffer(Vec<u8>);

impl Write for CappedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (MAX_BYTES + 1).saturating_sub(self.0.len());
        self.0.extend(bytes.iter().take(room));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
