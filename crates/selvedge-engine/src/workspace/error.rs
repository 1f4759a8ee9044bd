//! Errors of workspace operations, by the reaction that they need. Each message fits after "failed to …:" and contains
//! the problem, the location and a fix.

use std::io;
use std::path::{Path, PathBuf};

use selvedge_core::model::{ParseTreeIdError, TreeId};

/// Why a workspace could not be opened, snapshotted, restored or compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// There is no usable git program on `PATH`.
    #[error(
        "no git program found on PATH outside the workspace; install git 2.36 or later, or put its folder on PATH"
    )]
    GitMissing,

    #[error("{} is not a folder; name the folder to work in", path.display())]
    NotAFolder {
        /// The given path.
        path: PathBuf,
    },

    /// Snapshots would contain themselves.
    #[error(
        "the state directory {} lies inside the workspace {}; choose another workspace, or set XDG_STATE_HOME to a folder outside it",
        shadow.display(), dir.display()
    )]
    StateInsideWorkspace {
        /// The shadow git directory.
        shadow: PathBuf,
        /// The workspace.
        dir: PathBuf,
    },

    /// The folder is not in a git repository, but one is needed.
    #[error("{} is not in a git repository; run `git init` there, or drop the check", dir.display())]
    NotARepository {
        /// The folder.
        dir: PathBuf,
    },

    #[error(
        "snapshot {tree} is not in {}; it was never taken there or has been removed, choose another",
        shadow.display()
    )]
    UnknownSnapshot {
        /// The requested snapshot.
        tree: TreeId,
        /// The searched shadow directory.
        shadow: PathBuf,
    },

    /// A name that is not allowed in a ref.
    #[error(
        "invalid snapshot name {name:?}; use letters, digits, '.', '_', '-' and '/', no part beginning with '.' or '-'"
    )]
    InvalidName {
        /// The given name.
        name: String,
    },

    /// Not a tree id.
    #[error(transparent)]
    InvalidTreeId(#[from] ParseTreeIdError),

    /// Restoring would lose files that no snapshot covers.
    #[error(
        "{} is not covered by snapshots and is where the snapshot has {}; move it away and restore again (nothing was changed)",
        path.display(), wanted.display()
    )]
    UncoveredObstacle {
        /// The existing file, relative to the workspace.
        path: PathBuf,
        /// What the snapshot contains there.
        wanted: PathBuf,
    },

    /// A process is still writing.
    #[error("{} changed while it was read; stop the program that writes to it and try again", path.display())]
    ChangedWhileRead {
        /// The file.
        path: PathBuf,
    },

    /// The disk or the quota is full.
    #[error("the disk is full: could not {doing} {}; free some space and try again", path.display())]
    DiskFull {
        /// The operation.
        doing: &'static str,
        /// The affected path.
        path: PathBuf,
    },

    /// The file system denied access.
    #[error("not permitted to {doing} {}; check its owner and mode, and whether the disk is read-only", path.display())]
    PermissionDenied {
        /// The operation.
        doing: &'static str,
        /// The affected path.
        path: PathBuf,
    },

    /// Any other I/O error.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The affected path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },

    /// Git failed.
    #[error("git could not {doing} in {} ({status}): {message}", place.display())]
    Git {
        /// The operation.
        doing: &'static str,
        /// The affected folder or git directory.
        place: PathBuf,
        /// Its exit status.
        status: String,
        /// The end of its standard error.
        message: String,
    },

    /// Git waits for a pipe, socket or device.
    #[error("cannot {doing}: git would wait for {}, which is a pipe, socket or device; remove it", path.display())]
    WaitsForPipe {
        /// The operation.
        doing: &'static str,
        /// The pipe, socket or device.
        path: PathBuf,
    },

    /// Git did not finish in time.
    #[error(
        "git took more than {seconds} s to {doing} in {}; look for a pipe or a dead network mount there",
        place.display()
    )]
    GitTimeout {
        /// The operation.
        doing: &'static str,
        /// The affected folder or git directory.
        place: PathBuf,
        /// The time limit.
        seconds: u64,
    },

    /// Git printed something unexpected.
    #[error(
        "unexpected answer from git while trying to {doing} in {}: {detail}; its version may be too old (2.36 or later is needed)",
        place.display()
    )]
    UnexpectedAnswer {
        /// The operation.
        doing: &'static str,
        /// The affected folder or git directory.
        place: PathBuf,
        /// The problem.
        detail: String,
    },
}

impl WorkspaceError {
    /// Classifies an I/O error.
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { doing, path }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::PermissionDenied { doing, path }
            }
            _ => Self::Io {
                doing,
                path,
                source,
            },
        }
    }

    /// Classifies a failure of git by its standard error (always in the C locale).
    pub(super) fn git(doing: &'static str, place: &Path, status: String, stderr: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stderr);
        let contains = |needle: &str| text.contains(needle);
        let place = place.to_owned();
        if contains("No space left on device") || contains("Disk quota exceeded") {
            Self::DiskFull { doing, path: place }
        } else if contains("Permission denied") || contains("Read-only file system") {
            Self::PermissionDenied { doing, path: place }
        } else {
            let lines: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let last = lines
                .iter()
                .rev()
                .take(3)
                .rev()
                .copied()
                .collect::<Vec<_>>()
                .join("; ");
            let message = if last.is_empty() {
                "no reason given".to_owned()
            } else {
                last
            };
            Self::Git {
                doing,
                place,
                status,
                message,
            }
        }
    }

    /// Returns whether a retry cannot help until a person frees space or changes permissions.
    pub fn is_disk_or_permission(&self) -> bool {
        matches!(self, Self::DiskFull { .. } | Self::PermissionDenied { .. })
    }
}
