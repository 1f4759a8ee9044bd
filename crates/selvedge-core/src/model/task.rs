//! A task as it is asked for: lenient on read, nothing resolved yet.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{TaskId, TreeId};
use super::known_failures::KnownFailures;
use super::setup::TaskSetup;
use super::spec::Budget;

/// What kind of thing must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A command exits 0.
    Command,
    /// A test command exits 0 **and** shows that it executed at least one test.
    TestPasses,
    /// A file exists inside the workspace and is not empty.
    FileExists,
    /// The user's git repository has no uncommitted change below the target.
    GitClean,
    /// A program that is asked and reports as JSON, see [`PluginRequest`](super::PluginRequest).
    Plugin,
    /// An output that the task expects is there, of the kind that its name tells, and not empty.
    Output,
    /// Every file that the attempt changed parses, and none was emptied. Of its own accord only: no
    /// plan asks for it.
    Syntax,
    /// The agent's tools did what they were called for, or it was made up for. Of its own accord
    /// only.
    ToolCalls,
}

impl StepKind {
    /// The value as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::TestPasses => "test_passes",
            Self::FileExists => "file_exists",
            Self::GitClean => "git_clean",
            Self::Plugin => "plugin",
            Self::Output => "output",
            Self::Syntax => "syntax",
            Self::ToolCalls => "tool_calls",
        }
    }

    /// Whether its target is a command line that is executed.
    pub const fn executes(self) -> bool {
        matches!(self, Self::Command | Self::TestPasses | Self::Plugin)
    }
}

/// One check of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What kind.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// The command line (`command`, `test_passes`, `plugin`) or the path (`file_exists`, `git_clean`).
    #[serde(default)]
    pub target: String,
    /// What people call it; the target when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Directory it runs in, relative to the workspace; the workspace itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its own time limit in milliseconds, within the verification run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether it may run side by side with its neighbours that say so too.
    #[serde(default)]
    pub parallel: bool,
    /// A plug-in's own settings, passed on as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
}

impl Step {
    /// A plain step.
    pub fn new(kind: StepKind, target: impl Into<String>) -> Self {
        Self {
            kind,
            target: target.into(),
            name: None,
            directory: None,
            timeout_ms: None,
            parallel: false,
            settings: None,
        }
    }

    /// What people call it.
    pub fn label(&self) -> &str {
        match (&self.name, self.kind) {
            (Some(name), _) => name,
            (None, StepKind::GitClean) if self.target.is_empty() => "git clean",
            (None, _) => &self.target,
        }
    }
}

/// How hard the task is held to be; `trivial` is routed to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComplexityTier {
    /// The task's own command, run by the shell.
    Trivial,
    /// The default agent.
    Standard,
    /// The default agent; may be routed to a stronger one.
    Complex,
}

/// Where an older client wants the task to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingDecision {
    /// `claude`, `ollama`, any other configured agent, or `sidecar`: the shell, which runs the task's
    /// `command`.
    pub target_type: String,
}

/// What becomes of the work of a task that a worker cloned a repository for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// A patch, among the task's files.
    #[default]
    Patch,
    /// The patch, and a branch `selvedge/TASK` pushed to the repository, if the work is verified.
    Branch,
}

/// What the work of a subtask begins from: the tree that the subtasks before it left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaseTree {
    /// The tree.
    pub tree: TreeId,
    /// The subtasks whose work is in it, each with the tree that it left, in the order in which they
    /// were carried out: each tree is kept as what it adds to the one before.
    #[serde(default)]
    pub left: Vec<SubtaskTree>,
}

/// A tree that a subtask left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskTree {
    /// The subtask, as a task.
    pub task_id: TaskId,
    /// The tree.
    pub tree: TreeId,
}

/// On a hub: whose part a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanMembership {
    /// The task that is a plan.
    pub parent_task_id: TaskId,
    /// What the plan calls this one.
    pub subtask: String,
    /// What its work begins from; what stands there when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_from: Option<BaseTree>,
    /// The tree that the plan began from, once a subtask has begun: its tests judge the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_start: Option<TreeId>,
}

/// One part of a task that is a plan: a task of its own, in the same workspace. What it leaves open is
/// as the whole task says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subtask {
    /// What the others call it; unique in the plan.
    pub id: String,
    /// The task that it is, or will be; the hub says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What is to be done, word for word as the agent gets it.
    pub description: String,
    /// Subtasks that must be verified before this one begins.
    pub depends_on: Vec<String>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What "done" means, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// Files that must exist and not be empty.
    pub expected_outputs: Vec<String>,
    /// What must hold.
    #[serde(alias = "verification_checks", skip_serializing_if = "Option::is_none")]
    pub verification_steps: Option<Vec<Step>>,
    /// Changes of tests that this part asks for, as in a task; those of the whole where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect_test_changes: Vec<String>,
    /// 1 to 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_tier: Option<u8>,
    /// 0 to 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_verification_retries: Option<u32>,
}

/// A task as submitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Task {
    /// Given by the client, or made when the task is taken.
    pub task_id: Option<TaskId>,
    /// What is to be done, word for word as the agent gets it.
    pub description: String,
    /// The command of a deterministic shell task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Directory of the work; with a `repository`, one in its clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// On a hub: address of the git repository that a worker clones for the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// On a hub: the revision of the repository that the work begins from; its default branch when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// On a hub: what becomes of the result; a patch when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliver: Option<DeliveryMode>,
    /// The agent's name; outranks `routing_decision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The older form of `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing_decision: Option<RoutingDecision>,
    /// `trivial` goes to the shell when nothing else names an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity_tier: Option<ComplexityTier>,
    /// What must hold. Absent: the repository's own checks. An empty list: nothing, so the report
    /// is `auto_pass` and the outcome `unchecked`.
    #[serde(alias = "verification_checks", skip_serializing_if = "Option::is_none")]
    pub verification_steps: Option<Vec<Step>>,
    /// Files that must exist, not be empty, and parse where their names say in what language they
    /// are; with a `/` at the end, directories that must exist and not be empty.
    pub expected_outputs: Vec<String>,
    /// What "done" means, in words, for the agent and for tiers 2 and 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// 1 to 3; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_tier: Option<u8>,
    /// 0 to 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_verification_retries: Option<u32>,
    /// Switches verification off: the report is `skip`, the outcome `unchecked`.
    pub skip_verification: bool,
    /// Time for every verification run, afresh, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_timeout_ms: Option<u64>,
    /// Tests that may fail, by their ids, in place of those that the settings list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_failures: Option<KnownFailures>,
    /// Globs of protected files that this task may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Changes of tests that the task asks for: globs of files, and ids of tests as reports name them. They count as the
    /// attempt made them; all other tests are run as they were before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect_test_changes: Vec<String>,
    /// Commands that install dependencies and reset state, in place of those of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<TaskSetup>,
    /// Caps for the whole run, all subtasks together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The parts of a task that is a plan, each with its own gates; nothing else is then done for the
    /// task itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    /// On a hub: the plan that this is a subtask of; the hub says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<PlanMembership>,
    /// 0 to 9, on a hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Which workers may take it, on a hub.
    pub labels: Vec<String>,
    /// The client's own; kept, never read.
    pub metadata: BTreeMap<String, serde_json::Value>,
}
impl Task {
    /// Adds to the changes of tests that it asks for, and to those that its parts ask for by themselves.
    pub fn add_expected_changes(&mut self, changes: &[String]) {
        self.expect_test_changes.extend_from_slice(changes);
        for part in &mut self.subtasks {
            if !part.expect_test_changes.is_empty() {
                part.expect_test_changes.extend_from_slice(changes);
            }
        }
    }
}
