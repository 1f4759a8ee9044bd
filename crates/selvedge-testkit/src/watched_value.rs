//! A value that one thread changes and another waits for. The harness synchronizes this way, so that no
//! test depends on sleeps. Every wait has a timeout, and the test then fails with a description of what
//! did not happen.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the harness waits before it fails the test: far longer than a healthy program needs, even
/// on a machine that is busy with other tests.
pub const WAIT_TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Debug, Default)]
pub(crate) struct WatchedValue<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> WatchedValue<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Condvar::new(),
        }
    }

    /// Returns the current value. Poisoning is ignored, so that a thread that panics while it holds the
    /// lock does not fail the others: every value is valid between any two statements.
    pub(crate) fn get(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the value and wakes the threads that wait for it.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let answer = change(&mut self.get());
        self.changed.notify_all();
        answer
    }

    /// Waits until `look` returns a value; `None` if `patience` runs out first.
    pub(crate) fn wait_for<R>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&T) -> Option<R>,
    ) -> Option<R> {
        let mut found = None;
        let (_guard, _timeout) = self
            .changed
            .wait_timeout_while(self.get(), patience, |value| {
                found = look(value);
                found.is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        found
    }
}
