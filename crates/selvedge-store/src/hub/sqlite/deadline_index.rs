//! An index of tasks' deadlines: leases that expire and pauses that end. It is in memory, because the single
//! writer makes all changes and an index in the file would be written with every change of a task.

use std::collections::BTreeMap;

use rusqlite::Connection;
use selvedge_core::model::TaskId;
use selvedge_protocol::TaskState;

use super::columns::{damaged, parsed};
use crate::hub::error::HubStoreError;

/// Deadlines, earliest first.
#[derive(Debug, Default)]
pub(super) struct DeadlineIndex {
    /// `None` until the file has been scanned, and again after a rollback.
    entries: Option<BTreeMap<(i64, TaskId), TaskState>>,
}

impl DeadlineIndex {
    /// Updates the deadline of a task whose row was written.
    pub(super) fn update(
        &mut self,
        task: TaskId,
        before: Option<i64>,
        now: Option<i64>,
        state: TaskState,
    ) {
        let Some(known) = &mut self.entries else {
            return;
        };
        if let Some(at) = before.filter(|_| before != now) {
            known.remove(&(at, task));
        }
        if let Some(at) = now {
            known.insert((at, task), state);
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries = None;
    }

    /// Tasks in wanted states whose deadline has passed.
    pub(super) fn find_due(
        &mut self,
        db: &Connection,
        now: i64,
        wanted: impl Fn(TaskState) -> bool,
        limit: usize,
    ) -> Result<Vec<TaskId>, HubStoreError> {
        let known = match &mut self.entries {
            Some(known) => known,
            none => none.insert(read(db)?),
        };
        let due = known.iter().take_while(|((at, _), _)| *at <= now);
        let wanted = due.filter(|(_, state)| wanted(**state));
        Ok(wanted.map(|((_, task), _)| *task).take(limit).collect())
    }
}

fn read(db: &Connection) -> Result<BTreeMap<(i64, TaskId), TaskState>, HubStoreError> {
    let mut query =
        db.prepare_cached("SELECT due_at, task_id, state FROM task WHERE due_at IS NOT NULL")?;
    let mut rows = query.query([])?;
    let mut due = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (at, task, state): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let state = TaskState::parse(&state).ok_or_else(|| damaged(&state))?;
        due.insert((at, parsed(&task)?), state);
    }
    Ok(due)
}
