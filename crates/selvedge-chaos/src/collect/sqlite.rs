//! Reads the hub's tables from its SQLite file. Uses its own SQL instead of the store's, so that a bug
//! in the store's queries cannot hide what is stored.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;

use super::CollectError;
use crate::history::{ObservedAttempt, ObservedCost, ObservedReport, ObservedTask};

/// Reads all tables. Fails if the database is damaged.
pub fn read_sqlite_tables(path: &Path) -> Result<BTreeMap<String, ObservedTask>, CollectError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    let integrity: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if integrity != "ok" {
        return Err(format!("the database is damaged: {integrity}").into());
    }
    let mut tasks = read_task_rows(&db)?;
    let mut put = |sql: &str, into: fn(&mut ObservedTask, &Row<'_>) -> Result<(), CollectError>| {
        let mut query = db.prepare(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            // Rows of a task that does not exist create an empty task, which is then reported as a task
            // without a submission.
            into(tasks.entry(id).or_default(), row)?;
        }
        Ok::<(), CollectError>(())
    };
    put(
        "SELECT task_id, x.body FROM task_body x JOIN task t USING (task_no)",
        |task, row| {
            let body: Value = serde_json::from_str(&row.get::<_, String>(1)?)?;
            body["description"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut task.description);
            Ok(())
        },
    )?;
    put(
        "SELECT task_id, x.seq, x.event FROM log x JOIN task t USING (task_no) ORDER BY task_no, x.seq",
        |task, row| {
            let event = serde_json::from_str(&row.get::<_, String>(2)?)?;
            task.log.push((row.get(1)?, event));
            Ok(())
        },
    )?;
    put(
        "SELECT task_id, x.attempt_number, x.epoch, x.closed_as FROM attempt x JOIN task t USING (task_no)
         ORDER BY task_no, x.attempt_number",
        |task, row| {
            task.runs.push(ObservedAttempt {
                number: row.get(1)?,
                epoch: row.get(2)?,
                closing: row.get(3)?,
            });
            Ok(())
        },
    )?;
    put(
        "SELECT task_id, x.attempt_number, x.epoch, x.digest, x.body FROM report x JOIN task t USING (task_no)",
        |task, row| {
            let (run, epoch, digest, body) = (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
            task.reports.push(ObservedReport {
                run,
                epoch,
                digest,
                body,
            });
            Ok(())
        },
    )?;
    put(
        "SELECT task_id, x.seq, x.event FROM journal x JOIN task t USING (task_no) ORDER BY task_no, x.seq",
        |task, row| {
            task.journal.push((row.get(1)?, row.get(2)?));
            Ok(())
        },
    )?;
    put(
        "SELECT task_id, attempt_number, call_id, CASE source WHEN 'unknown' THEN NULL ELSE micro_usd END
         FROM cost JOIN task USING (task_no)",
        |task, row| {
            task.costs.push(ObservedCost { run: row.get(1)?, call: row.get(2)?, micro_usd: row.get(3)? });
            Ok(())
        },
    )?;
    put(
        "SELECT task_id, x.completion_id, x.body FROM result x JOIN task t USING (task_no)",
        |task, row| {
            task.results.push((
                row.get(1)?,
                serde_json::from_str(&row.get::<_, String>(2)?)?,
            ));
            Ok(())
        },
    )?;
    Ok(tasks)
}

fn read_task_rows(db: &Connection) -> Result<BTreeMap<String, ObservedTask>, CollectError> {
    let mut query = db.prepare(
        "SELECT task_id, state, epoch, worker, last_attempt, open_attempt, reports, losses, cancel, completion,
                outcome, priority, rank, created_at, max_attempts, event_seq, log_seq FROM task",
    )?;
    let mut rows = query.query([])?;
    let mut tasks = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let task = ObservedTask {
            state: row.get(1)?,
            epoch: row.get(2)?,
            worker: row.get(3)?,
            last_run: row.get(4)?,
            open_run: row.get(5)?,
            reports_counted: row.get(6)?,
            losses: row.get(7)?,
            cancel: row.get(8)?,
            completion: row.get(9)?,
            outcome: row.get(10)?,
            priority: row.get(11)?,
            rank: row.get(12)?,
            created_at: row.get(13)?,
            max_attempts: row.get(14)?,
            event_seq: row.get(15)?,
            log_seq: row.get(16)?,
            ..ObservedTask::default()
        };
        tasks.insert(row.get(0)?, task);
    }
    Ok(tasks)
}
