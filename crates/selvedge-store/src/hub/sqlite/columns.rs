//! Conversions between task records and rows of the database.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::types::FromSql;
use rusqlite::{Connection, Row, params};
use selvedge_core::model::{AttemptEnd, MicroUsd, Outcome, ParentPlan, ReviewRecord, TaskId};
use selvedge_protocol::TaskState;
use selvedge_protocol::lease::LeaseState;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hub::error::HubStoreError;
use crate::hub::rows::{LedgerTotal, TaskRecord, TaskView};

/// The columns for decisions, as [`row`] reads them.
macro_rules! row_columns {
    () => {
        "task_id, state, epoch, token, worker, due_at, last_attempt, open_attempt, reports, \
         passed_attempt, losses, cancel, completion, outcome, feedback, max_attempts, reason, entry_seq, event_seq, \
         log_seq, created_at, updated_at"
    };
}
/// The columns that [`read_task_row`] reads.
pub(super) const ROW_COLUMNS: &str = concat!(row_columns!(), ", task_no, submitter_no");
/// All columns of a task and its cost, as [`read_task_view`] reads them.
pub(super) const VIEW_COLUMNS: &str = concat!(
    row_columns!(),
    ", project, submitted_by, submitter_no, retry_of, part_of, subtask, title, agent, place, priority, labels, \
     (SELECT count(*) FROM cost c WHERE c.task_no = task.task_no), \
     (SELECT count(*) FROM cost c WHERE c.task_no = task.task_no \
        AND (c.micro_usd IS NULL OR c.source = 'unknown')), \
     (SELECT count(*) FROM cost c WHERE c.task_no = task.task_no AND c.source = 'estimated'), \
     (SELECT coalesce(sum(micro_usd), 0) FROM cost c WHERE c.task_no = task.task_no), \
     (SELECT coalesce(sum(tokens_in), 0) FROM cost c WHERE c.task_no = task.task_no), \
     (SELECT coalesce(sum(tokens_out), 0) FROM cost c WHERE c.task_no = task.task_no)"
);

/// A task's row and its data that only this database has.
#[derive(Debug)]
pub(super) struct SqliteTaskRow {
    /// The task's number in the database.
    pub(super) number: i64,
    /// The submitter's number in the database; a plan has none.
    pub(super) submitter: Option<i64>,
    /// The deadline that is stored in the database.
    pub(super) due: Option<i64>,
    /// The state that is stored in the database.
    pub(super) state: TaskState,
    pub(super) row: TaskRecord,
}

/// Reads columns in order; finding each by name would search all of them.
struct SqliteColumns<'a, 'db> {
    row: &'a Row<'db>,
    next: usize,
}

impl SqliteColumns<'_, '_> {
    fn next<T: FromSql>(&mut self) -> Result<T, HubStoreError> {
        let value = self.row.get(self.next)?;
        self.next += 1;
        Ok(value)
    }
}

pub(crate) fn damaged(reason: impl Display) -> HubStoreError {
    HubStoreError::Damaged(reason.to_string())
}

pub(crate) fn parsed<T: FromStr>(text: &str) -> Result<T, HubStoreError> {
    text.parse()
        .map_err(|_| damaged(format_args!("unexpected {text:?}")))
}

/// A one-word enum in its wire format.
pub(crate) fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

pub(crate) fn from_word<T: DeserializeOwned>(word: String) -> Result<T, HubStoreError> {
    serde_json::from_value(serde_json::Value::String(word)).map_err(damaged)
}

pub(crate) fn outcome(word: Option<String>) -> Result<Option<Outcome>, HubStoreError> {
    word.map(from_word).transpose()
}

pub(crate) fn closing(word: Option<String>) -> Result<Option<AttemptEnd>, HubStoreError> {
    word.map(from_word).transpose()
}

/// Parses a review. The column is called `feedback` because it once held only rejections that requested
/// another attempt; such values are still readable.
pub(crate) fn review(json: Option<String>) -> Result<Option<ReviewRecord>, HubStoreError> {
    json.map(|json| serde_json::from_str(&json).map_err(damaged))
        .transpose()
}

fn row(cells: &mut SqliteColumns<'_, '_>) -> Result<TaskRecord, HubStoreError> {
    let task_id: String = cells.next()?;
    let state: String = cells.next()?;
    Ok(TaskRecord {
        task_id: parsed(&task_id)?,
        lease: LeaseState {
            state: TaskState::parse(&state).ok_or_else(|| damaged(&state))?,
            epoch: cells.next()?,
            token: cells.next()?,
            worker: cells.next()?,
            due_at: cells.next()?,
            last_attempt: cells.next()?,
            open_attempt: cells.next()?,
            reports: cells.next()?,
            passed_attempt: cells.next()?,
            losses: cells.next()?,
            cancel: cells.next()?,
            completion: cells.next()?,
            outcome: outcome(cells.next()?)?,
            review: review(cells.next()?)?,
        },
        max_attempts: cells.next()?,
        reason: cells.next()?,
        entry_seq: cells.next()?,
        event_seq: cells.next()?,
        log_seq: cells.next()?,
        created_at: cells.next()?,
        updated_at: cells.next()?,
    })
}

/// Reads the columns of [`VIEW_COLUMNS`].
pub(super) fn read_task_view(of: &Row<'_>) -> Result<TaskView, HubStoreError> {
    let cells = &mut SqliteColumns { row: of, next: 0 };
    let row = row(cells)?;
    let project = cells.next()?;
    let submitted_by = cells.next()?;
    let submitter = cells.next()?;
    let retry_of: Option<String> = cells.next()?;
    let part_of = part_of(cells)?;
    let title = cells.next()?;
    let agent = cells.next()?;
    let place = cells.next()?;
    let priority = cells.next()?;
    let labels: String = cells.next()?;
    Ok(TaskView {
        row,
        project,
        submitted_by,
        submitter,
        retry_of: retry_of.map(|id| parsed(&id)).transpose()?,
        part_of,
        title,
        agent,
        place,
        priority,
        labels: serde_json::from_str(&labels).map_err(damaged)?,
        cost: sum(cells)?,
    })
}

fn part_of(cells: &mut SqliteColumns<'_, '_>) -> Result<Option<ParentPlan>, HubStoreError> {
    let (plan, subtask): (Option<String>, Option<String>) = (cells.next()?, cells.next()?);
    let Some((plan, subtask)) = plan.zip(subtask) else {
        return Ok(None);
    };
    let plan = parsed(&plan)?;
    Ok(Some(ParentPlan { plan, subtask }))
}

/// Reads six columns: calls, unknown ones, estimated ones, micro-dollars, input tokens and output tokens.
pub(super) fn read_ledger_total(row: &Row<'_>) -> Result<LedgerTotal, HubStoreError> {
    sum(&mut SqliteColumns { row, next: 0 })
}

fn sum(cells: &mut SqliteColumns<'_, '_>) -> Result<LedgerTotal, HubStoreError> {
    Ok(LedgerTotal {
        calls: cells.next()?,
        unknown: cells.next()?,
        estimated: cells.next()?,
        micro_usd: MicroUsd(cells.next()?),
        tokens_in: cells.next()?,
        tokens_out: cells.next()?,
    })
}

pub(super) fn load(db: &Connection, task: TaskId) -> Result<Option<SqliteTaskRow>, HubStoreError> {
    const LOAD: &str = concat!(
        "SELECT ",
        row_columns!(),
        ", task_no, submitter_no FROM task WHERE task_id = ?1"
    );
    let mut rows = db.prepare_cached(LOAD)?;
    let mut rows = rows.query([task.to_string()])?;
    rows.next()?.map(read_task_row).transpose()
}

/// Reads the columns of [`ROW_COLUMNS`].
pub(super) fn read_task_row(of: &Row<'_>) -> Result<SqliteTaskRow, HubStoreError> {
    let cells = &mut SqliteColumns { row: of, next: 0 };
    let row = row(cells)?;
    Ok(SqliteTaskRow {
        number: cells.next()?,
        submitter: cells.next()?,
        due: row.lease.due_at,
        state: row.lease.state,
        row,
    })
}

/// Writes a row back. A finished task never changes its state, and an epoch never decreases: the WHERE
/// condition ensures that. It avoids triggers and IN, for which SQLite would need a table of its own.
pub(super) fn save(
    db: &Connection,
    SqliteTaskRow { number, row, .. }: &SqliteTaskRow,
) -> Result<(), HubStoreError> {
    let mut update = db.prepare_cached(
        "UPDATE task SET state = ?2, epoch = ?3, token = ?4, worker = ?5, due_at = ?6, last_attempt = ?7,
             open_attempt = ?8, reports = ?9, losses = ?10, cancel = ?11, completion = ?12,
             outcome = ?13, feedback = ?14, reason = ?15, entry_seq = ?16, event_seq = ?17,
             log_seq = ?18, updated_at = ?19, passed_attempt = ?20
         WHERE task_no = ?1 AND epoch <= ?3
           AND (state = ?2 OR NOT (state = 'succeeded' OR state = 'failed'
                                   OR state = 'cancelled' OR state = 'dead'))",
    )?;
    let lease = &row.lease;
    let review = lease.review.as_ref().map(serde_json::to_string);
    let written = update.execute(params![
        number,
        lease.state.as_str(),
        lease.epoch,
        lease.token,
        lease.worker,
        lease.due_at,
        lease.last_attempt,
        lease.open_attempt,
        lease.reports,
        lease.losses,
        lease.cancel,
        lease.completion,
        lease.outcome.map(Outcome::as_str),
        review.transpose().map_err(damaged)?,
        row.reason,
        row.entry_seq,
        row.event_seq,
        row.log_seq,
        row.updated_at,
        lease.passed_attempt,
    ])?;
    match written {
        1 => Ok(()),
        _ => Err(damaged(format_args!(
            "invalid state change of task {}",
            row.task_id
        ))),
    }
}
