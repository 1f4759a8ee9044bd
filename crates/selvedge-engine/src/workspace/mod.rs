//! Snapshots of a workspace's files: taking, restoring and comparing them, and the lock that allows only one run in a
//! workspace.
//!
//! Git stores the snapshots in a *shadow* git directory outside the workspace, but never reads the work tree for them:
//! it only lists the files that are not ignored, and gets the bytes that Selvedge has read. Therefore no attribute,
//! filter, hook or setting of the workspace's repository can run or change a byte, and the user's index, refs and stash
//! are never written.
//!
//! All functions block; async callers use `spawn_blocking`.

mod blobs;
mod compose;
mod copy;
mod copy_ignored;
mod diff;
mod dir_handle;
mod error;
mod exclusions;
mod extract;
mod file_contents;
mod file_records;
mod file_stats;
mod fingerprint;
mod folder_reader;
pub(crate) mod git;
mod git_protection;
mod ids;
mod import;
mod inventory;
mod lock;
mod manifest;
mod obstacles;
mod relative;
pub(crate) mod repository;
mod restore;
mod revision;
pub(crate) mod shadow;
mod snapshot;
mod status;
mod store;
mod survey;
mod target;
mod tool_folders;
mod transfer;
mod tree_cache;
mod tree_copy;
mod verification_room;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use diff::{DiffOptions, FileChangeKind, SnapshotChange, UnifiedDiff};
pub use error::WorkspaceError;
pub use exclusions::{ExcludedPath, ExcludedPaths, ExclusionReason, SnapshotLimits};
pub(crate) use exclusions::{is_cache, is_regenerable};
pub use extract::{BlobVersion, FileVersions};
pub use file_contents::{ComparedFile, FileContent};
pub use lock::{LockError, WorkspaceLock};
pub use restore::RestoreOutcome;
pub use revision::check_out;
pub use snapshot::Snapshot;
pub use status::{DirtyFile, DirtyFiles, UncommittedChange, is_clean, status};
pub use verification_room::LAST_ROOM_FOLDERS;

pub(crate) use dir_handle::DirHandle;
pub(crate) use file_stats::FileStatIndex;
pub(crate) use git_protection::{GitProtection, ProtectedSession, main_repository};
pub(crate) use tool_folders::{ToolChanges, ToolManifest};
pub(crate) use verification_room::{
    JudgedTree, ResultCache, VerificationRoom, VerificationRoomMount,
};

use git::GitProgram;
use repository::Repository;
use shadow::ShadowRepository;
use tree_cache::TreeCache;

/// A folder that runs work in, and the shadow git directory of its snapshots.
///
/// Snapshots cover only this folder, even if it is deep inside a repository: a run in one package of a monorepo must
/// neither copy nor restore other packages. The ignore rules of the whole repository still apply.
///
/// A shadow directory belongs to one folder. Calls that write to it wait for each other, across processes too.
/// [`WorkspaceLock`] keeps two *runs* apart.
#[derive(Debug, Clone)]
pub struct Workspace {
    git: GitProgram,
    dir: PathBuf,
    repository: Option<Repository>,
    shadow: ShadowRepository,
    limits: SnapshotLimits,
    excludes: Option<PathBuf>,
    /// Content of stored trees.
    trees: TreeCache,
    /// Whether a restore may discard the files that it replaces, without a backup.
    is_disposable: bool,
}

impl Workspace {
    /// Opens `dir`, and creates `shadow_dir` (readable by its owner only) if it does not exist.
    ///
    /// # Errors
    /// `dir` is not a folder, git is not installed, or the shadow directory cannot be created or is inside `dir`.
    pub fn open(dir: &Path, shadow_dir: &Path) -> Result<Self, WorkspaceError> {
        let dir = canonical_dir(dir)?;
        let git = GitProgram::find(&dir)?;
        let shadow = ShadowRepository::open(shadow_dir, &dir)?;
        let repository = Repository::containing(&dir);
        Ok(Self {
            git,
            dir,
            repository,
            shadow,
            limits: SnapshotLimits::default(),
            excludes: None,
            trees: TreeCache::default(),
            is_disposable: false,
        })
    }

    /// Sets the limits of snapshots.
    #[must_use]
    pub fn with_limits(mut self, limits: SnapshotLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Ignores the files that `file` lists, too: the user's `core.excludesFile`, which git would read from settings
    /// that are disabled here.
    #[must_use]
    pub fn with_excludes(mut self, file: PathBuf) -> Self {
        self.excludes = Some(file);
        self
    }

    /// Returns the folder's canonical path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns whether the folder is in a git repository.
    pub fn is_git(&self) -> bool {
        self.repository.is_some()
    }

    /// Returns the root of the repository's work tree, which is the folder or one of its ancestors.
    pub fn repository_root(&self) -> Option<&Path> {
        self.repository.as_ref().map(Repository::root)
    }

    /// Returns the uncommitted changes of the *user's* repository, without running anything that it configures.
    ///
    /// # Errors
    /// The folder is not in a repository, or git cannot read it.
    pub fn status(&self) -> Result<DirtyFiles, WorkspaceError> {
        status::status_with(&self.git, &self.dir, self.excludes.as_deref())
    }
}

fn canonical_dir(dir: &Path) -> Result<PathBuf, WorkspaceError> {
    let canonical =
        fs::canonicalize(dir).map_err(|e| WorkspaceError::io("find the workspace", dir, e))?;
    if canonical.is_dir() {
        Ok(canonical)
    } else {
        Err(WorkspaceError::NotAFolder { path: canonical })
    }
}

/// Returns a unique file name for a folder: its own name, for people, and a hash of its path.
pub fn file_name_for(dir: &Path) -> String {
    let last = dir
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default();
    let mut name: String = last
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(24)
        .collect();
    name.push('-');
    for byte in Sha256::digest(dir.as_os_str().as_bytes()).iter().take(12) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Returns whether a name is `.git` in any case, as some file systems and git itself treat it.
fn is_repository_data(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}
