//! Settings of a hub: defaults for tasks, what tasks may request, and limits.

use std::time::Duration;

use selvedge_core::model::{AgentKind, Budget, PRECONFIGURED_PROGRAMS, StepKind};
use selvedge_core::route::EXTERNAL_AGENT;
use selvedge_protocol::LeaseTiming;
use selvedge_protocol::lease::LeaseRules;

use crate::object_storage::ObjectStorage;
use crate::oidc::OidcSettings;
use crate::session::QuarantineRules;

/// Maximum delay after a task's first infrastructure failure.
const MAX_INFRA_BACKOFF: Duration = Duration::from_hours(24);

/// Defaults for tasks, and what tasks may request.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDefaults {
    /// Maximum number of attempts after the first one.
    pub max_verification_retries: u32,
    /// The tier, from 1 to 3.
    pub verification_tier: Option<u8>,
    /// Budget of a whole run.
    pub budget: Option<Budget>,
    /// Agents that a task may request.
    pub agents: Vec<String>,
    /// Kinds of checks that a task may contain.
    pub checks: Vec<StepKind>,
}

impl Default for TaskDefaults {
    fn default() -> Self {
        let kinds = AgentKind::ALL.into_iter().map(AgentKind::name);
        let others = PRECONFIGURED_PROGRAMS.into_iter().chain([EXTERNAL_AGENT]);
        let built_in = kinds.chain(others).map(str::to_owned);
        Self {
            max_verification_retries: 0,
            verification_tier: None,
            budget: None,
            agents: built_in.collect(),
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

/// The settings of a hub.
#[derive(Debug, Clone)]
pub struct HubSettings {
    /// The hub's name, as reported to workers.
    pub name: String,
    /// Periods of leases.
    pub timing: LeaseTiming,
    /// Defaults for tasks, and what tasks may request.
    pub defaults: TaskDefaults,
    /// Accepted host names (`Host` header), with a port if clients send one.
    pub hosts: Vec<String>,
    /// Whether browsers use TLS, to the hub or to a proxy.
    pub https: bool,
    /// Maximum size in bytes of a request body that is not a chunk of a blob.
    pub body_limit: usize,
    /// Maximum size of a blob in bytes.
    pub blob_limit: u64,
    /// Maximum number of concurrent connections.
    pub connections: usize,
    /// Maximum requests per second for one token; the burst is twice as large.
    pub requests_per_second: u32,
    /// How long a client may take to send its request head, or its body.
    pub patience: Duration,
    /// The URL at which users reach the hub, without a slash at its end; by default the first of `hosts`.
    pub public_url: Option<String>,
    /// Whether webhooks may be sent to private addresses, and without encryption.
    pub webhooks_allow_private: bool,
    /// The pause after the first failed try of a webhook; the next ones are longer.
    pub webhook_retry: Duration,
    /// How long journals, files and blobs of finished tasks are kept.
    pub retention: Duration,
    /// How long entries of the audit log are kept; at least 30 days.
    pub audit_retention: Duration,
    /// How long a session of the dashboard lasts without use.
    pub session_idle_timeout: Duration,
    /// How long a session of the dashboard lasts at most.
    pub session_lifetime: Duration,
    /// Where people sign in, instead of with a token.
    pub oidc: Option<OidcSettings>,
    /// Whether the submitter of a task may not review it.
    pub forbid_self_review: bool,
    /// Delay after a task's first infrastructure failure; doubled with each further one.
    pub infra_backoff: Duration,
    /// How often a task is assigned again after lost leases and infrastructure failures.
    pub infra_retries: u32,
    /// When workers are quarantined.
    pub quarantine: QuarantineRules,
    /// The store for files of tasks; the database if absent.
    pub objects: Option<ObjectStorage>,
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
            public_url: None,
            webhooks_allow_private: false,
            webhook_retry: Duration::from_secs(5),
            retention: Duration::from_hours(30 * 24),
            audit_retention: Duration::from_hours(730 * 24),
            session_idle_timeout: Duration::from_hours(12),
            session_lifetime: Duration::from_hours(7 * 24),
            oidc: None,
            forbid_self_review: false,
            infra_backoff: Self::DEFAULT_INFRA_BACKOFF,
            infra_retries: LeaseRules::default().max_losses,
            quarantine: QuarantineRules::default(),
            objects: None,
        }
    }
}

impl HubSettings {
    /// 1 min.
    pub const DEFAULT_INFRA_BACKOFF: Duration = Duration::from_mins(1);

    /// The URL at which users reach the hub.
    pub(crate) fn public_url(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| {
            let host = self.hosts.first().map_or("localhost", String::as_str);
            format!("{scheme}://{host}")
        })
    }

    /// The periods of leases for the store.
    pub fn rules(&self) -> LeaseRules {
        let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX / 4);
        let ttl_ms = millis(self.timing.ttl());
        LeaseRules {
            ttl_ms,
            grace_ms: millis(self.timing.reassign_after()) - ttl_ms,
            offer_ms: millis(self.timing.offer_timeout()),
            backoff_ms: millis(self.infra_backoff.min(MAX_INFRA_BACKOFF)),
            max_losses: self.infra_retries,
            ..LeaseRules::default()
        }
    }
}
