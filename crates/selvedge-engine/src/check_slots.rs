//! The slots for checks of one machine, which all runs share: more checks at once than the machine has cores would
//! slow each other down, and tests with time limits would fail. A slot is a locked file, so the kernel frees it however
//! its holder ends.
//!
//! Whoever waits longest is not overtaken by those that come later: only the holder of the queue's lock looks for a free
//! slot.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use selvedge_core::format::counted;
use tokio_util::sync::CancellationToken;

use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;

/// Environment variable of the processes of a check. A Selvedge that one of them starts needs no slot of its own: it
/// could wait for the slot of the check that waits for it.
pub const SLOT_VARIABLE: &str = "SELVEDGE_CHECK_SLOT";

/// Name of the lock file whose holder is the next to get a slot.
const QUEUE: &str = "queue";
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long a check waits before this is reported.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// The slots of all runs with the same state directory.
#[derive(Debug, Clone)]
pub struct CheckSlots {
    folder: PathBuf,
    count: usize,
}

impl CheckSlots {
    /// `count` slots; without a number, one for each core.
    pub fn new(state_dir: &Path, count: Option<NonZeroUsize>) -> Self {
        let count = count.or_else(|| std::thread::available_parallelism().ok());
        Self {
            folder: state_dir.join("locks").join("checks"),
            count: count.map_or(1, NonZeroUsize::get),
        }
    }

    /// Waits for a free slot. Returns `None` if files cannot be locked here: then there is no limit.
    ///
    /// # Errors
    /// [`CheckError::Cancelled`] if the run is being stopped.
    pub(crate) async fn acquire(
        &self,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Option<CheckSlot>, CheckError> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut queue = None;
        let mut is_announced = false;
        loop {
            match self.try_acquire(&mut queue) {
                Ok(None) => {}
                Ok(slot) => return Ok(slot),
                Err(_) => return Ok(None),
            }
            if !is_announced && began.elapsed() >= SILENT_WAIT {
                let others = counted(self.count as u64, "other check");
                let note = format!("waiting for {others} on this machine");
                progress.on_activity(Activity::Note(note));
                is_announced = true;
            }
            let paused = cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
            if paused.is_none() {
                return Err(CheckError::Cancelled);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Takes the first free slot, if it is this check's turn.
    fn try_acquire(&self, queue: &mut Option<CheckSlot>) -> io::Result<Option<CheckSlot>> {
        if queue.is_none() {
            *queue = self.try_lock(QUEUE)?;
        }
        if queue.is_none() {
            return Ok(None);
        }
        for number in 1..=self.count {
            if let Some(slot) = self.try_lock(&number.to_string())? {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    fn try_lock(&self, name: &str) -> io::Result<Option<CheckSlot>> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join(name))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(CheckSlot(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A locked file, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct CheckSlot(File);

impl Drop for CheckSlot {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that was just forked shares it until it executes its program.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::NullProgress;

    fn one_slot(state: &Path) -> CheckSlots {
        CheckSlots::new(state, NonZeroUsize::new(1))
    }

    #[tokio::test]
    async fn check_slots_are_free_again_when_their_holder_is_gone() {
        let state = tempfile::tempdir().unwrap();
        let never = CancellationToken::new();
        let (one, other) = (one_slot(state.path()), one_slot(state.path()));
        let held = one.acquire(&NullProgress, &never).await.unwrap();
        assert!(held.is_some());
        let waiting = other.acquire(&NullProgress, &never);
        tokio::pin!(waiting);
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(held);
        assert!(waiting.await.unwrap().is_some());
    }

    #[tokio::test]
    async fn check_slots_are_not_waited_for_by_a_run_that_is_stopped() {
        let state = tempfile::tempdir().unwrap();
        let slots = one_slot(state.path());
        let never = CancellationToken::new();
        let _held = slots.acquire(&NullProgress, &never).await.unwrap();
        let stopped = CancellationToken::new();
        stopped.cancel();
        let waited = slots.acquire(&NullProgress, &stopped).await;
        assert!(matches!(waited, Err(CheckError::Cancelled)));
    }

    #[tokio::test]
    async fn check_slots_without_a_folder_are_no_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let slots = one_slot(file.path());
        let never = CancellationToken::new();
        let slot = slots.acquire(&NullProgress, &never).await.unwrap();
        assert!(slot.is_none());
    }
}
