//! How one hub behaves: what it fills into tasks, what it allows, and its limits.

use std::time::Duration;

use selvedge_core::lease::LeaseRules;
use selvedge_core::model::{AgentKind, Budget, StepKind};
use selvedge_core::protocol::LeaseTiming;

/// What a task gets that says nothing itself, and what it may ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDefaults {
    /// Attempts beyond the first.
    pub max_verification_retries: u32,
    /// 1 to 3.
    pub verification_tier: Option<u8>,
    /// Caps for a whole run.
    pub budget: Option<Budget>,
    /// Agents that a task may name.
    pub agents: Vec<String>,
    /// Kinds of checks that a task may bring.
    pub checks: Vec<StepKind>,
}

impl Default for TaskDefaults {
    fn default() -> Self {
        let built_in = AgentKind::ALL.map(|kind| kind.name().to_owned());
        Self {
            max_verification_retries: 0,
            verification_tier: None,
            budget: None,
            agents: Vec::from(built_in),
            checks: vec![
                StepKind::Command,
                StepKind::TestPasses,
                StepKind::FileExists,
                StepKind::GitClean,
                StepKind::Plugin,
            ],
        }
    }
}

/// All of it.
#[derive(Debug, Clone)]
pub struct HubSettings {
    /// What it calls itself to workers.
    pub name: String,
    /// How long leases last.
    pub timing: LeaseTiming,
    /// What tasks get and may ask for.
    pub defaults: TaskDefaults,
    /// Names under which it may be asked for (`Host`), with ports where a client names one.
    pub hosts: Vec<String>,
    /// Whether browsers reach it over TLS, here or at a proxy.
    pub https: bool,
    /// Bytes of a body that is no chunk of a blob.
    pub body_limit: usize,
    /// Bytes of a blob.
    pub blob_limit: u64,
    /// Connections at a time.
    pub connections: usize,
    /// Requests a second that one token may make, over a burst of twice as many.
    pub requests_per_second: u32,
    /// How long a client may take over its head, or its body.
    pub patience: Duration,
    /// How long journals, files and blobs of finished tasks stay.
    pub retention: Duration,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            name: "hub".to_owned(),
            timing: LeaseTiming::default(),
            defaults: TaskDefaults::default(),
            hosts: Vec::new(),
            https: false,
            body_limit: 1024 * 1024,
            blob_limit: 1024 * 1024 * 1024,
            connections: 4_096,
            requests_per_second: 500,
            patience: Duration::from_secs(20),
            retention: Duration::from_hours(30 * 24),
        }
    }
}

impl HubSettings {
    /// The periods of leases as the store keeps them.
    pub fn rules(&self) -> LeaseRules {
        let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX / 4);
        let ttl_ms = millis(self.timing.ttl());
        LeaseRules {
            ttl_ms,
            grace_ms: millis(self.timing.reassign_after()) - ttl_ms,
            offer_ms: millis(self.timing.offer_timeout()),
            ..LeaseRules::default()
        }
    }
}
