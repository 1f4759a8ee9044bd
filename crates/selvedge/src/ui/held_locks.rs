//! Which runs are at work right now. Their directories are locked, with the run's name in the lock;
//! the lock is not tried, because a run that begins just then would find it taken: the kernel is
//! asked who holds it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Locks that are held on this machine, as far as can be known.
pub(super) struct HeldLocks {
    /// Inodes that are locked; absent where the kernel does not say.
    locked: Option<Vec<u64>>,
}

impl HeldLocks {
    /// As it is now.
    pub(super) fn read_current() -> Self {
        let locks = fs::read_to_string("/proc/locks").ok();
        Self {
            locked: locks.as_deref().map(locked_inodes),
        }
    }

    /// Which run holds the lock of a directory, by the lock's own file.
    pub(super) fn holder_of(&self, lock: &Path) -> Option<String> {
        let inode = fs::metadata(lock).ok()?.ino();
        // What a program that was killed left in the file holds nothing.
        let held = self.locked.as_ref().is_none_or(|all| all.contains(&inode));
        let run = fs::read_to_string(lock).ok()?;
        (held && !run.is_empty()).then_some(run)
    }
}

/// Of lines such as `1: FLOCK  ADVISORY  WRITE 4242 fe:01:1234 0 EOF`.
fn locked_inodes(locks: &str) -> Vec<u64> {
    let place = |line: &str| {
        let places = line
            .split_whitespace()
            .find(|word| word.matches(':').count() == 2);
        places?.rsplit(':').next()?.parse().ok()
    };
    locks.lines().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_known_by_the_kernel_and_not_by_what_was_left_in_its_file() {
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
