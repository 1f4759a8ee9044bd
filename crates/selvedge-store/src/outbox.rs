//! A worker's outbox: its held tasks, their journals, and the entries that the hub has not acknowledged, in
//! one SQLite file.
//!
//! Invariant: an event and the entry that contains it become durable together, before anything depends on
//! them. An entry is removed only once the hub has acknowledged it as durable. A worker that is killed at any
//! moment therefore finds its unacknowledged entries and sends them again.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use selvedge_core::model::{Envelope, TaskId};
use selvedge_protocol::LeaseId;

use crate::error::StoreError;
use crate::sqlite::begin_immediate;

const FILE: &str = "outbox.db";
const SCHEMA: &str = include_str!("outbox/schema.sql");
const FORMAT: usize = 1;
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A worker's outbox; it belongs to one process.
#[derive(Debug)]
pub struct Outbox {
    db: Connection,
}

/// A task that the worker holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTask {
    /// The assignment, as JSON.
    pub assign: String,
    /// The last stored entry.
    pub last_seq: u64,
    /// The number of the open attempt; 0 for none.
    pub attempt_number: u32,
}

/// An entry that waits for its acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// Its number in the stream of its lease.
    pub seq: u64,
    /// The message, as JSON.
    pub message: String,
    /// Names of the files to be uploaded before it, as a JSON list.
    pub files: String,
}

impl Outbox {
    /// Opens the outbox in an existing directory; creates the file if it is missing.
    ///
    /// # Errors
    /// The file cannot be read or written, or a later release wrote it.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(FILE);
        let db = Connection::open(&path)?;
        db.busy_timeout(BUSY_TIMEOUT)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;",
        )?;
        let found: usize = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found > FORMAT {
            return Err(StoreError::Newer {
                path,
                found,
                supported: FORMAT,
            });
        }
        let outbox = Self { db };
        if found == 0 {
            let transaction = begin_immediate(&outbox.db)?;
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            transaction.commit()?;
        }
        Ok(outbox)
    }

    /// Adds a task; data of an earlier lease of the task is removed.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn add_task(&self, key: LeaseId, assign: &str) -> Result<(), StoreError> {
        let transaction = begin_immediate(&self.db)?;
        delete_task(&transaction, key.task_id)?;
        transaction.execute(
            "INSERT INTO held (task_id, lease_epoch, assign) VALUES (?1, ?2, ?3)",
            params![key.task_id.to_string(), key.lease_epoch, assign],
        )?;
        Ok(transaction.commit()?)
    }

    /// All held tasks.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn held(&self) -> Result<Vec<HeldTask>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT assign, last_seq, attempt_number FROM held ORDER BY task_id")?;
        let rows = query.query_map([], |row| {
            Ok(HeldTask {
                assign: row.get(0)?,
                last_seq: row.get(1)?,
                attempt_number: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Appends events that follow `after` and the entries that contain them, and returns once everything is
    /// durable. Returns `false` if the task is no longer held under this lease, or its journal does not end
    /// at `after`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn append(
        &self,
        key: LeaseId,
        after: u64,
        events: &[String],
        entries: &[OutboxEntry],
        attempt_number: u32,
    ) -> Result<bool, StoreError> {
        let transaction = begin_immediate(&self.db)?;
        let task = key.task_id.to_string();
        let held: Option<u64> = transaction
            .query_row(
                "SELECT last_seq FROM held WHERE task_id = ?1 AND lease_epoch = ?2",
                params![task, key.lease_epoch],
                |row| row.get(0),
            )
            .optional()?;
        let last = last_event(&transaction, key.task_id)?;
        if held.is_none() || (!events.is_empty() && last != after) {
            return Ok(false);
        }
        insert_events(&transaction, key.task_id, after + 1, events)?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO entry (task_id, lease_epoch, seq, message, files) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for entry in entries {
            insert.execute(params![
                task,
                key.lease_epoch,
                entry.seq,
                entry.message,
                entry.files
            ])?;
        }
        drop(insert);
        let last_seq = entries.last().map(|entry| entry.seq).or(held);
        transaction.execute(
            "UPDATE held SET last_seq = ?2, attempt_number = ?3 WHERE task_id = ?1",
            params![task, last_seq, attempt_number],
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// A task's journal as this worker knows it.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn events(&self, task: TaskId) -> Result<Vec<Envelope>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT envelope FROM event WHERE task_id = ?1 ORDER BY seq")?;
        let rows = query.query_map([task.to_string()], |row| row.get::<_, String>(0))?;
        rows.map(|row| {
            serde_json::from_str(&row?).map_err(|error| StoreError::Damaged(error.to_string()))
        })
        .collect()
    }

    /// At most `limit` entries of a lease from `seq` on, in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn entries(
        &self,
        key: LeaseId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<OutboxEntry>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT seq, message, files FROM entry
             WHERE task_id = ?1 AND lease_epoch = ?2 AND seq >= ?3 ORDER BY seq LIMIT ?4",
        )?;
        let rows = query.query_map(
            params![key.task_id.to_string(), key.lease_epoch, seq, limit],
            |row| {
                Ok(OutboxEntry {
                    seq: row.get(0)?,
                    message: row.get(1)?,
                    files: row.get(2)?,
                })
            },
        )?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records that the hub has acknowledged everything of a lease up to and including `seq`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn mark_acknowledged(&self, key: LeaseId, seq: u64) -> Result<(), StoreError> {
        self.db.execute(
            "DELETE FROM entry WHERE task_id = ?1 AND lease_epoch = ?2 AND seq <= ?3",
            params![key.task_id.to_string(), key.lease_epoch, seq],
        )?;
        Ok(())
    }

    /// Removes a task that is no longer held.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn remove_task(&self, task: TaskId) -> Result<(), StoreError> {
        let transaction = begin_immediate(&self.db)?;
        delete_task(&transaction, task)?;
        Ok(transaction.commit()?)
    }
}

fn delete_task(db: &Connection, task: TaskId) -> Result<(), StoreError> {
    for table in ["held", "event", "entry"] {
        db.execute(
            &format!("DELETE FROM {table} WHERE task_id = ?1"),
            [task.to_string()],
        )?;
    }
    Ok(())
}

fn last_event(db: &Connection, task: TaskId) -> Result<u64, StoreError> {
    let mut query =
        db.prepare_cached("SELECT coalesce(max(seq), 0) FROM event WHERE task_id = ?1")?;
    Ok(query.query_row([task.to_string()], |row| row.get(0))?)
}

fn insert_events(
    db: &Connection,
    task: TaskId,
    first: u64,
    events: &[String],
) -> Result<(), StoreError> {
    let mut insert =
        db.prepare_cached("INSERT INTO event (task_id, seq, envelope) VALUES (?1, ?2, ?3)")?;
    for (seq, event) in (first..).zip(events) {
        insert.execute(params![task.to_string(), seq, event])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(epoch: u64) -> LeaseId {
        LeaseId {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: epoch,
        }
    }

    fn entry(seq: u64) -> OutboxEntry {
        OutboxEntry {
            seq,
            message: format!("{{\"seq\":{seq}}}"),
            files: "[]".to_owned(),
        }
    }

    #[test]
    fn outbox_entry_is_kept_until_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path()).unwrap();
        outbox.add_task(key(1), "{}").unwrap();
        assert!(
            outbox
                .append(key(1), 0, &[], &[entry(1), entry(2), entry(3)], 1)
                .unwrap()
        );
        drop(outbox);
        let outbox = Outbox::open(directory.path()).unwrap();
        assert_eq!(outbox.held().unwrap()[0].last_seq, 3);
        assert_eq!(outbox.entries(key(1), 1, 9).unwrap().len(), 3);
        outbox.mark_acknowledged(key(1), 2).unwrap();
        assert_eq!(outbox.entries(key(1), 1, 9).unwrap(), [entry(3)]);
        assert_eq!(outbox.entries(key(2), 1, 9).unwrap(), []);
    }

    #[test]
    fn outbox_rejects_gaps_and_older_leases() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path()).unwrap();
        outbox.add_task(key(1), "{}").unwrap();
        let one = ["{}".to_owned()];
        assert!(outbox.append(key(1), 0, &one, &[entry(1)], 0).unwrap());
        assert!(!outbox.append(key(1), 0, &one, &[entry(2)], 0).unwrap());
        outbox.add_task(key(2), "{}").unwrap();
        assert!(!outbox.append(key(1), 1, &one, &[entry(2)], 0).unwrap());
        assert!(
            outbox.append(key(2), 0, &one, &[entry(1)], 0).unwrap(),
            "a new grant begins anew"
        );
        outbox.remove_task(key(2).task_id).unwrap();
        assert_eq!(outbox.held().unwrap(), []);
    }
}
