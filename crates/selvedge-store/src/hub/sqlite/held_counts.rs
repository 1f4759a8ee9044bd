//! The number of tasks of each submitter that workers hold. It is in memory, because the single writer makes all changes
//! and an index in the file would be written with every change of a task.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::Connection;
use selvedge_protocol::TaskState;

use crate::hub::error::HubStoreError;
use crate::hub::fair_share::Submitter;

/// Whether a worker holds a task in this state.
pub(super) fn is_held(state: TaskState) -> bool {
    matches!(
        state,
        TaskState::Offered | TaskState::Running | TaskState::Cancelling
    )
}

#[derive(Debug, Default)]
pub(super) struct HeldCounts {
    /// By the submitter's number, without zeros. `None` until the file has been scanned, and again after a rollback.
    counts: Option<HashMap<i64, u64>>,
    /// The projects of submitters, which never change.
    projects: HashMap<i64, String>,
}

impl HeldCounts {
    /// Counts a task whose row was written.
    pub(super) fn update(&mut self, submitter: Option<i64>, before: TaskState, now: TaskState) {
        let (Some(counts), Some(submitter)) = (&mut self.counts, submitter) else {
            return;
        };
        let entry = counts.entry(submitter);
        match (is_held(before), is_held(now), entry) {
            (false, true, entry) => *entry.or_default() += 1,
            (true, false, Entry::Occupied(mut count)) => {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
            _ => {}
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The counts, of submitters with any held task.
    pub(super) fn read(&mut self, db: &Connection) -> Result<Vec<(Submitter, u64)>, HubStoreError> {
        let counts = match &mut self.counts {
            Some(counts) => counts,
            none => none.insert(scan(db)?),
        };
        let mut found = Vec::with_capacity(counts.len());
        for (&number, &tasks) in &*counts {
            let project = match self.projects.entry(number) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(read_project(db, number)?),
            };
            let project = project.clone();
            found.push((Submitter { number, project }, tasks));
        }
        Ok(found)
    }
}

fn read_project(db: &Connection, submitter: i64) -> Result<String, HubStoreError> {
    let mut query = db.prepare_cached("SELECT project FROM submitter WHERE submitter_no = ?1")?;
    Ok(query.query_row([submitter], |row| row.get(0))?)
}

fn scan(db: &Connection) -> Result<HashMap<i64, u64>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT submitter_no, count(*) FROM task
         WHERE submitter_no IS NOT NULL AND (state = 'offered' OR state = 'running' OR state = 'cancelling')
         GROUP BY submitter_no",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
