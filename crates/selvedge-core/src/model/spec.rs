//! A resolved task: everything that the loop depends on, immutable in the journal before it begins.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::AgentKind;
use super::environment::EnvironmentSpec;
use super::finding::ProtectionRule;
use super::gate::JudgingSpec;
use super::ids::{RunId, TaskId, TreeId};
use super::known_failures::KnownFailures;
use super::money::{MicroUsd, Price};
use super::sandbox::SandboxSpec;
use super::setup::SetupSpec;
use super::task::Step;
use super::usage_limit::UsageLimitPolicy;

/// A resolved agent: its program and configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSpec {
    /// Its name in the configuration.
    pub name: String,
    /// The interface of the agent.
    pub kind: AgentKind,
    /// Program and leading arguments; for `shell` the whole argv of the task's own command.
    #[serde(default)]
    pub program: Vec<String>,
    /// The model, if the agent supports a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reasoning effort of the model, in the agent's terms, if it supports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Maximum number of model turns in a session; takes precedence over the run's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The user's price of the model, which takes precedence over the price list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Base URL of the model server, if the agent supports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variables set for the agent, in addition to the permitted ones of our own environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables that the agent gets from our own environment: its variable's name on the left, ours on the right. Only
    /// names, so that no secret is written to the journal; values are looked up when a session starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_from: BTreeMap<String, String>,
    /// Retries of the model's API inside the executor.
    #[serde(default)]
    pub api_retries: u32,
    /// Whether the same prompt always has the same result, so that a retry would change nothing: a shell task, or a
    /// result that another program has left.
    #[serde(default)]
    pub deterministic: bool,
    /// Whether a `command` agent gets its prompt as the last argument instead of on stdin.
    #[serde(default)]
    pub prompt_as_argument: bool,
    /// Whether a repository's file sets the server: then it only receives keys that the user's own settings give to
    /// this agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_by_repository: bool,
}

/// Two time limits and a turn limit for each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLimits {
    /// Maximum duration in milliseconds.
    pub wall_ms: u64,
    /// Maximum time without output, in milliseconds.
    #[serde(rename = "silence_ms")]
    pub idle_timeout_ms: u64,
    /// Maximum number of model turns, if the agent supports such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// Limits for the whole run, and for each of its attempts; absent means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// Cost of all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// Input and output tokens of all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Duration of the sessions and verifications of all attempts, in milliseconds.
    #[serde(rename = "wall_ms", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Cost of each attempt's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_cost_micro_usd: Option<MicroUsd>,
    /// Input and output tokens of each attempt's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_tokens: Option<u64>,
}

impl Budget {
    /// These limits; absent ones are taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            cost_micro_usd: self.cost_micro_usd.or(other.cost_micro_usd),
            tokens: self.tokens.or(other.tokens),
            duration_ms: self.duration_ms.or(other.duration_ms),
            attempt_cost_micro_usd: self.attempt_cost_micro_usd.or(other.attempt_cost_micro_usd),
            attempt_tokens: self.attempt_tokens.or(other.attempt_tokens),
        }
    }

    /// These limits, none of them above that of `ceiling`; absent ones are taken from it.
    #[must_use]
    pub fn within(self, ceiling: Self) -> Self {
        fn lower<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            }
        }
        Self {
            cost_micro_usd: lower(self.cost_micro_usd, ceiling.cost_micro_usd),
            tokens: lower(self.tokens, ceiling.tokens),
            duration_ms: lower(self.duration_ms, ceiling.duration_ms),
            attempt_cost_micro_usd: lower(
                self.attempt_cost_micro_usd,
                ceiling.attempt_cost_micro_usd,
            ),
            attempt_tokens: lower(self.attempt_tokens, ceiling.attempt_tokens),
        }
    }
}

/// How the tree is treated between two attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BetweenAttempts {
    /// The next attempt continues with the changes.
    #[default]
    Keep,
    /// Every attempt begins from the first one's tree.
    Rollback,
}

/// The final tree if the attempts are exhausted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The attempt with the most passing checks.
    #[default]
    Best,
    /// The last attempt's.
    Last,
    /// The tree from which the run began.
    Original,
}

/// Whether the checks are run once before the agent begins, as configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    /// If there are snapshots, so that the result can be cached, and the agent is not a shell command.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never: earlier failures count against the agent, and missing tests are not noticed.
    Off,
}

/// Who votes in tier 3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VoteStrategy {
    /// Several judges about one result.
    #[default]
    Judges,
    /// Several executions of the task, of which one is selected.
    BestOfN,
}

/// The checks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum VerificationPlan {
    /// These steps must pass.
    Steps {
        /// The steps in this order; all of them always run.
        steps: Vec<Step>,
    },
    /// Switched off by the user: the report is `skip`.
    Skip,
    /// Nothing to check: the report is `auto_pass`.
    AutoPass,
}

/// The subtask of a plan that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentPlan {
    /// The plan's own run.
    pub plan: RunId,
    /// The subtask in it.
    pub subtask: String,
}

/// Rules for the syntax check of changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SyntaxRules {
    /// Globs of files that need not parse.
    pub except: Vec<String>,
}

/// Everything that the loop depends on. Immutable: nothing of it is read again from the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSpec {
    /// The task.
    pub task_id: TaskId,
    /// The plan that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<ParentPlan>,
    /// The task's description, verbatim.
    pub description: String,
    /// The acceptance criteria, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// The workspace, absolute and resolved.
    pub workspace: PathBuf,
    /// The repository that the workspace is a clone or a copy of, by which statistics are grouped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The agent of the first attempt.
    pub agent: AgentSpec,
    /// The agents of the first retry, the second, …; the last one is reused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<AgentSpec>,
    /// The checks.
    pub verification: VerificationPlan,
    /// The judging after the checks pass; absent for tier 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<JudgingSpec>,
    /// Attempts beyond the first, 0 to [`RunSpec::MAX_RETRIES`].
    pub max_verification_retries: u32,
    /// Time limit of each verification, in milliseconds; every verification starts with the full time.
    pub verification_timeout_ms: u64,
    /// Limits of each session.
    pub limits: SessionLimits,
    /// Reaction when the usage limit of an agent's subscription is reached.
    #[serde(default)]
    pub usage_limit: UsageLimitPolicy,
    /// Limits for the whole run.
    #[serde(default)]
    pub budget: Budget,
    /// How the tree is treated between attempts.
    #[serde(default)]
    pub between_attempts: BetweenAttempts,
    /// The final tree if the attempts are exhausted.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
    /// Whether the checks are run once before the agent begins.
    #[serde(default)]
    pub baseline: bool,
    /// Tests that may fail.
    #[serde(default)]
    pub known_failures: KnownFailures,
    /// Whether a failed check is run again, to distinguish flaky checks from failures.
    #[serde(default)]
    pub rerun_failed: bool,
    /// Whether the files that an attempt changed must parse, and which of them need not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<SyntaxRules>,
    /// Whether an unresolved write error of the agent fails the attempt.
    #[serde(default, rename = "tool_calls")]
    pub fail_on_unresolved_write_errors: bool,
    /// Files that the task may not change, with the action if it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<ProtectionRule>,
    /// Globs of protected files that the task may change nevertheless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Test changes that the task asks for: globs of files, and ids of tests as in reports. They keep the attempt's
    /// content; all other tests run as they were before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect_test_changes: Vec<String>,
    /// The tree whose tests judge the work, if it is not the tree from which the run begins: the start of the plan, for
    /// later subtasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_base: Option<TreeId>,
    /// Whether snapshots are taken: the workspace is in a git repository, and they are not disabled.
    pub snapshots: bool,
    /// Sandbox of sessions and checks.
    #[serde(default)]
    pub sandbox: SandboxSpec,
    /// Variables of our own environment for checks, and secret ones, in addition to the defaults.
    #[serde(default, skip_serializing_if = "EnvironmentSpec::is_default")]
    pub environment: EnvironmentSpec,
    /// Commands that install dependencies and reset state for checks.
    #[serde(default, skip_serializing_if = "SetupSpec::is_empty")]
    pub setup: SetupSpec,
    /// The version of the program that created this.
    pub selvedge_version: String,
}

impl AgentSpec {
    /// Whether it is a session that its user started, and that only the user can continue.
    pub fn is_user_session(&self) -> bool {
        self.kind == AgentKind::External && !self.deterministic
    }
}

impl RunSpec {
    /// The upper limit of `max_verification_retries`: after five corrections, a person is needed.
    pub const MAX_RETRIES: u32 = 5;

    /// Maximum number of attempts that count against the retry limit.
    pub fn max_attempts(&self) -> u32 {
        self.max_verification_retries.min(Self::MAX_RETRIES) + 1
    }

    /// The agent of a retry; 0 is the first attempt.
    pub fn agent_of(&self, retry: u32) -> &AgentSpec {
        let retry = usize::try_from(retry).unwrap_or(usize::MAX);
        let last = self.escalation.len().min(retry);
        let taken_over = last.checked_sub(1).and_then(|at| self.escalation.get(at));
        taken_over.unwrap_or(&self.agent)
    }

    /// All agents, in order.
    pub fn agents(&self) -> impl Iterator<Item = &AgentSpec> {
        std::iter::once(&self.agent).chain(&self.escalation)
    }

    /// Whether the same prompt would have the same result.
    pub fn is_deterministic(&self) -> bool {
        self.agents().all(|agent| agent.deterministic)
    }

    /// The steps, if there are any to run.
    pub fn steps(&self) -> &[Step] {
        match &self.verification {
            VerificationPlan::Steps { steps } => steps,
            VerificationPlan::Skip | VerificationPlan::AutoPass => &[],
        }
    }
}
