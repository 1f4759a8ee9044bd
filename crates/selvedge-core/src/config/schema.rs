//! The shape of `selvedge.toml`. What the keys mean is said once, in `default.toml`; every key
//! without a default is an `Option` here, every other one is set by `default.toml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::agent::Agent;
use super::check::Check;
use super::values::{CommandLines, Dollars, HumanDuration, PerMillion, Retries, Share, Whole};
use crate::guard::Policy;
use crate::model::{Backend, BaselineMode, BetweenAttempts, OnExhausted, Profile, VoteMode};
use crate::price::Price;

/// A `selvedge.toml`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Config {
    pub(super) agent: String,
    #[serde(default)]
    pub(super) escalate: Vec<String>,
    pub(super) verification: Verification,
    pub(super) judging: Judging,
    pub(super) limits: Limits,
    pub(super) budget: Budget,
    pub(super) workspace: Workspace,
    pub(super) guard: Guard,
    pub(super) sandbox: Sandbox,
    pub(super) environment: Environment,
    pub(super) setup: Setup,
    #[serde(default)]
    pub(super) checks: Vec<Check>,
    pub(super) agents: BTreeMap<String, Agent>,
    #[serde(default)]
    pub(super) prices: BTreeMap<String, ModelPrice>,
}

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct ModelPrice {
    input: PerMillion,
    output: PerMillion,
    cache_read: Option<PerMillion>,
    cache_write: Option<PerMillion>,
}

impl From<&ModelPrice> for Price {
    fn from(told: &ModelPrice) -> Self {
        let cached = |price: &Option<PerMillion>| price.as_ref().unwrap_or(&told.input).0;
        Self {
            input: told.input.0,
            output: told.output.0,
            cache_read: cached(&told.cache_read),
            cache_write: cached(&told.cache_write),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Verification {
    pub(super) max_retries: Retries,
    pub(super) timeout: HumanDuration,
    pub(super) tier: Whole<1, 3>,
    pub(super) baseline: BaselineMode,
    pub(super) known_failures: Vec<String>,
    pub(super) known_failures_file: String,
    pub(super) rerun_failed: bool,
    pub(super) syntax: bool,
    pub(super) syntax_except: Vec<String>,
    pub(super) tool_calls: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Judging {
    pub(super) judges: Vec<String>,
    pub(super) votes: Whole<2, 9>,
    pub(super) confidence_floor: Share,
    pub(super) mode: VoteMode,
    pub(super) tier2_enabled: bool,
    pub(super) tier3_enabled: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Limits {
    pub(super) timeout: HumanDuration,
    pub(super) silence: HumanDuration,
    pub(super) max_turns: Option<Whole<1, 1_000_000>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Budget {
    pub(super) cost_usd: Option<Dollars>,
    pub(super) tokens: Option<Whole<1, { u64::MAX }>>,
    pub(super) wall: Option<HumanDuration>,
    pub(super) attempt_cost_usd: Option<Dollars>,
    pub(super) attempt_tokens: Option<Whole<1, { u64::MAX }>>,
    pub(super) strict: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Guard {
    pub(super) protect: Vec<String>,
    pub(super) policy: Policy,
    pub(super) allow: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Workspace {
    pub(super) snapshots: bool,
    pub(super) between_attempts: BetweenAttempts,
    pub(super) on_exhausted: OnExhausted,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Sandbox {
    pub(super) backend: Backend,
    pub(super) required: bool,
    pub(super) agents: Profile,
    pub(super) checks: Profile,
    pub(super) writable: Vec<String>,
    pub(super) image: String,
    pub(super) engine_args: Vec<String>,
    pub(super) container_args: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Environment {
    pub(super) checks: Vec<String>,
    pub(super) secrets: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct Setup {
    pub(super) run: CommandLines,
    pub(super) reset: CommandLines,
    pub(super) files: Vec<String>,
    pub(super) timeout: HumanDuration,
}
