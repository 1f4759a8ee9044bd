//! Changes of tasks, a batch at a time: one statement locks all their rows in the order of their
//! numbers, what follows is decided in memory by [`apply`], and one statement for each table writes it.
//!
//! Invariant: a row is read, decided on and written under one lock, so that whoever comes second
//! decides on what the first has left. Locks are taken in one order everywhere, so nobody waits in a
//! circle.

use std::collections::HashMap;
use std::sync::Arc;

use selvedge_core::lease::Rules;
use selvedge_core::model::{Closing, TaskId};
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::columns::{self, Cells, Kept, small};
use super::lane::{Decided, HubStoreErrorOr, Link, Work};
use super::neighbours::Bell;
use super::writes::{Statements, Writes};
use crate::hub::apply::apply;
use crate::hub::change::{Change, StoredRun, Verdict, Written};
use crate::hub::error::HubStoreError;
use crate::hub::sqlite::columns::{closing, damaged};

/// What is stored of runs that are closed.
const STORED: &str = "
    SELECT r.task_id, u.run_number, u.closing, p.digest
    FROM unnest($1::uuid[], $2::integer[]) AS k (task_id, run_number)
    JOIN request r ON r.task_id = k.task_id
    JOIN run u ON u.task_no = r.task_no AND u.run_number = k.run_number
    LEFT JOIN report p ON p.task_no = u.task_no AND p.run_number = u.run_number
    WHERE u.closing IS NOT NULL";

/// The moment after the locks were had.
pub(super) const MOMENT: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Tasks by their ids, for as long as the transaction lasts.
fn lock() -> String {
    format!(
        "SELECT {} FROM request r JOIN task t ON t.task_no = r.task_no
         WHERE r.task_id = ANY($1::uuid[]) ORDER BY t.task_no FOR NO KEY UPDATE OF t",
        columns::ROW
    )
}

pub(super) struct Changes {
    pub(super) rules: Rules,
    pub(super) bell: Arc<Bell>,
}

pub(super) struct Prepared {
    lock: Statement,
    stored: Statement,
    moment: Statement,
    writes: Statements,
}

pub(super) struct Draft {
    writes: Writes,
    /// Whether other hubs are to hear of it.
    heard: bool,
}

impl Work for Changes {
    type Job = (TaskId, Change);
    type Answer = Option<Verdict>;
    type Prepared = Prepared;
    type Draft = Draft;

    async fn prepare(client: &Client) -> Result<Prepared, Error> {
        let lock = lock();
        let (lock, stored, moment, writes) = tokio::try_join!(
            client.prepare(&lock),
            client.prepare(STORED),
            client.prepare(MOMENT),
            Statements::prepare(client)
        )?;
        Ok(Prepared {
            lock,
            stored,
            moment,
            writes,
        })
    }

    async fn decide(
        &self,
        link: &Link<Prepared>,
        jobs: &[&Self::Job],
    ) -> Result<Decided<Self::Answer, Draft>, HubStoreErrorOr> {
        let (client, prepared) = (&link.client, &link.prepared);
        let ids: Vec<Uuid> = jobs.iter().map(|(task, _)| task.uuid()).collect();
        let closes = jobs.iter().filter_map(|(task, change)| {
            let run = change.run_number()?;
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
        // All of them are sent before the first is answered, in this order.
        let (begun, locked, stored, moment) = tokio::join!(
            biased;
            client.batch_execute("BEGIN"),
            client.query(&prepared.lock, &lock_values),
            stored,
            client.query_one(&prepared.moment, &[])
        );
        begun?;
        let (locked, stored, moment) = (locked?, stored?, moment?);
        let now = moment.get(0);
        let (answers, draft) = self.apply_all(jobs, &locked, &stored, now)?;
        Ok(Decided { answers, draft })
    }

    async fn commit(&self, link: &Link<Prepared>, draft: &Draft) -> Result<(), Error> {
        draft.writes.commit(link, &link.prepared.writes).await?;
        if draft.heard {
            self.bell.ring();
        }
        Ok(())
    }
}

impl Changes {
    fn apply_all(
        &self,
        jobs: &[&(TaskId, Change)],
        locked: &[Row],
        stored: &[Row],
        now: i64,
    ) -> Result<(Vec<Option<Verdict>>, Draft), HubStoreError> {
        let mut tasks = HashMap::with_capacity(locked.len());
        for row in locked {
            let kept = columns::kept(&mut Cells::of(row))?;
            tasks.insert(kept.row.task_id, (kept, false));
        }
        let mut runs = stored_runs(stored)?;
        let mut draft = Draft {
            writes: Writes::default(),
            heard: false,
        };
        let mut answers = Vec::with_capacity(jobs.len());
        for (task, change) in jobs {
            let Some((kept, changed)) = tasks.get_mut(task) else {
                answers.push(None);
                continue;
            };
            let key = change.run_number().map(|run| (*task, run));
            let known = key.and_then(|key| runs.get(&key).copied());
            let row = &mut kept.row;
            let (answer, written) = apply(row, change, known, now, &self.rules);
            *changed |= written.row || !written.log.is_empty();
            draft.heard |= !written.log.is_empty() || !written.journal.is_empty();
            remember(&mut runs, *task, &written);
            draft.writes.add(kept.number, now, written)?;
            let row = row.clone();
            answers.push(Some(Verdict { answer, row }));
        }
        let changed = tasks.into_values().filter(|(_, changed)| *changed);
        draft.writes.rows = changed.map(|(kept, _)| kept).collect();
        draft.writes.rows.sort_by_key(|Kept { number, .. }| *number);
        Ok((answers, draft))
    }
}

type StoredRuns = HashMap<(TaskId, u32), StoredRun>;

fn stored_runs(rows: &[Row]) -> Result<StoredRuns, HubStoreError> {
    let mut runs = HashMap::with_capacity(rows.len());
    for row in rows {
        let mut cells = Cells::of(row);
        let task = TaskId::new(cells.next()?);
        let run = cells.small()?;
        let closing = closing(cells.next()?)?;
        let digest: Option<Vec<u8>> = cells.next()?;
        let digest = digest.map(<[u8; 32]>::try_from).transpose();
        let digest = digest.map_err(|_| damaged("a digest of another length"))?;
        let stored = closing.map(|closing| StoredRun { closing, digest });
        runs.extend(stored.map(|stored| ((task, run), stored)));
    }
    Ok(runs)
}

/// What the next change of the same batch finds of these runs.
fn remember(runs: &mut StoredRuns, task: TaskId, written: &Written) {
    for (run, closing) in &written.closed {
        let fresh = StoredRun {
            closing: *closing,
            digest: None,
        };
        let stored = runs.entry((task, *run)).or_insert(fresh);
        if stored.closing == Closing::Interrupted {
            stored.closing = *closing;
        }
    }
    for (run, _, digest, _) in &written.reports {
        if let Some(stored) = runs.get_mut(&(task, *run)) {
            stored.digest.get_or_insert(*digest);
        }
    }
}
