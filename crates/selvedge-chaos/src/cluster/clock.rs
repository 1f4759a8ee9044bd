//! The one clock of a round.

use rustix::time::{ClockId, clock_gettime};

/// Microseconds of the machine's monotonic clock.
pub fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let us = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
    u64::try_from(us).unwrap_or(0)
}
