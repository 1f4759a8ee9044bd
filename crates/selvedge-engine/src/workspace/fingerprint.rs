//! A file's metadata, precise enough to detect a change of its bytes without reading it. Git's stat cache compares
//! whole seconds unless it is built otherwise, so it can miss a write of a fast agent that restores old times
//! (`cp -p`).

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Minimum age of a change for which a fingerprint is reliable. Clocks of file systems are coarse (2 s on FAT), and a
/// write right after the file was read could leave the same times.
const SETTLED_AFTER: Duration = Duration::from_secs(2);
/// The same where times have fractions of a second: they are set at ticks of the kernel, of at most 10 ms.
const PRECISE_SETTLED_AFTER: Duration = Duration::from_millis(200);

const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
const PERMISSIONS: u32 = 0o777;

/// Metadata of a file or link from `lstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) inode: u64,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    /// The change time, which the kernel sets and no program can change.
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

    /// Returns the permission bits of a file; a link has none.
    pub(super) fn permissions(&self) -> u32 {
        self.mode & PERMISSIONS
    }

    /// Returns whether the bytes are unchanged. The change time is ignored, because removing one of a file's names
    /// (hard links) sets it.
    pub(super) fn has_same_bytes(&self, other: &Self) -> bool {
        let bytes = |fingerprint: &Self| {
            (
                fingerprint.mode & KIND,
                fingerprint.size,
                fingerprint.inode,
                fingerprint.modified,
            )
        };
        bytes(self) == bytes(other)
    }

    /// Returns whether a write after `now` would change the times.
    pub(super) fn is_settled_at(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let is_precise = nanoseconds != 0;
        let age = if is_precise {
            PRECISE_SETTLED_AFTER
        } else {
            SETTLED_AFTER
        };
        let horizon = now
            .checked_sub(age)
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .and_then(|time| i64::try_from(time.as_nanos()).ok());
        let changed = seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds);
        horizon.is_some_and(|horizon| changed < horizon)
    }
}
