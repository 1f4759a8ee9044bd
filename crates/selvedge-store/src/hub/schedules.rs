//! Schedules: tasks that are submitted again and again. A hub submits the task of a due time under an idempotency key,
//! and then moves the schedule to its next time, so that each due time has one task, whatever fails in between.

use selvedge_core::model::TaskId;
use uuid::Uuid;

use super::access::{AuditAction, AuditActor};

/// A schedule to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchedule {
    /// Its id.
    pub schedule_id: Uuid,
    /// The project that owns it.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The cron expression with a time zone.
    pub cron: String,
    /// The task as JSON.
    pub body: String,
    /// The user who creates it.
    pub created_by: AuditActor,
    /// The first due time: milliseconds since 1970.
    pub next_at: i64,
}

/// A stored schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its id.
    pub schedule_id: Uuid,
    /// The project that owns it.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The cron expression with a time zone.
    pub cron: String,
    /// The task as JSON.
    pub body: String,
    /// The name of the token that created it.
    pub created_by: String,
    /// The id of that token.
    pub created_by_token: Option<Uuid>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// The next due time; `None` while it is paused.
    pub next_at: Option<i64>,
    /// The last time, and what became of it.
    pub last: Option<ScheduleFiring>,
}

/// A due time that has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleFiring {
    /// The due time: milliseconds since 1970.
    pub at: i64,
    /// The task, or why there is none.
    pub result: Result<TaskId, String>,
}

/// Why the next time of a schedule changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleMove {
    /// It has passed.
    Fired(ScheduleFiring),
    /// A user paused the schedule.
    Paused(AuditActor),
    /// A user resumed it.
    Resumed(AuditActor),
}

impl ScheduleMove {
    /// The due time that has passed, and the user's action to record.
    pub(super) fn parts(&self) -> (Option<&ScheduleFiring>, Option<(&AuditActor, AuditAction)>) {
        match self {
            Self::Fired(firing) => (Some(firing), None),
            Self::Paused(by) => (None, Some((by, AuditAction::PauseSchedule))),
            Self::Resumed(by) => (None, Some((by, AuditAction::ResumeSchedule))),
        }
    }
}
