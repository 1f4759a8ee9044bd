//! Shares work on many files among a few threads. Where a thread cannot be started, the others do its work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

const MAX_THREADS: usize = 4;
/// Number of items that a thread takes at once.
const SHARE: usize = 32;

/// Calls `work` for each item, and returns the results in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let shares: Vec<&[T]> = items.chunks(SHARE).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(shares.len()));
    let take_shares = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = shares.get(index) else {
                return;
            };
            let results: Vec<R> = share.iter().map(&work).collect();
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((index, results));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let others = cores.min(MAX_THREADS).min(shares.len()).saturating_sub(1);
    thread::scope(|scope| {
        for _ in 0..others {
            let _ = thread::Builder::new().spawn_scoped(scope, take_shares);
        }
        take_shares();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

/// Calls both functions at the same time.
pub(crate) fn join<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, &one);
        let other = other();
        let one_result = spawned.ok().and_then(|thread| thread.join().ok());
        (one_result.unwrap_or_else(&one), other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_returns_all_results_in_order() {
        for count in [0, 1, SHARE, 10 * SHARE + 1] {
            let items: Vec<usize> = (0..count).collect();
            let expected: Vec<usize> = items.iter().map(|it| it * 2).collect();
            assert_eq!(map(&items, |it| it * 2), expected);
        }
    }
}
