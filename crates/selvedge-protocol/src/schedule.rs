//! Schedules: tasks that a hub submits again and again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use selvedge_core::model::{Task, TaskId, Timestamp};

/// Creates a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleRequest {
    /// Display name.
    pub name: String,
    /// A cron expression of five fields, in UTC unless it ends with an IANA time zone: `0 3 * * MON-FRI Europe/Berlin`.
    pub cron: String,
    /// The task, without a `task_id`.
    #[schemars(with = "Task")]
    pub task: Value,
}

/// A new schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedSchedule {
    /// The schedule.
    #[serde(flatten)]
    pub row: ScheduleRow,
    /// Changes and possible problems of its task, as for a submitted one.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleRow {
    /// Its id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// The cron expression.
    pub cron: String,
    /// The name of the token that created it, which also submits its tasks.
    pub created_by: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// When the next task is submitted; absent while the schedule is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The last submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ScheduleLast>,
    /// The task.
    #[schemars(with = "Task")]
    pub task: Value,
}

/// The last submission of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleLast {
    /// When it was due.
    pub at: Timestamp,
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// All schedules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulePage {
    /// The schedules, oldest first.
    pub schedules: Vec<ScheduleRow>,
}
