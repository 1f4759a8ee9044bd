//! A value that one thread changes and another waits on: how the harness synchronises, so that no
//! test has to sleep and hope. Waiting never lasts for ever: it gives up, and the test fails with
//! what was waited for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the harness waits for anything before it fails the test: far beyond what a healthy
/// program needs, even on a machine that is busy with other things.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_mins(1);

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

    /// The value as it is now. A test thread that panicked while it held the lock does not take
    /// the others down with it: all values here stay whole between any two statements.
    pub(crate) fn get(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the value and wakes whoever waits on it.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let answer = change(&mut self.get());
        self.changed.notify_all();
        answer
    }

    /// Waits until `look` finds what it looks for; `None` when `patience` ran out first.
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
