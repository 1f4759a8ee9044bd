//! The subject of an attestation: the files of a directory that its repository tracks or does not ignore, as they are
//! on disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use selvedge_engine::workspace::{Workspace, WorkspaceError};
use serde::{Deserialize, Serialize};

use super::tree::{GitFileKind, GitFolder, GitObjectHasher, GitObjectIds, TreeDigest};

/// The subject of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subject {
    /// The directory relative to the repository's root; `.` for the root itself.
    pub(crate) name: String,
    /// The digests of its tree.
    pub(crate) digest: TreeDigest,
}

/// Why the tree of a directory cannot be computed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubjectError {
    /// The files cannot be listed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file that git cannot represent, or only by a name that does not cover its content.
    #[error("{} is a nested repository or not a regular file: its content cannot be attested", .0.display())]
    Unsupported(PathBuf),
}

/// Computes the subject of a workspace as it is now. `but` lists files to leave out, relative to the workspace.
pub(crate) fn compute_subject(
    workspace: &Workspace,
    but: &[String],
) -> Result<Subject, SubjectError> {
    let dir = workspace.dir();
    let mut folder = GitFolder::default();
    for path in workspace.unignored()? {
        let is_left_out = but.iter().any(|it| Path::new(it) == path);
        if is_left_out {
            continue;
        }
        if let Some((kind, ids)) = read_entry(&dir.join(&path))? {
            folder.insert(path.as_os_str().as_bytes(), kind, ids);
        }
    }
    let root = workspace.repository_root().unwrap_or(dir);
    let below = dir.strip_prefix(root).unwrap_or(Path::new(""));
    let name = match below.to_string_lossy() {
        name if name.is_empty() => ".".to_owned(),
        name => name.into_owned(),
    };
    Ok(Subject {
        name,
        digest: folder.ids().into(),
    })
}

/// A file's kind and ids; `None` for a tracked file that was deleted.
fn read_entry(path: &Path) -> Result<Option<(GitFileKind, GitObjectIds)>, SubjectError> {
    let unreadable = |source| SubjectError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if metadata.is_symlink() {
        let target = fs::read_link(path).map_err(unreadable)?;
        let target = target.as_os_str().as_bytes();
        let mut blob = GitObjectHasher::blob(target.len() as u64);
        blob.update(target);
        return Ok(Some((GitFileKind::Link, blob.ids())));
    }
    if !metadata.is_file() {
        return Err(SubjectError::Unsupported(path.to_owned()));
    }
    let kind = if metadata.permissions().mode() & 0o100 == 0 {
        GitFileKind::File
    } else {
        GitFileKind::Executable
    };
    let ids = hash_file(path, &metadata).map_err(unreadable)?;
    Ok(Some((kind, ids)))
}

fn hash_file(path: &Path, seen: &fs::Metadata) -> io::Result<GitObjectIds> {
    let changed = || io::Error::other("it changed while it was read");
    let mut file = File::open(path)?;
    let opened = file.metadata()?;
    if (opened.dev(), opened.ino()) != (seen.dev(), seen.ino()) {
        return Err(changed());
    }
    let mut blob = GitObjectHasher::blob(opened.len());
    let mut chunk = vec![0; 64 << 10];
    let mut left = opened.len();
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        left = left.checked_sub(length as u64).ok_or_else(changed)?;
        blob.update(chunk.get(..length).unwrap_or_default());
    }
    if left == 0 {
        Ok(blob.ids())
    } else {
        Err(changed())
    }
}
