//! The clock that all observations of a round use.

use rustix::time::{ClockId, clock_gettime};

/// Returns the machine's monotonic clock in microseconds.
pub fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let us = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
    u64::try_from(us).unwrap_or(0)
}
