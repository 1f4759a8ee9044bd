//! Writes and reads the data of a change, apart from the task's row.

use rusqlite::{Connection, OptionalExtension, Row, params};
use selvedge_core::model::{AttemptEnd, TaskId};
use selvedge_protocol::lease::LeaseEvent;
use selvedge_protocol::{CostEntry, FileRef};

use super::columns::{closing, damaged, word};
use super::{SqliteHub, access};
use crate::hub::change::{JournalLine, StoredAttempt, WriteSet};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{AttemptRow, Completion, ReportRow};
use crate::hub::traits::{RunRecords, StoreFuture};

pub(super) fn insert_log_line(
    db: &Connection,
    task_no: i64,
    seq: u64,
    now: i64,
    event: &LeaseEvent,
) -> Result<(), HubStoreError> {
    let event = serde_json::to_string(event).map_err(damaged)?;
    db.prepare_cached("INSERT INTO log VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![task_no, seq, now, event])?;
    Ok(())
}

/// The stored end of an attempt; `None` until it is closed.
pub(super) fn load_stored_attempt(
    db: &Connection,
    task_no: i64,
    attempt_number: u32,
) -> Result<Option<StoredAttempt>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT closed_as FROM attempt WHERE task_no = ?1 AND attempt_number = ?2 AND closed_as IS NOT NULL",
    )?;
    let word = query.query_row(params![task_no, attempt_number], |row| row.get(0));
    let Some(closing) = closing(word.optional()?)? else {
        return Ok(None);
    };
    let mut query =
        db.prepare_cached("SELECT digest FROM report WHERE task_no = ?1 AND attempt_number = ?2")?;
    let digest = query.query_row(params![task_no, attempt_number], |row| row.get(0));
    let digest = digest.optional()?;
    Ok(Some(StoredAttempt {
        end: closing,
        digest,
    }))
}

pub(super) fn insert_writes(
    db: &Connection,
    task_no: i64,
    now: i64,
    written: &WriteSet,
) -> Result<(), HubStoreError> {
    for (seq, event) in &written.log {
        insert_log_line(db, task_no, *seq, now, event)?;
    }
    for (attempt_number, epoch) in &written.begun {
        db.prepare_cached(
            "INSERT INTO attempt (task_no, attempt_number, epoch, begun_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![task_no, attempt_number, epoch, now])?;
    }
    for (attempt_number, closing) in &written.closed {
        close(db, task_no, *attempt_number, *closing, now)?;
    }
    for (table, reports) in [
        ("report", &written.reports),
        ("late_report", &written.late_reports),
    ] {
        for (attempt_number, epoch, digest, body) in reports {
            db.prepare_cached(&format!(
                "INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING"
            ))?
            .execute(params![task_no, attempt_number, epoch, now, digest, body])?;
        }
    }
    for line in &written.journal {
        db.prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![task_no, line.seq, now, line.event])?;
    }
    for line in &written.costs {
        let body = serde_json::to_string(line).map_err(damaged)?;
        db.prepare_cached(
            "INSERT INTO cost VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            task_no,
            line.attempt_number,
            line.call_id,
            now,
            line.cost.micro_usd.map(|amount| amount.0),
            word(line.cost.source),
            line.usage.tokens_in(),
            line.usage.tokens_out(),
            body
        ])?;
    }
    for attempt_number in &written.interrupted {
        let line = CostEntry::lost(*attempt_number);
        let body = serde_json::to_string(&line).map_err(damaged)?;
        db.prepare_cached(
            "INSERT INTO cost SELECT ?1, ?2, ?3, ?4, NULL, ?5, 0, 0, ?6
             WHERE NOT EXISTS (SELECT 1 FROM cost WHERE task_no = ?1 AND attempt_number = ?2)",
        )?
        .execute(params![
            task_no,
            attempt_number,
            line.call_id,
            now,
            word(line.cost.source),
            body
        ])?;
    }
    for file in &written.files {
        db.prepare_cached(
            "INSERT INTO file VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET hash = excluded.hash, size = excluded.size",
        )?
        .execute(params![task_no, file.name, file.hash, file.size])?;
    }
    if let Some(audit) = &written.audit {
        access::insert_task_audit(db, task_no, now, audit)?;
    }
    if let Some((completion, body)) = &written.result {
        db.prepare_cached("INSERT INTO result VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")?
            .execute(params![task_no, completion, now, body])?;
    }
    Ok(())
}

fn close(
    db: &Connection,
    task_no: i64,
    attempt_number: u32,
    closing: AttemptEnd,
    now: i64,
) -> Result<(), HubStoreError> {
    db.prepare_cached(
        "UPDATE attempt SET closed_at = ?3, closed_as = ?4
         WHERE task_no = ?1 AND attempt_number = ?2 AND (closed_as IS NULL OR closed_as = 'interrupted')",
    )?
    .execute(params![task_no, attempt_number, now, word(closing)])?;
    Ok(())
}

fn read_report_row(row: &Row<'_>) -> rusqlite::Result<ReportRow> {
    Ok(ReportRow {
        attempt_number: row.get(0)?,
        epoch: row.get(1)?,
        body: row.get(2)?,
    })
}

impl RunRecords for SqliteHub {
    fn journal(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<JournalLine>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT seq, event FROM journal
                 WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let lines = query.query_map(params![task.to_string(), after, limit], |row| {
                Ok(JournalLine {
                    seq: row.get(0)?,
                    event: row.get(1)?,
                })
            })?;
            Ok(lines.collect::<Result<_, _>>()?)
        }))
    }

    fn runs(&self, task: TaskId) -> StoreFuture<'_, Vec<AttemptRow>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT attempt_number, epoch, begun_at, closed_at, closed_as FROM attempt
                 WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1) ORDER BY attempt_number",
            )?;
            let mut rows = query.query([task.to_string()])?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                runs.push(AttemptRow {
                    attempt_number: row.get(0)?,
                    epoch: row.get(1)?,
                    begun_at: row.get(2)?,
                    closed_at: row.get(3)?,
                    end: closing(row.get(4)?)?,
                });
            }
            Ok(runs)
        }))
    }

    fn reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT attempt_number, epoch, body FROM report WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1) ORDER BY attempt_number",
            )?;
            let rows = query.query_map([task.to_string()], read_report_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        }))
    }

    fn report(&self, task: TaskId, attempt_number: u32) -> StoreFuture<'_, Option<ReportRow>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT attempt_number, epoch, body FROM report WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1) AND attempt_number = ?2",
            )?;
            let found = query.query_row(params![task.to_string(), attempt_number], read_report_row);
            Ok(found.optional()?)
        }))
    }

    fn late_reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT attempt_number, epoch, body FROM late_report WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1)
                 ORDER BY epoch, attempt_number",
            )?;
            let rows = query.query_map([task.to_string()], read_report_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        }))
    }

    fn result(&self, task: TaskId) -> StoreFuture<'_, Option<Completion>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT completion_id, body FROM result WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1)
                 ORDER BY at DESC, completion_id DESC LIMIT 1",
            )?;
            let found = query.query_row([task.to_string()], |row| {
                Ok(Completion {
                    completion_id: row.get(0)?,
                    body: row.get(1)?,
                })
            });
            Ok(found.optional()?)
        }))
    }

    fn files(&self, task: TaskId) -> StoreFuture<'_, Vec<FileRef>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT name, hash, size FROM file WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1) ORDER BY name",
            )?;
            let files = query.query_map([task.to_string()], |row| {
                Ok(FileRef {
                    name: row.get(0)?,
                    hash: row.get(1)?,
                    size: row.get(2)?,
                })
            })?;
            Ok(files.collect::<Result<_, _>>()?)
        }))
    }
}
