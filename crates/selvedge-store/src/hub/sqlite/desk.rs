//! The writer's own connection, and the rows of the tasks that workers hold: nobody else writes, so
//! what was written last need not be read again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::Connection;
use selvedge_core::fleet::TaskState;
use selvedge_core::model::TaskId;

use super::columns::{self, Kept};
use crate::hub::error::HubStoreError;

/// Rows that are remembered at most, some 500 bytes each.
const REMEMBERED: usize = 50_000;

#[derive(Debug)]
pub(super) struct Desk {
    db: Connection,
    held: RefCell<HashMap<TaskId, Kept>>,
}

impl Deref for Desk {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.db
    }
}

impl Desk {
    pub(super) fn new(db: Connection) -> Self {
        let held = RefCell::default();
        Self { db, held }
    }

    /// A task's row, for one who will [`save`](Self::save) it if it becomes another.
    pub(super) fn take(&self, task: TaskId) -> Result<Option<Kept>, HubStoreError> {
        match self.held.borrow_mut().remove(&task) {
            Some(kept) => Ok(Some(kept)),
            None => columns::load(&self.db, task),
        }
    }

    /// Writes a row.
    pub(super) fn save(&self, kept: Kept) -> Result<(), HubStoreError> {
        columns::save(&self.db, &kept)?;
        let is_held = matches!(
            kept.row.lease.state,
            TaskState::Offered | TaskState::Running | TaskState::Cancelling
        );
        let mut held = self.held.borrow_mut();
        if is_held && held.len() < REMEMBERED {
            held.insert(kept.row.task_id, kept);
        }
        Ok(())
    }

    /// After a transaction that was rolled back, what is remembered was never written.
    pub(super) fn forget(&self) {
        self.held.borrow_mut().clear();
    }
}
