//! A task as submitted: parsed leniently, not yet resolved.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{TaskId, TreeId};
use super::known_failures::KnownFailures;
use super::setup::TaskSetup;
use super::spec::Budget;

/// The kind of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A command exits 0.
    Command,
    /// A test command exits 0 **and** shows that it executed at least one test.
    TestPasses,
    /// A file exists inside the workspace and is not empty.
    FileExists,
    /// The user's git repository has no uncommitted changes below the target.
    GitClean,
    /// A program that receives a request and reports as JSON, see [`PluginRequest`](super::PluginRequest).
    Plugin,
    /// An expected output exists, is of the type that its name implies, and is not empty.
    Output,
    /// Every file that the attempt changed parses, and none was emptied. Runs automatically only: no plan contains it.
    Syntax,
    /// All write errors of the agent's tools were resolved. Runs automatically only.
    ToolCalls,
}

impl StepKind {
    /// The wire value.
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
    /// The kind.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// The command line (`command`, `test_passes`, `plugin`) or the path (`file_exists`, `git_clean`).
    #[serde(default)]
    pub target: String,
    /// Display name; the target if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Working directory, relative to the workspace; the workspace itself if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its own time limit in milliseconds, within that of the verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether it may run in parallel with adjacent steps that are also marked as parallel.
    #[serde(default)]
    pub parallel: bool,
    /// A plug-in's own settings, passed on unchanged.
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

    /// The last command of the line, if it lets the check pass whatever the others find: `true` of `make lint || true`.
    pub fn ignores_failures(&self) -> Option<&'static str> {
        let line = self.target.trim();
        let ends_line = |end: &&str| {
            let before = line.strip_suffix(end).map(|it| it.trim_end_matches(' '));
            before.is_some_and(|before| {
                let follows_any = before.ends_with([';', '\n']) && !before.contains("set -e");
                before.is_empty() || before.ends_with("||") || follows_any
            })
        };
        let is_command = self.kind == StepKind::Command;
        ["true", ":", "exit 0"]
            .into_iter()
            .find(|end| is_command && ends_line(end))
    }

    /// Display name.
    pub fn label(&self) -> &str {
        match (&self.name, self.kind) {
            (Some(name), _) => name,
            (None, StepKind::GitClean) if self.target.is_empty() => "git clean",
            (None, _) => &self.target,
        }
    }
}

/// Estimated difficulty of the task; `trivial` is routed to the shell.
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

/// The routing that an older client requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingDecision {
    /// `claude`, `ollama`, any other configured agent, or `sidecar`: the shell, which runs the task's
    /// `command`.
    pub target_type: String,
}

/// Delivery of the work of a task for which a worker cloned a repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// A patch, among the task's files.
    #[default]
    Patch,
    /// The patch, and a branch `selvedge/TASK` pushed to the repository, if the work is verified.
    Branch,
}

/// The base of a subtask's work: the tree after the previous subtasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaseTree {
    /// The tree.
    pub tree: TreeId,
    /// The subtasks whose work it contains, each with its tree, in the order in which they ran: each tree is stored as
    /// a difference to the previous one.
    #[serde(default)]
    pub left: Vec<SubtaskTree>,
}

/// The tree after a subtask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubtaskTree {
    /// The subtask, as a task.
    pub task_id: TaskId,
    /// The tree.
    pub tree: TreeId,
}

/// On a hub: the plan that a task belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanMembership {
    /// The task that is a plan.
    pub parent_task_id: TaskId,
    /// Its id within the plan.
    pub subtask: String,
    /// The base of its work; the current content of the workspace if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_from: Option<BaseTree>,
    /// The tree that the plan began from, once a subtask has begun: its tests judge the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_start: Option<TreeId>,
}

/// A subtask of a plan: a separate task in the same workspace. Absent fields are inherited from the whole task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subtask {
    /// Its id; unique within the plan.
    pub id: String,
    /// The id of its own task; assigned by the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The description, which the agent receives verbatim.
    pub description: String,
    /// Subtasks that must be verified before this one begins.
    pub depends_on: Vec<String>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The acceptance criteria, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<String>,
    /// Files that must exist and not be empty.
    pub expected_outputs: Vec<String>,
    /// The checks.
    #[serde(alias = "verification_checks", skip_serializing_if = "Option::is_none")]
    pub verification_steps: Option<Vec<Step>>,
    /// Test changes that this subtask asks for, as in a task; if there are none, those of the whole task apply.
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
    /// Assigned by the client, or when the task is accepted.
    pub task_id: Option<TaskId>,
    /// The description, which the agent receives verbatim.
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
    /// On a hub: how the result is delivered; a patch if absent.
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
    /// The checks. Absent: the repository's own checks. An empty list: no checks, so the report is `auto_pass` and the
    /// outcome `unchecked`.
    #[serde(alias = "verification_checks", skip_serializing_if = "Option::is_none")]
    pub verification_steps: Option<Vec<Step>>,
    /// Files that must exist, not be empty, and parse if their names imply a known language; with a `/` at the end,
    /// directories that must exist and not be empty.
    pub expected_outputs: Vec<String>,
    /// The acceptance criteria, as text, for the agent and for tiers 2 and 3.
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
    /// Time limit of each verification, in milliseconds; every verification starts with the full time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_timeout_ms: Option<u64>,
    /// Ids of tests that may fail, instead of those in the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_failures: Option<KnownFailures>,
    /// Globs of protected files that this task may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Test changes that the task asks for: globs of files, and ids of tests as in reports. They keep the attempt's
    /// content; all other tests run as they were before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect_test_changes: Vec<String>,
    /// Commands that install dependencies and reset state, instead of those in the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<TaskSetup>,
    /// Limits for the whole run, all subtasks together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The subtasks of a plan, each with its own checks; the task itself then has no run of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    /// On a hub: the plan that this is a subtask of; set by the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<PlanMembership>,
    /// 0 to 9, on a hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// On a hub: labels that a worker must have.
    pub labels: Vec<String>,
    /// The client's own data; stored, never interpreted.
    pub metadata: BTreeMap<String, serde_json::Value>,
}
impl Task {
    /// The first non-blank line of the description, or else of the command or a subtask; empty if there is none.
    pub fn title(&self) -> &str {
        let subtasks = self.subtasks.iter().map(|subtask| &subtask.description);
        let texts = std::iter::once(&self.description).chain(&self.command);
        let mut lines = texts.chain(subtasks).flat_map(|text| text.lines());
        let line = lines.find(|line| !line.trim().is_empty());
        line.unwrap_or_default().trim()
    }

    /// Adds expected test changes to those of the task, and to those of its subtasks that have their own.
    pub fn add_expected_changes(&mut self, changes: &[String]) {
        self.expect_test_changes.extend_from_slice(changes);
        for part in &mut self.subtasks {
            if !part.expect_test_changes.is_empty() {
                part.expect_test_changes.extend_from_slice(changes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_that_ignores_failures_is_recognized() {
        let end = |line: &str| Step::new(StepKind::Command, line).ignores_failures();
        for (line, expected) in [
            ("make lint || true", "true"),
            ("make lint ||:", ":"),
            ("make lint; exit 0", "exit 0"),
            ("make lint\ntrue\n", "true"),
            ("true", "true"),
        ] {
            assert_eq!(end(line), Some(expected), "{line}");
        }
        for line in [
            "make lint",
            "make lint && true",
            "set -e; make lint; true",
            "node is-it.js --true",
            "./exit 0",
        ] {
            assert_eq!(end(line), None, "{line}");
        }
        let tests = Step::new(StepKind::TestPasses, "make test || true");
        assert_eq!(tests.ignores_failures(), None, "its report decides");
    }
}
