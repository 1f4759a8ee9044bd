//! The clock of leases: reads the system clock once at the start and adds the elapsed monotonic time, so that
//! setting the system clock cannot expire a lease.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub(super) struct StoreClock {
    began_at: i64,
    began: Instant,
}

impl StoreClock {
    pub(super) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began_at: since.map_or(0, |since| millis(since.as_millis())),
            began: Instant::now(),
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        self.began_at
            .saturating_add(millis(self.began.elapsed().as_millis()))
    }
}

fn millis(count: u128) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
