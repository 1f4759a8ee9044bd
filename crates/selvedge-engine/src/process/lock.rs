//! The lock that says "something of this tree lives". A supervisor holds it shared until its tree
//! is gone; the kernel releases it however the supervisor dies. Whoever can have it exclusively
//! has proved the tree dead, but for one case: the supervisor itself was killed, and then
//! [`sweep`](super::sweep) must follow.

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
    /// Nobody holds it.
    Dead,
    /// Somebody still held it when the time was up.
    Alive,
}

/// Takes the lock shared; it is held until the file is dropped. Children do not inherit it.
pub(super) fn hold_shared(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    retry_interrupted(|| rustix::fs::flock(&file, FlockOperation::LockShared))?;
    Ok(file)
}

/// Waits until no supervisor holds the lock on this file, up to `timeout`. A file that is missing
/// was never locked.
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
