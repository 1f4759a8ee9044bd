//! The reader pool: a few read-only connections, each used by one thread at a time.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use selvedge_protocol::TaskState;

use super::columns::{self, damaged, from_word, parsed};
use super::open;
use crate::hub::error::HubStoreError;
use crate::hub::overview::{ACCEPTED, CLOSINGS, RETRIES, VERIFIED_BY_CHECKS};
use crate::hub::rows::{Overview, QueuedGroup};

const POOL_SIZE: usize = 4;
/// Tasks of a project, or all.
const OF_PROJECT: &str = "(?1 IS NULL OR project = ?1)";

#[derive(Debug)]
pub(super) struct ReaderPool {
    free: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl ReaderPool {
    pub(super) fn open(path: &Path) -> Result<Self, HubStoreError> {
        let connections: Result<Vec<_>, _> = (0..POOL_SIZE)
            .map(|_| open::open_for_reading(path))
            .collect();
        Ok(Self {
            free: Arc::new(Mutex::new(connections?)),
            permits: Arc::new(Semaphore::new(POOL_SIZE)),
        })
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, HubStoreError> + Send + 'static,
    ) -> Result<T, HubStoreError> {
        let room = Arc::clone(&self.permits).acquire_owned().await;
        let room = room.map_err(|_| HubStoreError::Stopping)?;
        let free = Arc::clone(&self.free);
        let read = tokio::task::spawn_blocking(move || {
            // Invariant: there are as many connections as permits, so one is free.
            let taken = free.lock().pop();
            let db = taken.ok_or(HubStoreError::Stopping)?;
            let answer = job(&db);
            free.lock().push(db);
            drop(room);
            answer
        });
        read.await.map_err(|_| HubStoreError::Stopping)?
    }

    /// Reads one row by its key on the calling thread: to wake another one takes longer.
    pub(super) async fn read_by_key<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, HubStoreError> + Send,
    ) -> Result<T, HubStoreError> {
        let permit = self.permits.acquire().await;
        let _permit = permit.map_err(|_| HubStoreError::Stopping)?;
        let taken = self.free.lock().pop();
        let db = taken.ok_or(HubStoreError::Stopping)?;
        let answer = job(&db);
        self.free.lock().push(db);
        answer
    }
}

/// Totals over everything, or over a project; each is a separate query that uses an index or one pass.
pub(super) fn overview(db: &Connection, project: Option<&str>) -> Result<Overview, HubStoreError> {
    let mut overview = Overview::default();
    let counts = |sql: &str| -> Result<Vec<(String, u64)>, HubStoreError> {
        let mut query = db.prepare_cached(sql)?;
        let rows = query.query_map([project], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    for (state, count) in counts(&format!(
        "SELECT state, count(*) FROM task WHERE {OF_PROJECT} GROUP BY state"
    ))? {
        let state = TaskState::parse(&state).ok_or_else(|| damaged(&state))?;
        overview.states.push((state, count));
    }
    let over = "outcome IS NOT NULL AND state <> 'needs_review'";
    for (outcome, count) in counts(&format!(
        "SELECT outcome, count(*) FROM task WHERE {over} AND {OF_PROJECT} GROUP BY outcome"
    ))? {
        overview.outcomes.push((from_word(outcome)?, count));
    }
    for (sql, into) in [
        (CLOSINGS, &mut overview.closings),
        (RETRIES, &mut overview.retries),
    ] {
        let condition = OF_PROJECT.replace("project", "t.project");
        for (closing, count) in counts(&sql.replace("{filter}", &condition))? {
            into.push((from_word(closing)?, count));
        }
    }
    overview.accepted =
        db.query_row(&format!("{ACCEPTED} AND {OF_PROJECT}"), [project], |row| {
            row.get(0)
        })?;
    for (wanted, into) in [
        (over, &mut overview.reports),
        (VERIFIED_BY_CHECKS, &mut overview.verified_after),
    ] {
        let sql = format!(
            "SELECT CAST(reports AS TEXT), count(*) FROM task WHERE {wanted} AND {OF_PROJECT} GROUP BY reports"
        );
        for (reports, count) in counts(&sql)? {
            into.push((parsed(&reports)?, count));
        }
    }
    overview.losses = db.query_row(
        &format!("SELECT coalesce(sum(losses), 0) FROM task WHERE {OF_PROJECT}"),
        [project],
        |row| row.get(0),
    )?;
    overview.cost = db.query_row(
        "SELECT count(*) AS calls,
                count(CASE WHEN micro_usd IS NULL OR source = 'unknown' THEN 1 END) AS unknown,
                count(CASE WHEN source = 'estimated' THEN 1 END) AS estimated,
                coalesce(sum(micro_usd), 0) AS micro_usd, coalesce(sum(tokens_in), 0) AS tokens_in,
                coalesce(sum(tokens_out), 0) AS tokens_out
         FROM cost WHERE ?1 IS NULL OR (SELECT project FROM task t WHERE t.task_no = cost.task_no) = ?1",
        [project],
        |row| Ok(columns::read_ledger_total(row)),
    )??;
    let mut query = db.prepare_cached(&format!(
        "SELECT labels, count(*), min(created_at) FROM task WHERE state = 'queued' AND {OF_PROJECT} GROUP BY labels"
    ))?;
    let mut rows = query.query([project])?;
    while let Some(row) = rows.next()? {
        let labels: String = row.get(0)?;
        overview.waiting.push(QueuedGroup {
            labels: serde_json::from_str(&labels).map_err(damaged)?,
            waiting: row.get(1)?,
            since: row.get(2)?,
        });
    }
    Ok(overview)
}
