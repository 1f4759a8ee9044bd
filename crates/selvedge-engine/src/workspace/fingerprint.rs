//! What the file system says about a file without its being read, precise enough to tell that its
//! bytes are still the ones read before. Git's own stat cache compares whole seconds unless it was
//! built otherwise, which a fast agent that copies old times (`cp -p`) can slip through.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How old a change must be before a fingerprint vouches for the bytes: clocks of file systems are
/// coarse (2 s on FAT), and a write right after the reading would leave the same times.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
const PERMISSIONS: u32 = 0o777;

/// A file or link as `lstat` sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) inode: u64,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    /// The time the kernel sets itself, which no program can turn back.
    pub(super) changed: (i64, i64),
}

impl FileFingerprint {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            mode: metadata.mode(),
            size: metadata.size(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & KIND == LINK
    }

    /// The permission bits of a file; a link has none of its own.
    pub(super) fn permissions(&self) -> u32 {
        self.mode & PERMISSIONS
    }

    /// Whether the bytes are still the same ones. The time of change is no part of this: removing one
    /// of a file's names (hard links) sets it.
    pub(super) fn has_same_bytes(&self, other: &Self) -> bool {
        let bytes = |print: &Self| (print.mode & KIND, print.size, print.inode, print.modified);
        bytes(self) == bytes(other)
    }

    /// Whether a write after `now` would be seen in the times.
    pub(super) fn is_settled_at(&self, now: SystemTime) -> bool {
        let horizon = now
            .checked_sub(SETTLED_AFTER)
            .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let horizon = horizon
            .and_then(|t| i64::try_from(t.as_secs()).ok())
            .unwrap_or(i64::MIN);
        self.changed.0 < horizon
    }
}
