//! The queue: submitting, assigning, changing and expiring tasks.

use selvedge_core::model::TaskId;

use super::PostgresHub;
use super::assignments::{AssignmentJob, AssignmentResult, count_assignable};
use super::columns::{self, LEDGER_SUMS, NOW, PostgresColumns, ROW_COLUMNS, VIEW_COLUMNS, text};
use super::{list, retention, task_queries};
use crate::hub::change::{ChangeOutcome, TaskChange};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{
    Assignment, ListFilter, ListPage, LogLine, NewTask, Overview, PollRequest, SubmitOutcome,
    TaskRecord, TaskView,
};
use crate::hub::task_queries::{NewRunStats, RunStatsRow, TaskCounts, TaskFilter, TaskPageRequest};
use crate::hub::traits::{Peers, Queue, StoreFuture};

impl Queue for PostgresHub {
    fn submit(&self, task: NewTask) -> StoreFuture<'_, SubmitOutcome> {
        Box::pin(self.submissions.write(task))
    }

    fn assign_tasks(&self, wants: Vec<PollRequest>) -> StoreFuture<'_, Vec<Assignment>> {
        Box::pin(async {
            match self.claims.write(AssignmentJob::Assign(wants)).await? {
                AssignmentResult::Assigned(granted) => Ok(granted),
                AssignmentResult::Expired(_) => Err(HubStoreError::Stopping),
            }
        })
    }

    fn count_assignable(&self, want: PollRequest) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let client = self.pool.get().await?;
            Ok(count_assignable(&client, &want).await?)
        })
    }

    fn change(&self, task: TaskId, change: TaskChange) -> StoreFuture<'_, Option<ChangeOutcome>> {
        Box::pin(self.writer_for(task).write((task, change)))
    }

    fn offers_to(&self, worker: String) -> StoreFuture<'_, Vec<TaskRecord>> {
        let sql = format!(
            "SELECT {ROW_COLUMNS} FROM task t JOIN request r ON r.task_no = t.task_no
             WHERE t.state = 'offered' AND t.worker = $1"
        );
        Box::pin(async move { self.task_records(&sql, &[&text(&worker)]).await })
    }

    fn plans(&self) -> StoreFuture<'_, Vec<TaskId>> {
        Box::pin(async {
            let rows = self
                .rows(
                    "SELECT r.task_id FROM task t JOIN request r ON r.task_no = t.task_no
                     WHERE t.labels = '[\"selvedge:plan\"]'::jsonb AND t.outcome IS NULL
                       AND t.state NOT IN ('succeeded', 'failed', 'cancelled', 'dead')
                     ORDER BY t.task_no",
                    &[],
                )
                .await?;
            let ids = rows
                .iter()
                .map(|row| PostgresColumns::of(row).next().map(TaskId::new));
            ids.collect()
        })
    }

    fn expire_due(&self, quiet: bool) -> StoreFuture<'_, Vec<TaskRecord>> {
        Box::pin(async move {
            match self
                .claims
                .write(AssignmentJob::ExpireDue { quiet })
                .await?
            {
                AssignmentResult::Expired(swept) => Ok(swept),
                AssignmentResult::Assigned(_) => Err(HubStoreError::Stopping),
            }
        })
    }

    fn now(&self) -> StoreFuture<'_, i64> {
        Box::pin(async {
            let rows = self.rows(&format!("SELECT {NOW}"), &[]).await?;
            let row = rows.first().ok_or(HubStoreError::Stopping)?;
            PostgresColumns::of(row).next()
        })
    }

    fn task(&self, task: TaskId) -> StoreFuture<'_, Option<(TaskView, String)>> {
        let sql = format!(
            "SELECT {ROW_COLUMNS}, {VIEW_COLUMNS}, r.body FROM request r JOIN task t ON t.task_no = r.task_no,
             LATERAL (SELECT {LEDGER_SUMS} FROM cost WHERE cost.task_no = t.task_no) c
             WHERE r.task_id = $1"
        );
        Box::pin(async move {
            let rows = self.rows(&sql, &[&task.uuid()]).await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let mut cells = PostgresColumns::of(row);
            Ok(Some((columns::read_task_view(&mut cells)?, cells.next()?)))
        })
    }

    fn tasks(&self, filter: ListFilter, limit: usize) -> StoreFuture<'_, ListPage> {
        Box::pin(list::page(self, filter, limit))
    }

    fn list_tasks(
        &self,
        filter: TaskFilter,
        page: TaskPageRequest,
    ) -> StoreFuture<'_, Vec<TaskView>> {
        Box::pin(task_queries::page(self, filter, page))
    }

    fn task_counts(&self, filter: TaskFilter) -> StoreFuture<'_, TaskCounts> {
        Box::pin(task_queries::task_counts(self, filter))
    }

    fn queue_latencies(&self, project: String, limit: usize) -> StoreFuture<'_, Vec<i64>> {
        Box::pin(task_queries::queue_latencies(self, project, limit))
    }

    fn run_stats(&self, project: String) -> StoreFuture<'_, Vec<RunStatsRow>> {
        Box::pin(task_queries::run_stats(self, project))
    }

    fn stale_run_stats(
        &self,
        project: String,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(TaskId, u64)>> {
        Box::pin(task_queries::stale_run_stats(self, project, limit))
    }

    fn saved_run_stats(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<(TaskId, String)>> {
        Box::pin(task_queries::saved_run_stats(self, tasks))
    }

    fn task_bodies(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<(TaskId, String)>> {
        Box::pin(task_queries::task_bodies(self, tasks))
    }

    fn save_run_stats(&self, stats: Vec<NewRunStats>) -> StoreFuture<'_, ()> {
        Box::pin(task_queries::save_run_stats(self, stats))
    }

    fn log(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<LogLine>> {
        Box::pin(async move {
            let rows = self
                .task_rows_after(
                    "SELECT seq, at, event FROM log
                     WHERE task_no = (SELECT task_no FROM request WHERE task_id = $1) AND seq > $2
                     ORDER BY seq LIMIT $3",
                    task,
                    after,
                    limit,
                )
                .await?;
            let lines = rows.iter().map(|row| {
                let mut cells = PostgresColumns::of(row);
                Ok(LogLine {
                    seq: cells.count()?,
                    at: cells.next()?,
                    event: cells.next()?,
                })
            });
            lines.collect()
        })
    }

    fn overview(&self, project: Option<String>) -> StoreFuture<'_, Overview> {
        Box::pin(list::overview(self, project))
    }

    fn purge_expired(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64> {
        Box::pin(retention::purge_step(self, older_than_ms, limit))
    }

    fn peers(&self) -> Option<&dyn Peers> {
        Some(self)
    }
}
