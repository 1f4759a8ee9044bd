//! What can go wrong with a workspace, as kinds a caller can act on. Each message is a fragment that
//! fits after "failed to …:" and says what, where, and how to mend it.

use std::io;
use std::path::{Path, PathBuf};

use super::ids::SnapshotId;

/// Why a workspace could not be opened, snapshotted, restored or compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// No usable git program on `PATH`.
    #[error(
        "no git program found on PATH outside the workspace; install git 2.36 or later, or put its folder on PATH"
    )]
    GitMissing,

    /// The workspace is not a folder.
    #[error("{} is not a folder; name the folder to work in", path.display())]
    NotAFolder {
        /// What was given.
        path: PathBuf,
    },

    /// Snapshots would hold themselves.
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

    /// The folder is in no git repository, and the question was about one.
    #[error("{} is in no git repository; run `git init` there, or drop the check", dir.display())]
    NotARepository {
        /// The folder asked about.
        dir: PathBuf,
    },

    /// The snapshot is not in the shadow directory.
    #[error(
        "snapshot {tree} is not in {}; it was never taken there or has been removed, choose another",
        shadow.display()
    )]
    UnknownSnapshot {
        /// The snapshot asked for.
        tree: SnapshotId,
        /// Where it was looked for.
        shadow: PathBuf,
    },

    /// A name that cannot stand in a ref.
    #[error(
        "{name:?} cannot name a snapshot; use letters, digits, '.', '_', '-' and '/', no part beginning with '.' or '-'"
    )]
    InvalidName {
        /// What was given.
        name: String,
    },

    /// Not a tree id.
    #[error("{text:?} is no snapshot id; give the 64 hexadecimal digits that were reported")]
    InvalidSnapshotId {
        /// What was given.
        text: String,
    },

    /// Restoring would lose bytes that no snapshot covers.
    #[error(
        "{} is not covered by snapshots and stands where the snapshot has {}; move it away and restore again (nothing was changed)",
        path.display(), wanted.display()
    )]
    UncoveredObstacle {
        /// What stands there now, relative to the workspace.
        path: PathBuf,
        /// What the snapshot holds there.
        wanted: PathBuf,
    },

    /// Something is still writing.
    #[error("{} changed while it was read; end what writes to it and try again", path.display())]
    ChangedWhileRead {
        /// The file.
        path: PathBuf,
    },

    /// The disk, or the quota, is used up.
    #[error("no space left to {doing} {}; free some space and try again", path.display())]
    DiskFull {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: PathBuf,
    },

    /// The file system said no.
    #[error("not permitted to {doing} {}; check its owner and mode, and whether the disk is read-only", path.display())]
    PermissionDenied {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: PathBuf,
    },

    /// Any other trouble with a file.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Git refused.
    #[error("git could not {doing} in {} ({status}): {message}", place.display())]
    Git {
        /// What was being done.
        doing: &'static str,
        /// The folder or git directory it was about.
        place: PathBuf,
        /// Its exit status.
        status: String,
        /// The last of what it printed.
        message: String,
    },

    /// Git did not come back.
    #[error(
        "git took more than {seconds} s to {doing} in {}; look for a pipe or a dead network mount there",
        place.display()
    )]
    GitTimeout {
        /// What was being done.
        doing: &'static str,
        /// The folder or git directory it was about.
        place: PathBuf,
        /// The limit.
        seconds: u64,
    },

    /// Git answered something that makes no sense.
    #[error(
        "unexpected answer from git while trying to {doing} in {}: {detail}; its version may be too old (2.36 or later is needed)",
        place.display()
    )]
    UnexpectedAnswer {
        /// What was being done.
        doing: &'static str,
        /// The folder or git directory it was about.
        place: PathBuf,
        /// What was wrong.
        detail: String,
    },
}

impl WorkspaceError {
    /// Sorts an error of the file system into its kind.
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

    /// Sorts a failure of git into its kind by what it printed (always in the C locale).
    pub(super) fn git(doing: &'static str, place: &Path, status: String, stderr: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stderr);
        let says = |needle: &str| text.contains(needle);
        let place = place.to_owned();
        if says("No space left on device") || says("Disk quota exceeded") {
            Self::DiskFull { doing, path: place }
        } else if says("Permission denied") || says("Read-only file system") {
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
                "it gave no reason".to_owned()
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

    /// Whether trying again cannot help before someone frees space or changes a mode.
    pub fn is_disk_or_permission(&self) -> bool {
        matches!(self, Self::DiskFull { .. } | Self::PermissionDenied { .. })
    }
}
