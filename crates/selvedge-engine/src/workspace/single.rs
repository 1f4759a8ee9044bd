//! Single files of a snapshot: their bytes, and putting them back alone.

use std::path::PathBuf;

use super::Workspace;
use super::anchored::Anchor;
use super::blobs::Blobs;
use super::error::WorkspaceError;
use super::ids::TreeId;
use super::import::Kind;
use super::restore::write;

/// The bytes of a file as a snapshot holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The snapshot has no such file.
    Absent,
    /// A plain file.
    Bytes(Vec<u8>),
    /// A link.
    Link,
}

impl Workspace {
    /// The files at these paths as a snapshot holds them, in the order of the paths.
    ///
    /// # Errors
    /// The snapshot is unknown, or git fails.
    pub fn contents(
        &self,
        tree: &TreeId,
        paths: &[PathBuf],
    ) -> Result<Vec<Content>, WorkspaceError> {
        let mut blobs = Blobs::open(&self.git, &self.shadow)?;
        let target = self.target(tree, &mut blobs)?;
        let content = |path: &PathBuf| match target.files.get(path) {
            None => Ok(Content::Absent),
            Some(wanted) if wanted.kind == Kind::Link => Ok(Content::Link),
            Some(wanted) => blobs.read(&wanted.blob.to_string()).map(Content::Bytes),
        };
        paths.iter().map(content).collect()
    }

    /// Makes the files at these paths what a snapshot holds, removing those that it does not have,
    /// and touches nothing else. What stands there now must be in another snapshot.
    ///
    /// # Errors
    /// The snapshot is unknown, a folder on the way is a link, or the file system refuses.
    pub fn put_back(&self, from: &TreeId, paths: &[PathBuf]) -> Result<(), WorkspaceError> {
        let mut blobs = Blobs::open(&self.git, &self.shadow)?;
        let target = self.target(from, &mut blobs)?;
        let failed =
            |path: &PathBuf, error| WorkspaceError::io("put back", &self.dir.join(path), error);
        let anchor = Anchor::at(&self.dir).map_err(|error| failed(&PathBuf::new(), error))?;
        for path in paths {
            let done = match target.files.get(path) {
                None => anchor.remove(path),
                Some(wanted) => path
                    .parent()
                    .map_or(Ok(()), |folder| anchor.make_folder(folder))
                    .and_then(|()| write(&anchor, &mut blobs, path, wanted)),
            };
            done.map_err(|error| failed(path, error))?;
        }
        Ok(())
    }
}
