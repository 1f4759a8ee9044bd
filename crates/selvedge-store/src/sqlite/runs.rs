//! The table `run`: summaries for lists, and finding a run by its name.

use std::path::PathBuf;

use rusqlite::{Connection, Row, named_params, params};
use selvedge_core::model::{Cost, MicroUsd, Outcome, ParentPlan, RunId};

use super::text::{damaged, from_word, parsed, word};
use crate::error::StoreError;
use crate::journal::RunFilter;
use crate::summary::{RunStatus, RunSummary, TaskHead};

pub(super) fn upsert(db: &Connection, summary: &RunSummary) -> Result<(), StoreError> {
    let mut put = db.prepare_cached(
        "INSERT OR REPLACE INTO run
           (run_id, last_seq, created_at, updated_at, task_id, workspace, description, agent,
            max_attempts, attempts, standing, outcome, cost_micro_usd, cost_source, session_open,
            plan, subtask)
         VALUES
           (:run_id, :last_seq, :created_at, :updated_at, :task_id, :workspace, :description,
            :agent, :max_attempts, :attempts, :standing, :outcome, :cost_micro_usd, :cost_source,
            :session_open, :plan, :subtask)",
    )?;
    let task = summary.task.as_ref();
    let part_of = task.and_then(|task| task.part_of.as_ref());
    let (status, outcome) = status_columns(summary.status);
    put.execute(named_params! {
        ":run_id": summary.run_id.to_string(),
        ":last_seq": summary.last_seq,
        ":created_at": summary.created_at.to_string(),
        ":updated_at": summary.updated_at.to_string(),
        ":task_id": task.map(|task| task.task_id.to_string()),
        ":workspace": task.map(|task| task.workspace.to_string_lossy()),
        ":description": task.map(|task| &task.description),
        ":agent": task.map(|task| &task.agent),
        ":max_attempts": task.map(|task| task.max_attempts),
        ":attempts": summary.attempts,
        ":standing": status,
        ":outcome": outcome.map(Outcome::as_str),
        ":cost_micro_usd": summary.cost.micro_usd.map(|amount| amount.0),
        ":cost_source": word(summary.cost.source),
        ":session_open": summary.session_open,
        ":plan": part_of.map(|part| part.plan.to_string()),
        ":subtask": part_of.map(|part| &part.subtask),
    })?;
    Ok(())
}

pub(super) fn get(db: &Connection, run: RunId) -> Result<Option<RunSummary>, StoreError> {
    let mut query = db.prepare_cached("SELECT * FROM run WHERE run_id = ?1")?;
    let mut rows = query.query([run.to_string()])?;
    rows.next()?.map(run_summary).transpose()
}

pub(super) fn list(
    db: &Connection,
    filter: &RunFilter,
    limit: usize,
    before: Option<RunId>,
) -> Result<Vec<RunSummary>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT * FROM run
         WHERE (:before    IS NULL OR run_id < :before)
           AND (:workspace IS NULL OR workspace = :workspace)
           AND (:task      IS NULL OR task_id = :task)
           AND (:finished  IS NULL OR (standing = 'finished') = :finished)
         ORDER BY run_id DESC LIMIT :limit",
    )?;
    let mut rows = query.query(named_params! {
        ":before": before.map(|run| run.to_string()),
        ":workspace": filter.workspace.as_ref().map(|path| path.to_string_lossy()),
        ":task": filter.task.map(|task| task.to_string()),
        ":finished": filter.finished,
        ":limit": limit,
    })?;
    let mut summaries = Vec::new();
    while let Some(row) = rows.next()? {
        summaries.push(run_summary(row)?);
    }
    Ok(summaries)
}

fn run_summary(row: &Row<'_>) -> Result<RunSummary, StoreError> {
    let text = |column: &str| row.get::<_, String>(column);
    let task = match row.get::<_, Option<String>>("task_id")? {
        None => None,
        Some(task_id) => Some(TaskHead {
            task_id: parsed(&task_id)?,
            workspace: PathBuf::from(text("workspace")?),
            description: text("description")?,
            agent: text("agent")?,
            max_attempts: row.get("max_attempts")?,
            part_of: part_of(row)?,
        }),
    };
    Ok(RunSummary {
        run_id: parsed(&text("run_id")?)?,
        last_seq: row.get("last_seq")?,
        created_at: parsed(&text("created_at")?)?,
        updated_at: parsed(&text("updated_at")?)?,
        task,
        attempts: row.get("attempts")?,
        status: parse_status(&text("standing")?, row.get("outcome")?)?,
        cost: Cost {
            micro_usd: row.get::<_, Option<u64>>("cost_micro_usd")?.map(MicroUsd),
            source: from_word(text("cost_source")?)?,
        },
        session_open: row.get("session_open")?,
    })
}

fn part_of(row: &Row<'_>) -> Result<Option<ParentPlan>, StoreError> {
    let plan: Option<String> = row.get("plan")?;
    let subtask: Option<String> = row.get("subtask")?;
    let (Some(plan), Some(subtask)) = (plan, subtask) else {
        return Ok(None);
    };
    let plan = parsed(&plan)?;
    Ok(Some(ParentPlan { plan, subtask }))
}

fn status_columns(status: RunStatus) -> (&'static str, Option<Outcome>) {
    match status {
        RunStatus::Open => ("open", None),
        RunStatus::Suspended => ("suspended", None),
        RunStatus::AwaitingReview => ("awaiting_review", None),
        RunStatus::Finished { outcome } => ("finished", Some(outcome)),
    }
}

fn parse_status(word: &str, outcome: Option<String>) -> Result<RunStatus, StoreError> {
    Ok(match (word, outcome) {
        ("open", None) => RunStatus::Open,
        ("suspended", None) => RunStatus::Suspended,
        ("awaiting_review", None) => RunStatus::AwaitingReview,
        ("finished", Some(outcome)) => RunStatus::Finished {
            outcome: from_word(outcome)?,
        },
        (word, outcome) => {
            return Err(damaged(&format_args!(
                "standing {word:?}, outcome {outcome:?}"
            )));
        }
    })
}

/// The newest run that is not a subtask, if there is one.
pub(super) fn newest(db: &Connection) -> Result<Option<RunId>, StoreError> {
    let mut query = db.prepare_cached("SELECT max(run_id) FROM run WHERE plan IS NULL")?;
    let newest: Option<String> = query.query_row([], |row| row.get(0))?;
    newest.map(|id| parsed(&id)).transpose()
}

/// The newest runs whose ids begin with `start` or end with `end`, at most `limit`.
pub(super) fn with_fragment(
    db: &Connection,
    start: &str,
    end: &str,
    limit: usize,
) -> Result<Vec<RunId>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT run_id FROM run
         WHERE substr(run_id, 1, length(?1)) = ?1 OR substr(run_id, -length(?2)) = ?2
         ORDER BY run_id DESC LIMIT ?3",
    )?;
    let ids = query.query_map(params![start, end, limit], |row| row.get::<_, String>(0))?;
    ids.map(|id| parsed(&id?)).collect()
}
