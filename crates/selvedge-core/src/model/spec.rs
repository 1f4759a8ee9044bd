//! A task resolved: everything that the loop depends on, frozen in the journal before it begins.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::AgentKind;
use super::environment::EnvironmentSpec;
use super::gate::JudgingSpec;
use super::ids::{RunId, TaskId, TreeId};
use super::known_failures::KnownFailures;
use super::money::MicroUsd;
use super::sandbox::SandboxSpec;
use super::setup::SetupSpec;
use super::task::Step;
use crate::guard::ProtectionRule;
use crate::price::Price;

/// An agent, resolved: what is run and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSpec {
    /// The name people use.
    pub name: String,
    /// How it is spoken to.
    pub kind: AgentKind,
    /// Program and leading arguments; for `shell` the whole argv of the task's own command.
    #[serde(default)]
    pub program: Vec<String>,
    /// Model, where the agent takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the model is to think, in the agent's own word, where it takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Model turns of a session, before the run's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What the model costs, where the user says so: before the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Base URL of the model server, where the agent takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variables set for the agent, beside the allowed ones of our own environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables that the agent gets from our own environment, by name: what it sees on the left,
    /// where it comes from on the right. Names only, so that no secret is frozen in the journal;
    /// the values are looked up when a session starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_from: BTreeMap<String, String>,
    /// Retries of the model's API inside the executor.
    #[serde(default)]
    pub api_retries: u32,
    /// Whether the same prompt always does the same: then a retry would change nothing.
    #[serde(default)]
    pub deterministic: bool,
    /// Whether a `command` agent gets its prompt as the last argument instead of on stdin.
    #[serde(default)]
    pub prompt_as_argument: bool,
    /// Whether a repository's file names the server: then no key goes there but what the user's own
    /// settings give this agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_by_repository: bool,
}

/// Two clocks and a turn limit for each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLimits {
    /// Wall time in milliseconds.
    pub wall_ms: u64,
    /// Longest silence in milliseconds: no output at all.
    pub silence_ms: u64,
    /// Model turns, where the agent has such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// Caps for the whole run, and for each of its attempts. An absent cap is no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// Money, over all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<MicroUsd>,
    /// Tokens in and out, over all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Time spent in sessions and verification, over all attempts, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Money, of each attempt's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_cost_micro_usd: Option<MicroUsd>,
    /// Tokens in and out, of each attempt's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_tokens: Option<u64>,
}

impl Budget {
    /// These caps, and where one is absent that of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            cost_micro_usd: self.cost_micro_usd.or(other.cost_micro_usd),
            tokens: self.tokens.or(other.tokens),
            wall_ms: self.wall_ms.or(other.wall_ms),
            attempt_cost_micro_usd: self.attempt_cost_micro_usd.or(other.attempt_cost_micro_usd),
            attempt_tokens: self.attempt_tokens.or(other.attempt_tokens),
        }
    }
}

/// What becomes of the tree between two attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BetweenAttempts {
    /// Work builds on work.
    #[default]
    Keep,
    /// Every attempt begins from the first one's tree.
    Rollback,
}

/// Which tree stays when the attempts are used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The attempt with the most passing checks.
    #[default]
    Best,
    /// The last attempt's.
    Last,
    /// The tree that the run began from.
    Original,
}

/// Whether the checks are run once before the agent begins, as it is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    /// Where there are snapshots, so that it is remembered, and the agent is not a shell command.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never: what was broken before is charged to the agent, and a test that goes is not missed.
    Off,
}

/// What votes in tier 3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VoteMode {
    /// Several judges, about one work.
    #[default]
    Judges,
    /// Several executions of the task, of which one stays.
    Executions,
}

/// What verification consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum VerificationPlan {
    /// These steps must hold.
    Steps {
        /// In this order; all of them run, always.
        steps: Vec<Step>,
    },
    /// Switched off by the user: the report is `skip`.
    Skip,
    /// Nothing to check: the report is `auto_pass`.
    AutoPass,
}

/// Which part of which plan a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentPlan {
    /// The plan's own run.
    pub plan: RunId,
    /// The subtask in it.
    pub subtask: String,
}

/// How the files that an attempt changed are held to parse.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SyntaxRules {
    /// Globs of files that need not.
    pub except: Vec<String>,
}

/// Everything that the loop depends on. Frozen: nothing of it is read again from the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSpec {
    /// The task.
    pub task_id: TaskId,
    /// The plan that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<ParentPlan>,
    /// What is to be done, word for word.
    pub description: String,
    /// What "done" means, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// The workspace, absolute and resolved.
    pub workspace: PathBuf,
    /// Who does the work.
    pub agent: AgentSpec,
    /// Who takes over at the first retry, at the second, …; the last one stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<AgentSpec>,
    /// What must hold.
    pub verification: VerificationPlan,
    /// Who judges the work once its checks pass; absent for tier 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<JudgingSpec>,
    /// Attempts beyond the first, 0 to [`RunSpec::MAX_RETRIES`].
    pub max_verification_retries: u32,
    /// Time for every verification run, afresh, in milliseconds.
    pub verification_timeout_ms: u64,
    /// Limits of each session.
    pub limits: SessionLimits,
    /// Caps of the whole run.
    #[serde(default)]
    pub budget: Budget,
    /// Keep or roll back.
    #[serde(default)]
    pub between_attempts: BetweenAttempts,
    /// Which tree stays at the end.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
    /// Whether the checks are run once before the agent begins.
    #[serde(default)]
    pub baseline: bool,
    /// Tests that may fail.
    #[serde(default)]
    pub known_failures: KnownFailures,
    /// Whether a check that failed is run again, to tell a flake from a failure.
    #[serde(default)]
    pub rerun_failed: bool,
    /// Whether the files that an attempt changed must parse, and which of them need not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<SyntaxRules>,
    /// Whether a file that the agent failed to write, and never wrote, fails the attempt.
    #[serde(default)]
    pub tool_calls: bool,
    /// Files that the task may not change, and what happens if it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<ProtectionRule>,
    /// Globs of protected files that the task may change all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Changes of tests that the task asks for: globs of files, and ids of tests as reports name them. They count as the
    /// attempt made them; all other tests are run as they were before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect_test_changes: Vec<String>,
    /// The tree whose tests judge the work, where it is not the tree that the run begins from: the start of the plan
    /// that this is a later subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_base: Option<TreeId>,
    /// Whether trees are snapshotted: the workspace is in a git repository, and nobody said no.
    pub snapshots: bool,
    /// What stands between the sessions and the rest of the machine.
    #[serde(default)]
    pub sandbox: SandboxSpec,
    /// What of our own environment checks see, and what of it is secret, beyond the defaults.
    #[serde(default, skip_serializing_if = "EnvironmentSpec::is_default")]
    pub environment: EnvironmentSpec,
    /// What installs dependencies and resets state for the checks.
    #[serde(default, skip_serializing_if = "SetupSpec::is_empty")]
    pub setup: SetupSpec,
    /// The program that froze this.
    pub selvedge_version: String,
}

impl RunSpec {
    /// The hard cap on `max_verification_retries`: after five corrections, what helps is a person.
    pub const MAX_RETRIES: u32 = 5;

    /// Attempts that may be charged.
    pub fn max_attempts(&self) -> u32 {
        self.max_verification_retries.min(Self::MAX_RETRIES) + 1
    }

    /// Who works at a retry; 0 is the first try.
    pub fn agent_of(&self, retry: u32) -> &AgentSpec {
        let retry = usize::try_from(retry).unwrap_or(usize::MAX);
        let last = self.escalation.len().min(retry);
        let taken_over = last.checked_sub(1).and_then(|at| self.escalation.get(at));
        taken_over.unwrap_or(&self.agent)
    }

    /// All who may work, in their order.
    pub fn agents(&self) -> impl Iterator<Item = &AgentSpec> {
        std::iter::once(&self.agent).chain(&self.escalation)
    }

    /// The steps, if there are any to run.
    pub fn steps(&self) -> &[Step] {
        match &self.verification {
            VerificationPlan::Steps { steps } => steps,
            VerificationPlan::Skip | VerificationPlan::AutoPass => &[],
        }
    }
}
