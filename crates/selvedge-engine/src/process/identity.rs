//! Who a supervisor is, in a way that outlives it: a process id alone is given out again.

use serde::{Deserialize, Serialize};

/// A process for the journal. Two are the same process only if all parts are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot; 0 where the system does not tell.
    pub start_time: u64,
    /// The boot it lives in; empty where the system does not tell.
    pub boot_id: String,
}

impl Identity {
    /// Of a process that is known to live.
    pub(super) fn of(pid: u32) -> Self {
        Self {
            pid,
            start_time: start_time(pid).unwrap_or_default(),
            boot_id: boot_id().unwrap_or_default(),
        }
    }
}

#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<u64> {
    super::proc::stat(pid.try_into().ok()?).map(|stat| stat.start_time)
}

#[cfg(not(target_os = "linux"))]
fn start_time(_pid: u32) -> Option<u64> {
    None
}

fn boot_id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}
