//! The lock that shows whether a process tree is alive. A supervisor holds it shared until its tree
//! is gone; the kernel releases it however the supervisor dies. Getting the lock exclusively proves
//! that the tree is dead, with one exception: if the supervisor itself was killed,
//! [`kill_session_processes`](super::kill_session_processes) must follow.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use tokio::time::Instant;

/// Whether anything still holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Liveness {
    /// The lock is free.
    Dead,
    /// The lock was still held at the end of the timeout.
    Alive,
}

/// Takes a shared lock, held until the file is dropped. Children do not inherit it.
pub(super) fn hold_shared(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    retry_interrupted(|| rustix::fs::flock(&file, FlockOperation::LockShared))?;
    Ok(file)
}

/// Waits up to `timeout` until no supervisor holds the lock on this file. A missing file was never
/// locked.
///
/// # Errors
///
/// When the file cannot be opened or does not support locks.
pub async fn wait_until_dead(lock_file: &Path, timeout: Duration) -> io::Result<Liveness> {
    let file = match File::open(lock_file) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Liveness::Dead),
        Err(error) => return Err(error),
    };
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_millis(1);
    loop {
        match retry_interrupted(|| {
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
        }) {
            Ok(()) => return Ok(Liveness::Dead),
            Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return Ok(Liveness::Alive),
            Err(Errno::WOULDBLOCK) => tokio::time::sleep(pause).await,
            Err(errno) => return Err(errno.into()),
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn retry_interrupted(mut call: impl FnMut() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(&mut call)
}
