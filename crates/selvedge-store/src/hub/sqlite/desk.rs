//! The writer's own connection, the rows of the tasks that workers hold, and when tasks are due: nobody else
//! writes, so what was written last need not be read again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::Connection;
use selvedge_core::fleet::TaskState;
use selvedge_core::model::TaskId;

use super::columns::{self, Kept};
use super::due::Due;
use crate::hub::error::HubStoreError;

/// Rows that are remembered at most, some 500 bytes each.
const REMEMBERED: usize = 50_000;

#[derive(Debug)]
pub(super) struct Desk {
    db: Connection,
    held: RefCell<HashMap<TaskId, Kept>>,
    due: RefCell<Due>,
}

impl Deref for Desk {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.db
    }
}

impl Desk {
    pub(super) fn new(db: Connection) -> Self {
        Self {
            db,
            held: RefCell::default(),
            due: RefCell::default(),
        }
    }

    /// A task's row, for one who will [`save`](Self::save) it if it becomes another.
    pub(super) fn take(&self, task: TaskId) -> Result<Option<Kept>, HubStoreError> {
        match self.held.borrow_mut().remove(&task) {
            Some(kept) => Ok(Some(kept)),
            None => columns::load(&self.db, task),
        }
    }

    /// Writes a row.
    pub(super) fn save(&self, mut kept: Kept) -> Result<(), HubStoreError> {
        columns::save(&self.db, &kept)?;
        let (lease, task) = (&kept.row.lease, kept.row.task_id);
        let state = lease.state;
        let mut due = self.due.borrow_mut();
        due.moved(task, kept.due, lease.due_at, state);
        kept.due = lease.due_at;
        let is_held = matches!(
            state,
            TaskState::Offered | TaskState::Running | TaskState::Cancelling
        );
        let mut held = self.held.borrow_mut();
        if is_held && held.len() < REMEMBERED {
            held.insert(kept.row.task_id, kept);
        }
        Ok(())
    }

    /// Tasks in wanted states that are due by now, the earliest first.
    pub(super) fn due(
        &self,
        now: i64,
        wanted: impl Fn(TaskState) -> bool,
        limit: usize,
    ) -> Result<Vec<TaskId>, HubStoreError> {
        self.due.borrow_mut().by(&self.db, now, wanted, limit)
    }

    /// After a transaction that was rolled back, what is remembered was never written.
    pub(super) fn forget(&self) {
        self.held.borrow_mut().clear();
        self.due.borrow_mut().forget();
    }
}
