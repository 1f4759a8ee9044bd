//! Lists of tasks, and totals over all of them.

use std::fmt::Write;

use selvedge_core::model::{Outcome, TaskId};
use selvedge_protocol::TaskState;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{self, LEDGER_SUMS, PostgresColumns, ROW_COLUMNS, VIEW_COLUMNS, text};
use crate::hub::error::HubStoreError;
use crate::hub::overview::{ACCEPTED, CLOSINGS, RETRIES, VERIFIED_BY_CHECKS};
use crate::hub::rows::{ListFilter, ListPage, Overview, QueuedGroup};
use crate::hub::sqlite::columns::{damaged, from_word, parsed};

pub(super) async fn page(
    hub: &PostgresHub,
    filter: ListFilter,
    limit: usize,
) -> Result<ListPage, HubStoreError> {
    let mut states = String::new();
    if !filter.states.is_empty() {
        // Written into the statement itself, so that the planner can use a partial index over some states.
        let words: Vec<_> = filter
            .states
            .iter()
            .map(|state| format!("'{}'", state.as_str()))
            .collect();
        // Writing to a string cannot fail.
        let _ = write!(states, "AND t.state IN ({})", words.join(", "));
    }
    let sql = format!(
        "SELECT {ROW_COLUMNS}, {VIEW_COLUMNS} FROM request r JOIN task t ON t.task_no = r.task_no,
         LATERAL (SELECT {LEDGER_SUMS} FROM cost WHERE cost.task_no = t.task_no) c
         WHERE ($1::uuid IS NULL OR r.task_id < $1) {states}
           AND ($2::text IS NULL OR t.outcome = $2)
           AND ($3::text IS NULL OR r.agent = $3)
           AND ($4::text IS NULL OR t.worker = $4)
           AND ($5::text IS NULL OR r.project = $5)
           AND ($6::text IS NULL OR t.labels ? $6)
           AND ($7::text IS NULL OR position(lower($7) IN lower(r.title)) > 0
                OR position(lower($7) IN lower(coalesce(r.place, ''))) > 0)
           AND NOT ($8::boolean AND EXISTS (SELECT 1 FROM request again WHERE again.retry_of = r.task_id))
         ORDER BY r.task_id DESC LIMIT $9"
    );
    let before: Option<Uuid> = filter.before.map(TaskId::uuid);
    let outcome = filter.outcome.map(Outcome::as_str);
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
    let (agent, worker) = (
        filter.agent.as_deref().map(text),
        filter.worker.as_deref().map(text),
    );
    let (project, label) = (
        filter.project.as_deref().map(text),
        filter.label.as_deref().map(text),
    );
    let words = filter.text.as_deref().map(text);
    let rows = hub
        .rows(
            &sql,
            &[
                &before,
                &outcome,
                &agent,
                &worker,
                &project,
                &label,
                &words,
                &filter.without_retried,
                &one_more,
            ],
        )
        .await?;
    let tasks = rows
        .iter()
        .map(|row| columns::read_task_view(&mut PostgresColumns::of(row)));
    let mut tasks: Vec<_> = tasks.collect::<Result<_, _>>()?;
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    Ok(ListPage { tasks, more })
}

/// Totals over everything, or over a project; each is a separate query that uses an index or one pass.
pub(super) async fn overview(
    hub: &PostgresHub,
    project: Option<String>,
) -> Result<Overview, HubStoreError> {
    let project = project.as_deref().map(text);
    let project: [&(dyn ToSql + Sync); 1] = [&project];
    // Whether a task, or the task of another row, belongs to the project.
    let of = |row: &str| {
        format!(
            "($1::text IS NULL OR (SELECT project FROM request WHERE request.task_no = {row}.task_no) = $1)"
        )
    };
    let of_task = of("task");
    let mut overview = Overview::default();
    let by_state = format!("SELECT state, count(*) FROM task WHERE {of_task} GROUP BY state");
    for (state, count) in counts(hub, &by_state, &project).await? {
        let state = TaskState::parse(&state).ok_or_else(|| damaged(&state))?;
        overview.states.push((state, count));
    }
    let over = "outcome IS NOT NULL AND state <> 'needs_review'";
    let by_outcome =
        format!("SELECT outcome, count(*) FROM task WHERE {over} AND {of_task} GROUP BY outcome");
    for (outcome, count) in counts(hub, &by_outcome, &project).await? {
        overview.outcomes.push((from_word(outcome)?, count));
    }
    for (sql, into) in [
        (CLOSINGS, &mut overview.closings),
        (RETRIES, &mut overview.retries),
    ] {
        let sql = sql.replace("{filter}", &of("t"));
        for (closing, count) in counts(hub, &sql, &project).await? {
            into.push((from_word(closing)?, count));
        }
    }
    let accepted = format!("{ACCEPTED} AND {of_task}");
    let accepted = hub.rows(&accepted, &project).await?;
    overview.accepted = PostgresColumns::of(single_row(&accepted)?).count()?;
    for (wanted, into) in [
        (over, &mut overview.reports),
        (VERIFIED_BY_CHECKS, &mut overview.verified_after),
    ] {
        let sql = format!(
            "SELECT reports::text, count(*) FROM task WHERE {wanted} AND {of_task}
             GROUP BY reports ORDER BY reports"
        );
        for (reports, count) in counts(hub, &sql, &project).await? {
            into.push((parsed(&reports)?, count));
        }
    }
    let sums = format!("SELECT coalesce(sum(losses), 0)::bigint FROM task WHERE {of_task}");
    overview.losses =
        PostgresColumns::of(single_row(&hub.rows(&sums, &project).await?)?).count()?;
    let ledger = format!("SELECT {LEDGER_SUMS} FROM cost WHERE {}", of("cost"));
    overview.cost = columns::read_ledger_total(&mut PostgresColumns::of(single_row(
        &hub.rows(&ledger, &project).await?,
    )?))?;
    let waiting = format!(
        "SELECT task.labels::text, count(*), min(r.created_at)
         FROM task JOIN request r ON r.task_no = task.task_no
         WHERE task.state = 'queued' AND {of_task} GROUP BY task.labels"
    );
    for row in &hub.rows(&waiting, &project).await? {
        let mut cells = PostgresColumns::of(row);
        let labels: &str = cells.next()?;
        overview.waiting.push(QueuedGroup {
            labels: serde_json::from_str(labels).map_err(damaged)?,
            waiting: cells.count()?,
            since: cells.next()?,
        });
    }
    Ok(overview)
}

fn single_row(rows: &[Row]) -> Result<&Row, HubStoreError> {
    rows.first().ok_or_else(|| damaged("a sum returned no row"))
}

async fn counts(
    hub: &PostgresHub,
    sql: &str,
    project: &[&(dyn ToSql + Sync)],
) -> Result<Vec<(String, u64)>, HubStoreError> {
    let rows = hub.rows(sql, project).await?;
    let each = rows.iter().map(|row| {
        let mut cells = PostgresColumns::of(row);
        Ok((cells.next()?, cells.count()?))
    });
    each.collect()
}
