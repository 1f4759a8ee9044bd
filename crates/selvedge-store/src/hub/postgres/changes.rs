//! Applies changes of tasks in batches: one statement locks all their rows in the order of their numbers,
//! [`apply`] decides in memory, and one statement for each table writes the result.
//!
//! Invariant: a row is read, decided on and written under one lock, so a later change is decided on the
//! result of the earlier one. Locks are always taken in the same order, so there are no deadlocks.

use std::collections::HashMap;
use std::sync::Arc;

use selvedge_core::model::{AttemptEnd, TaskId};
use selvedge_protocol::lease::LeaseRules;
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::batch_writer::{BatchDecision, BatchOp, DecideError, WriterConnection};
use super::columns::{self, PostgresColumns, small};
use super::peers::NotifyDebouncer;
use super::writes::{BatchWrites, WriteStatements};
use crate::hub::apply::apply;
use crate::hub::change::{ChangeOutcome, StoredAttempt, TaskChange, WriteSet};
use crate::hub::error::HubStoreError;
use crate::hub::sqlite::columns::{closing, damaged};

/// The stored ends of closed attempts.
const SELECT_CLOSED_RUNS: &str = "
    SELECT r.task_id, u.attempt_number, u.closed_as, p.digest
    FROM unnest($1::uuid[], $2::integer[]) AS k (task_id, attempt_number)
    JOIN request r ON r.task_id = k.task_id
    JOIN attempt u ON u.task_no = r.task_no AND u.attempt_number = k.attempt_number
    LEFT JOIN report p ON p.task_no = u.task_no AND p.attempt_number = u.attempt_number
    WHERE u.closed_as IS NOT NULL";

/// The time after the locks were acquired.
pub(super) const SELECT_NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Loads tasks by their ids and locks them until the transaction ends.
fn lock() -> String {
    format!(
        "SELECT {} FROM request r JOIN task t ON t.task_no = r.task_no
         WHERE r.task_id = ANY($1::uuid[]) ORDER BY t.task_no FOR NO KEY UPDATE OF t",
        columns::ROW_COLUMNS
    )
}

pub(super) struct ChangeWriter {
    pub(super) rules: LeaseRules,
    pub(super) notifier: Arc<NotifyDebouncer>,
}

pub(super) struct ChangeStatements {
    lock: Statement,
    stored: Statement,
    now: Statement,
    writes: WriteStatements,
}

pub(super) struct PendingBatch {
    writes: BatchWrites,
    /// Whether peers are notified.
    notifies_peers: bool,
}

impl BatchOp for ChangeWriter {
    type Job = (TaskId, TaskChange);
    type Answer = Option<ChangeOutcome>;
    type Prepared = ChangeStatements;
    type Draft = PendingBatch;

    async fn prepare(client: &Client) -> Result<ChangeStatements, Error> {
        let lock = lock();
        let (lock, stored, moment, writes) = tokio::try_join!(
            client.prepare(&lock),
            client.prepare(SELECT_CLOSED_RUNS),
            client.prepare(SELECT_NOW),
            WriteStatements::prepare(client)
        )?;
        Ok(ChangeStatements {
            lock,
            stored,
            now: moment,
            writes,
        })
    }

    async fn decide(
        &self,
        link: &WriterConnection<ChangeStatements>,
        jobs: &[&Self::Job],
    ) -> Result<BatchDecision<Self::Answer, PendingBatch>, DecideError> {
        let (client, prepared) = (&link.client, &link.prepared);
        let ids: Vec<Uuid> = jobs.iter().map(|(task, _)| task.uuid()).collect();
        let closes = jobs.iter().filter_map(|(task, change)| {
            let run = change.closed_attempt()?;
            Some((task.uuid(), small(run)))
        });
        let (closed, runs): (Vec<Uuid>, Vec<i32>) = closes.unzip();
        let stored = async {
            if closed.is_empty() {
                return Ok(Vec::new());
            }
            client.query(&prepared.stored, &[&closed, &runs]).await
        };
        let lock_values: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&ids];
        // All of them are sent in this order before the first one is answered.
        let (begun, locked, stored, moment) = tokio::join!(
            biased;
            client.batch_execute("BEGIN"),
            client.query(&prepared.lock, &lock_values),
            stored,
            client.query_one(&prepared.now, &[])
        );
        begun?;
        let (locked, stored, moment) = (locked?, stored?, moment?);
        let now = moment.get(0);
        let (answers, draft) = self.apply_all(jobs, &locked, &stored, now)?;
        Ok(BatchDecision { answers, draft })
    }

    async fn commit(
        &self,
        link: &WriterConnection<ChangeStatements>,
        draft: &PendingBatch,
    ) -> Result<(), Error> {
        draft.writes.commit(link, &link.prepared.writes).await?;
        if draft.notifies_peers {
            self.notifier.notify();
        }
        Ok(())
    }
}

impl ChangeWriter {
    fn apply_all(
        &self,
        jobs: &[&(TaskId, TaskChange)],
        locked: &[Row],
        stored: &[Row],
        now: i64,
    ) -> Result<(Vec<Option<ChangeOutcome>>, PendingBatch), HubStoreError> {
        let mut tasks = HashMap::with_capacity(locked.len());
        for row in locked {
            let kept = columns::read_task_row(&mut PostgresColumns::of(row))?;
            let state_before = kept.row.lease.state;
            tasks.insert(kept.row.task_id, (kept, state_before, false));
        }
        let mut runs = stored_runs(stored)?;
        let mut draft = PendingBatch {
            writes: BatchWrites::default(),
            notifies_peers: false,
        };
        let mut answers = Vec::with_capacity(jobs.len());
        for (task, change) in jobs {
            let Some((kept, _, changed)) = tasks.get_mut(task) else {
                answers.push(None);
                continue;
            };
            let key = change.closed_attempt().map(|run| (*task, run));
            let known = key.and_then(|key| runs.get(&key).copied());
            let row = &mut kept.row;
            let (answer, written) = apply(row, change, known, now, &self.rules);
            *changed |= written.row || !written.log.is_empty();
            draft.notifies_peers |= !written.log.is_empty() || !written.journal.is_empty();
            record_closed(&mut runs, *task, &written);
            answers.push(Some(ChangeOutcome {
                answer,
                row: row.clone(),
                has_begun: written.begins_first_attempt(),
                has_ended: written.has_ended,
            }));
            draft.writes.add(kept.number, now, written)?;
        }
        let mut changed: Vec<_> = tasks
            .into_values()
            .filter(|(_, _, changed)| *changed)
            .collect();
        changed.sort_by_key(|(kept, _, _)| kept.number);
        for (kept, state_before, _) in changed {
            draft.writes.add_row(kept, state_before);
        }
        Ok((answers, draft))
    }
}

type StoredRuns = HashMap<(TaskId, u32), StoredAttempt>;

fn stored_runs(rows: &[Row]) -> Result<StoredRuns, HubStoreError> {
    let mut runs = HashMap::with_capacity(rows.len());
    for row in rows {
        let mut cells = PostgresColumns::of(row);
        let task = TaskId::new(cells.next()?);
        let run = cells.small()?;
        let closing = closing(cells.next()?)?;
        let digest: Option<Vec<u8>> = cells.next()?;
        let digest = digest.map(<[u8; 32]>::try_from).transpose();
        let digest = digest.map_err(|_| damaged("a digest has an unexpected length"))?;
        let stored = closing.map(|closing| StoredAttempt {
            end: closing,
            digest,
        });
        runs.extend(stored.map(|stored| ((task, run), stored)));
    }
    Ok(runs)
}

/// Records the closed attempts for the next change of the same batch.
fn record_closed(runs: &mut StoredRuns, task: TaskId, written: &WriteSet) {
    for (run, closing) in &written.closed {
        let fresh = StoredAttempt {
            end: *closing,
            digest: None,
        };
        let stored = runs.entry((task, *run)).or_insert(fresh);
        if stored.end == AttemptEnd::Interrupted {
            stored.end = *closing;
        }
    }
    for (run, _, digest, _) in &written.reports {
        if let Some(stored) = runs.get_mut(&(task, *run)) {
            stored.digest.get_or_insert(*digest);
        }
    }
}
