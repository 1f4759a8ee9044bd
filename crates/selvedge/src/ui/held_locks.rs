//! Finds the runs that are running now: their directories are locked, and the lock file contains the run's id. Trying
//! to take the lock could make a run that is just starting fail, so the kernel's list of locks is read instead.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The locks held on this machine, as far as they can be determined.
pub(super) struct HeldLocks {
    /// Locked inodes; `None` if the kernel does not list them.
    locked: Option<Vec<u64>>,
}

impl HeldLocks {
    pub(super) fn read_current() -> Self {
        let locks = fs::read_to_string("/proc/locks").ok();
        Self {
            locked: locks.as_deref().map(locked_inodes),
        }
    }

    /// The run that holds a directory's lock, given the lock file.
    pub(super) fn holder_of(&self, lock: &Path) -> Option<String> {
        let inode = fs::metadata(lock).ok()?.ino();
        // The contents may be left over from a killed process.
        let held = self.locked.as_ref().is_none_or(|all| all.contains(&inode));
        let run = fs::read_to_string(lock).ok()?;
        (held && !run.is_empty()).then_some(run)
    }
}

/// Parses lines such as `1: FLOCK  ADVISORY  WRITE 4242 fe:01:1234 0 EOF`.
fn locked_inodes(locks: &str) -> Vec<u64> {
    let parse_inode = |line: &str| {
        let device_and_inode = line
            .split_whitespace()
            .find(|word| word.matches(':').count() == 2);
        device_and_inode?.rsplit(':').next()?.parse().ok()
    };
    locks.lines().filter_map(parse_inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_lock_is_read_from_kernel() {
        assert_eq!(
            locked_inodes("1: FLOCK  ADVISORY  WRITE 4242 fe:01:1234 0 EOF\n2: -> POSIX x\n"),
            [1234]
        );
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        fs::write(&path, "0190").unwrap();
        let file = fs::File::open(&path).unwrap();
        if HeldLocks::read_current().locked.is_some() {
            assert_eq!(HeldLocks::read_current().holder_of(&path), None);
        }
        file.lock().unwrap();
        assert_eq!(
            HeldLocks::read_current().holder_of(&path).as_deref(),
            Some("0190")
        );
    }
}
