//! The structure of `selvedge.toml`. `default.toml` documents the keys. A key without a default is an `Option` here;
//! `default.toml` sets all others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::agent::AgentTable;
use super::check::CheckTable;
use super::values::{
    BoundedInteger, CommandLines, HumanDuration, PricePerMillion, RetryCount, UnitFraction,
    UsdAmount,
};
use crate::model::{
    BaselineMode, BetweenAttempts, OnExhausted, OnUsageLimit, Price, ProtectionPolicy,
    SandboxBackend, SandboxProfile, VoteStrategy,
};

/// A `selvedge.toml`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Config {
    pub(super) agent: String,
    #[serde(default)]
    pub(super) escalate: Vec<String>,
    pub(super) verification: VerificationTable,
    pub(super) judging: JudgingTable,
    pub(super) limits: LimitsTable,
    pub(super) budget: BudgetTable,
    pub(super) workspace: WorkspaceTable,
    pub(super) guard: GuardTable,
    pub(super) sandbox: SandboxTable,
    pub(super) environment: EnvironmentTable,
    pub(super) setup: SetupTable,
    #[serde(default)]
    pub(super) checks: Vec<CheckTable>,
    pub(super) agents: BTreeMap<String, AgentTable>,
    #[serde(default)]
    pub(super) prices: BTreeMap<String, ModelPrice>,
}

/// A model's price, in US dollars per million tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct ModelPrice {
    input: PricePerMillion,
    output: PricePerMillion,
    cache_read: Option<PricePerMillion>,
    cache_write: Option<PricePerMillion>,
}

impl From<&ModelPrice> for Price {
    fn from(configured: &ModelPrice) -> Self {
        let cached =
            |price: &Option<PricePerMillion>| price.as_ref().unwrap_or(&configured.input).0;
        Self {
            input: configured.input.0,
            output: configured.output.0,
            cache_read: cached(&configured.cache_read),
            cache_write: cached(&configured.cache_write),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct VerificationTable {
    pub(super) max_retries: RetryCount,
    pub(super) timeout: HumanDuration,
    pub(super) tier: BoundedInteger<1, 3>,
    pub(super) baseline: BaselineMode,
    pub(super) known_failures: Vec<String>,
    pub(super) known_failures_file: String,
    pub(super) rerun_failed: bool,
    pub(super) syntax: bool,
    pub(super) syntax_except: Vec<String>,
    pub(super) fail_on_unresolved_write_errors: bool,
    pub(super) machine_checks: BoundedInteger<0, 10_000>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct JudgingTable {
    pub(super) judges: Vec<String>,
    pub(super) votes: BoundedInteger<2, 9>,
    pub(super) confidence_floor: UnitFraction,
    pub(super) strategy: VoteStrategy,
    pub(super) tier2_enabled: bool,
    pub(super) tier3_enabled: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct LimitsTable {
    pub(super) timeout: HumanDuration,
    pub(super) idle_timeout: HumanDuration,
    pub(super) usage_limit: OnUsageLimit,
    pub(super) usage_limit_max_wait: HumanDuration,
    pub(super) max_turns: Option<BoundedInteger<1, 1_000_000>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct BudgetTable {
    pub(super) cost_usd: Option<UsdAmount>,
    pub(super) tokens: Option<BoundedInteger<1, { u64::MAX }>>,
    pub(super) duration: Option<HumanDuration>,
    pub(super) attempt_cost_usd: Option<UsdAmount>,
    pub(super) attempt_tokens: Option<BoundedInteger<1, { u64::MAX }>>,
    pub(super) require_cost_reporting: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct GuardTable {
    pub(super) protect: Vec<String>,
    pub(super) policy: ProtectionPolicy,
    pub(super) allow: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct WorkspaceTable {
    pub(super) snapshots: bool,
    pub(super) between_attempts: BetweenAttempts,
    pub(super) on_exhausted: OnExhausted,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct SandboxTable {
    pub(super) backend: SandboxBackend,
    pub(super) required: bool,
    pub(super) agents: SandboxProfile,
    pub(super) checks: SandboxProfile,
    pub(super) writable: Vec<String>,
    #[serde(default)]
    pub(super) grants: BTreeMap<String, Vec<String>>,
    pub(super) image: String,
    pub(super) engine_args: Vec<String>,
    pub(super) container_args: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct EnvironmentTable {
    pub(super) checks: Vec<String>,
    pub(super) secrets: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct SetupTable {
    pub(super) run: CommandLines,
    pub(super) reset: CommandLines,
    pub(super) files: Vec<String>,
    pub(super) timeout: HumanDuration,
}
