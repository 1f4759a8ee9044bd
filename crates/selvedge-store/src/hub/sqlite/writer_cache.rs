//! The writer's own connection, with a cache of the rows of held tasks, of their numbers, of deadlines, and of projects and
//! their submitters. There is no other writer, so rows that were written last need not be read again.

use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::Connection;
use selvedge_core::model::TaskId;
use selvedge_protocol::TaskState;

use super::columns::{self, SqliteTaskRow};
use super::deadline_index::DeadlineIndex;
use super::held_counts::{HeldCounts, is_held};
use super::projects::ProjectCache;
use crate::hub::error::HubStoreError;
use crate::hub::fair_share::Submitter;
use crate::hub::rows::TaskRecord;

/// Maximum number of cached rows, some 500 bytes each.
const MAX_CACHED_ROWS: usize = 50_000;

#[derive(Debug)]
pub(super) struct WriterCache {
    db: Connection,
    cached_rows: RefCell<HashMap<TaskId, SqliteTaskRow>>,
    deadlines: RefCell<DeadlineIndex>,
    held: RefCell<HeldCounts>,
    projects: RefCell<ProjectCache>,
}

impl Deref for WriterCache {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.db
    }
}

impl WriterCache {
    pub(super) fn new(db: Connection) -> Self {
        Self {
            db,
            cached_rows: RefCell::default(),
            deadlines: RefCell::default(),
            held: RefCell::default(),
            projects: RefCell::default(),
        }
    }

    /// Takes a task's row out of the cache or reads it; the caller must [`save`](Self::save) it if it
    /// changes.
    pub(super) fn load(&self, task: TaskId) -> Result<Option<SqliteTaskRow>, HubStoreError> {
        match self.cached_rows.borrow_mut().remove(&task) {
            Some(kept) => Ok(Some(kept)),
            None => columns::load(&self.db, task),
        }
    }

    /// Writes a row and updates the cache.
    pub(super) fn save(&self, mut kept: SqliteTaskRow) -> Result<(), HubStoreError> {
        columns::save(&self.db, &kept)?;
        let (lease, task) = (&kept.row.lease, kept.row.task_id);
        let state = lease.state;
        let mut due = self.deadlines.borrow_mut();
        due.update(task, kept.due, lease.due_at, state);
        kept.due = lease.due_at;
        let before = std::mem::replace(&mut kept.state, state);
        self.held.borrow_mut().update(kept.submitter, before, state);
        let mut rows = self.cached_rows.borrow_mut();
        if is_held(state) && rows.len() < MAX_CACHED_ROWS {
            rows.insert(kept.row.task_id, kept);
        }
        Ok(())
    }

    /// The projects and submitters that were read.
    pub(super) fn projects(&self) -> RefMut<'_, ProjectCache> {
        self.projects.borrow_mut()
    }

    /// The numbers of tasks that workers hold, of submitters with any.
    pub(super) fn held_counts(&self) -> Result<Vec<(Submitter, u64)>, HubStoreError> {
        self.held.borrow_mut().read(&self.db)
    }

    /// Tasks that are offered to a worker. Each has a deadline, so the file need not be searched.
    pub(super) fn offers_to(&self, worker: &str) -> Result<Vec<TaskRecord>, HubStoreError> {
        let offered = self.due(i64::MAX, |state| state == TaskState::Offered, usize::MAX)?;
        let mut found = Vec::new();
        for task in offered {
            let cached = self
                .cached_rows
                .borrow()
                .get(&task)
                .map(|kept| kept.row.clone());
            let row = match cached {
                Some(row) => Some(row),
                None => columns::load(&self.db, task)?.map(|kept| kept.row),
            };
            found.extend(row.filter(|row| row.lease.worker.as_deref() == Some(worker)));
        }
        Ok(found)
    }

    /// Tasks in wanted states whose deadline has passed, earliest first.
    pub(super) fn due(
        &self,
        now: i64,
        wanted: impl Fn(TaskState) -> bool,
        limit: usize,
    ) -> Result<Vec<TaskId>, HubStoreError> {
        self.deadlines
            .borrow_mut()
            .find_due(&self.db, now, wanted, limit)
    }

    /// Clears the caches after a rollback: they may contain rows that were never committed.
    pub(super) fn clear(&self) {
        self.cached_rows.borrow_mut().clear();
        self.deadlines.borrow_mut().clear();
        self.held.borrow_mut().clear();
        *self.projects.borrow_mut() = ProjectCache::default();
    }
}
