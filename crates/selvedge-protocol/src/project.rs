//! Projects: the tasks, tokens, webhooks and schedules that belong together, and their limits.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::model::{MicroUsd, Timestamp};

/// The project of everything that names none. Its administrators administer all projects, and its workers take the
/// tasks of all projects.
pub const DEFAULT_PROJECT: &str = "default";

/// The settings of a project. A limit that is absent does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectSettings {
    /// Patterns of the repositories that its tasks may use: `*` matches a part between slashes, `**` any number of
    /// parts. All if empty.
    pub repositories: Vec<String>,
    /// Maximum number of its tasks that workers hold at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running: Option<u32>,
    /// Maximum number of its queued tasks; further ones are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queued: Option<u32>,
    /// The known cost of a day (UTC) from which its queued tasks wait for the next day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_micro_usd_per_day: Option<MicroUsd>,
    /// Maximum number of tasks of one submitter that workers hold at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running_per_submitter: Option<u32>,
    /// The known cost of a day (UTC) from which the queued tasks of one submitter wait for the next day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_micro_usd_per_day_per_submitter: Option<MicroUsd>,
}

impl ProjectSettings {
    /// Whether the number of tasks is limited that workers hold.
    pub const fn limits_running_tasks(&self) -> bool {
        self.max_running.is_some() || self.max_running_per_submitter.is_some()
    }

    /// Whether the cost of a day is limited.
    pub const fn limits_daily_costs(&self) -> bool {
        self.max_cost_micro_usd_per_day.is_some()
            || self.max_cost_micro_usd_per_day_per_submitter.is_some()
    }
}

/// Creates a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectRequest {
    /// Its name: 1 to 63 lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or a digit.
    pub name: String,
    /// Its settings.
    #[serde(default)]
    pub settings: ProjectSettings,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectRow {
    /// Its name.
    pub name: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// Its settings.
    pub settings: ProjectSettings,
    /// Its current usage; only in the response for a single project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProjectUsage>,
    /// Current usage of each of its submitters, by name; only in the response for a single project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submitters: Vec<SubmitterUsage>,
}

/// Current usage of a project or a submitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectUsage {
    /// Number of queued tasks.
    pub queued: u64,
    /// Number of tasks that workers hold.
    pub running: u64,
    /// The known cost of this day (UTC).
    pub cost_micro_usd: MicroUsd,
    /// The number of this day's calls with an unknown cost, which no limit includes.
    pub calls_of_unknown_cost: u64,
}

impl AddAssign for ProjectUsage {
    fn add_assign(&mut self, other: Self) {
        self.queued += other.queued;
        self.running += other.running;
        let cost = self.cost_micro_usd.0.saturating_add(other.cost_micro_usd.0);
        self.cost_micro_usd = MicroUsd(cost);
        self.calls_of_unknown_cost += other.calls_of_unknown_cost;
    }
}

/// Current usage of a submitter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitterUsage {
    /// The name of the submitter.
    pub name: String,
    /// The usage.
    #[serde(flatten)]
    pub usage: ProjectUsage,
}

/// All projects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectPage {
    /// The projects, ordered by name.
    pub projects: Vec<ProjectRow>,
}
