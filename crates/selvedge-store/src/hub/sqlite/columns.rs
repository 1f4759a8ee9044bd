//! Rows of the task's table, to and fro.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use selvedge_core::fleet::{AssignedReview, TaskState};
use selvedge_core::lease::Lease;
use selvedge_core::model::{Closing, MicroUsd, Outcome, TaskId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hub::error::HubStoreError;
use crate::hub::rows::{Cost, TaskRow, TaskView};

/// The columns that decisions are made on.
pub(super) const ROW: &str = "task_id, state, epoch, token, worker, due_at, last_run, open_run, \
     reports, losses, cancel, completion, outcome, feedback, reason, entry_seq, event_seq, log_seq, \
     updated_at";
/// All of a task, and what it cost.
pub(super) const VIEW: &str = "task_id, state, epoch, token, worker, due_at, last_run, open_run, \
     reports, losses, cancel, completion, outcome, feedback, reason, entry_seq, event_seq, log_seq, \
     updated_at, tenant, submitted_by, retry_of, title, agent, place, priority, labels, \
     max_attempts, created_at, \
     (SELECT count(*) FROM cost c WHERE c.task_id = task.task_id) AS calls, \
     (SELECT count(*) FROM cost c WHERE c.task_id = task.task_id \
        AND (c.micro_usd IS NULL OR c.source = 'unknown')) AS unknown, \
     (SELECT count(*) FROM cost c WHERE c.task_id = task.task_id \
        AND c.source = 'estimated') AS estimated, \
     (SELECT coalesce(sum(micro_usd), 0) FROM cost c WHERE c.task_id = task.task_id) AS micro_usd, \
     (SELECT coalesce(sum(tokens_in), 0) FROM cost c WHERE c.task_id = task.task_id) AS tokens_in, \
     (SELECT coalesce(sum(tokens_out), 0) FROM cost c WHERE c.task_id = task.task_id) AS tokens_out";

pub(crate) fn damaged(reason: impl Display) -> HubStoreError {
    HubStoreError::Damaged(reason.to_string())
}

pub(crate) fn parsed<T: FromStr>(text: &str) -> Result<T, HubStoreError> {
    text.parse()
        .map_err(|_| damaged(format_args!("unexpected {text:?}")))
}

/// A one-word enum as it stands on the wire.
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

pub(crate) fn closing(word: Option<String>) -> Result<Option<Closing>, HubStoreError> {
    word.map(from_word).transpose()
}

pub(crate) fn feedback(json: Option<String>) -> Result<Option<AssignedReview>, HubStoreError> {
    json.map(|json| serde_json::from_str(&json).map_err(damaged))
        .transpose()
}

pub(super) fn row(row: &Row<'_>) -> Result<TaskRow, HubStoreError> {
    let state: String = row.get("state")?;
    Ok(TaskRow {
        task_id: parsed(&row.get::<_, String>("task_id")?)?,
        lease: Lease {
            state: TaskState::parse(&state).ok_or_else(|| damaged(&state))?,
            epoch: row.get("epoch")?,
            token: row.get("token")?,
            worker: row.get("worker")?,
            due_at: row.get("due_at")?,
            last_run: row.get("last_run")?,
            open_run: row.get("open_run")?,
            reports: row.get("reports")?,
            losses: row.get("losses")?,
            cancel: row.get("cancel")?,
            completion: row.get("completion")?,
            outcome: outcome(row.get("outcome")?)?,
            feedback: feedback(row.get("feedback")?)?,
        },
        reason: row.get("reason")?,
        entry_seq: row.get("entry_seq")?,
        event_seq: row.get("event_seq")?,
        log_seq: row.get("log_seq")?,
        updated_at: row.get("updated_at")?,
    })
}

pub(super) fn view(of: &Row<'_>) -> Result<TaskView, HubStoreError> {
    let retry_of: Option<String> = of.get("retry_of")?;
    let labels: String = of.get("labels")?;
    Ok(TaskView {
        row: row(of)?,
        tenant: of.get("tenant")?,
        submitted_by: of.get("submitted_by")?,
        retry_of: retry_of.map(|id| parsed(&id)).transpose()?,
        title: of.get("title")?,
        agent: of.get("agent")?,
        place: of.get("place")?,
        priority: of.get("priority")?,
        labels: serde_json::from_str(&labels).map_err(damaged)?,
        max_attempts: of.get("max_attempts")?,
        created_at: of.get("created_at")?,
        cost: cost(of)?,
    })
}

pub(super) fn cost(row: &Row<'_>) -> Result<Cost, HubStoreError> {
    Ok(Cost {
        calls: row.get("calls")?,
        unknown: row.get("unknown")?,
        estimated: row.get("estimated")?,
        micro_usd: MicroUsd(row.get("micro_usd")?),
        tokens_in: row.get("tokens_in")?,
        tokens_out: row.get("tokens_out")?,
    })
}

pub(super) fn load(db: &Connection, task: TaskId) -> Result<Option<TaskRow>, HubStoreError> {
    let mut query = db.prepare_cached(&format!("SELECT {ROW} FROM task WHERE task_id = ?1"))?;
    let found = query
        .query_row([task.to_string()], |found| Ok(row(found)))
        .optional()?;
    found.transpose()
}

/// Writes a row back, if it still is what was decided upon.
pub(super) fn save(db: &Connection, row: &TaskRow) -> Result<(), HubStoreError> {
    let mut update = db.prepare_cached(
        "UPDATE task SET state = :state, epoch = :epoch, token = :token, worker = :worker,
             due_at = :due_at, last_run = :last_run, open_run = :open_run, reports = :reports,
             losses = :losses, cancel = :cancel, completion = :completion, outcome = :outcome,
             feedback = :feedback, reason = :reason, entry_seq = :entry_seq,
             event_seq = :event_seq, log_seq = :log_seq, updated_at = :updated_at
         WHERE task_id = :task_id",
    )?;
    let lease = &row.lease;
    update.execute(named_params! {
        ":task_id": row.task_id.to_string(),
        ":state": lease.state.as_str(),
        ":epoch": lease.epoch,
        ":token": lease.token,
        ":worker": lease.worker,
        ":due_at": lease.due_at,
        ":last_run": lease.last_run,
        ":open_run": lease.open_run,
        ":reports": lease.reports,
        ":losses": lease.losses,
        ":cancel": lease.cancel,
        ":completion": lease.completion,
        ":outcome": lease.outcome.map(Outcome::as_str),
        ":feedback": lease.feedback.as_ref().map(serde_json::to_string).transpose().map_err(damaged)?,
        ":reason": row.reason,
        ":entry_seq": row.entry_seq,
        ":event_seq": row.event_seq,
        ":log_seq": row.log_seq,
        ":updated_at": row.updated_at,
    })?;
    Ok(())
}
