//! The bytes a run works on: snapshots of them, the way back to any snapshot, what differs between
//! two, and the lock that keeps a second run out.
//!
//! Git stores the snapshots, in a *shadow* git directory outside the workspace, but never reads the
//! work tree for them: it is asked which files the ignore rules leave standing, then handed bytes that
//! were read here. So no attribute, filter, hook or setting of the workspace's own repository can run
//! or change a byte, and the person's index, refs and stash are never written.
//!
//! Everything here blocks; callers on an async runtime use `spawn_blocking`.

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
mod file_stats;
mod fingerprint;
pub(crate) mod git;
mod ids;
mod import;
mod inventory;
mod keep;
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
pub use ids::SnapshotId;
pub use lock::{LockError, WorkspaceLock};
pub use restore::RestoreOutcome;
pub use revision::check_out;
pub use snapshot::Snapshot;
pub use status::{DirtyFile, DirtyFiles, UncommittedChange, is_clean, status};

pub(crate) use dir_handle::DirHandle;
pub(crate) use file_stats::FileStatIndex;
pub(crate) use tool_folders::{ToolChanges, ToolManifest};
pub(crate) use verification_room::{ResultCache, VerificationRoom, VerificationRoomMount};

use git::GitProgram;
use repository::Repository;
use shadow::ShadowRepository;

/// One folder that runs work in, and the shadow git directory that keeps its snapshots.
///
/// Snapshots cover the folder that was given and nothing beside it, even when it lies deep inside a
/// repository: a run in one package of a monorepo must neither copy nor put back its neighbours. The
/// ignore rules of the whole repository still apply, as a person would expect.
///
/// A shadow directory belongs to one folder. Calls that write to it wait for each other, across
/// processes too; [`WorkspaceLock`] is what keeps two *runs* apart.
#[derive(Debug, Clone)]
pub struct Workspace {
    git: GitProgram,
    dir: PathBuf,
    repository: Option<Repository>,
    shadow: ShadowRepository,
    limits: SnapshotLimits,
    excludes: Option<PathBuf>,
}

impl Workspace {
    /// Opens `dir`, laying out `shadow_dir` (readable by its owner only) when it is not there yet.
    ///
    /// # Errors
    /// `dir` is not a folder, git is not installed, or the shadow directory cannot be made or lies
    /// inside `dir`.
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
        })
    }

    /// The same workspace with other limits on what a snapshot covers.
    #[must_use]
    pub fn with_limits(mut self, limits: SnapshotLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same workspace, also ignoring what `file` lists: the person's own `core.excludesFile`,
    /// which git would read from settings that are switched off here.
    #[must_use]
    pub fn with_excludes(mut self, file: PathBuf) -> Self {
        self.excludes = Some(file);
        self
    }

    /// The folder, canonical.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the folder lies in a git repository.
    pub fn is_git(&self) -> bool {
        self.repository.is_some()
    }

    /// The root of the repository's work tree, which is the folder itself or holds it.
    pub fn repository_root(&self) -> Option<&Path> {
        self.repository.as_ref().map(Repository::root)
    }

    /// What the *person's* repository says has changed, read without running anything of it.
    ///
    /// # Errors
    /// The folder is in no repository, or git cannot read it.
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

/// A file name that stands for a folder: the folder's own last part, for people, and a hash of its
/// whole path, so that no two folders share one.
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

/// Whether a name is a repository's own records: in any case, as file systems and git itself see it.
fn is_repository_data(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}
