//! Limits of an agent's subscription: reached until a time, independent of the task.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit that an agent reported when its session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageLimit {
    /// When the agent can work again.
    pub resets_at: Timestamp,
    /// When it reported that.
    pub reported_at: Timestamp,
}

impl UsageLimit {
    /// The time until the reset, in milliseconds.
    pub fn wait_ms(&self) -> u64 {
        let wait = self.resets_at.duration_since(self.reported_at);
        u64::try_from(wait.as_millis()).unwrap_or_default()
    }
}

/// Reaction of a run to such a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnUsageLimit {
    /// It waits until the limit is reset, then begins a fresh session.
    #[default]
    Wait,
    /// It is suspended and can be resumed.
    Stop,
}

/// Reaction of a run to such a limit, and how long it waits at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UsageLimitPolicy {
    /// The action.
    pub action: OnUsageLimit,
    /// The longest wait, in milliseconds; a run that would have to wait longer is suspended.
    pub max_wait_ms: u64,
}

impl Default for UsageLimitPolicy {
    fn default() -> Self {
        Self {
            action: OnUsageLimit::Wait,
            max_wait_ms: 6 * 60 * 60 * 1000,
        }
    }
}
