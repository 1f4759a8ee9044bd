//! Reads the stored records of runs.

use selvedge_core::model::TaskId;
use selvedge_protocol::FileRef;
use tokio_postgres::Row;

use super::PostgresHub;
use super::columns::{PostgresColumns, int, small};
use crate::hub::change::JournalLine;
use crate::hub::error::HubStoreError;
use crate::hub::rows::{AttemptRow, Completion, ReportRow};
use crate::hub::sqlite::columns::closing;
use crate::hub::traits::{RunRecords, StoreFuture};

impl PostgresHub {
    /// Rows of a task after the given number.
    pub(super) async fn task_rows_after(
        &self,
        sql: &str,
        task: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Row>, HubStoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows_by_key(sql, &[&task.uuid(), &int(after), &limit])
            .await
    }
}

fn read_report_row(row: &Row) -> Result<ReportRow, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(ReportRow {
        attempt_number: cells.small()?,
        epoch: cells.count()?,
        body: cells.next()?,
    })
}

impl RunRecords for PostgresHub {
    fn journal(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<JournalLine>> {
        Box::pin(async move {
            let rows = self
                .task_rows_after(
                    "SELECT seq, event FROM journal
                     WHERE task_no = (SELECT task_no FROM request WHERE task_id = $1) AND seq > $2
                     ORDER BY seq LIMIT $3",
                    task,
                    after,
                    limit,
                )
                .await?;
            let lines = rows.iter().map(|row| {
                let mut cells = PostgresColumns::of(row);
                Ok(JournalLine {
                    seq: cells.count()?,
                    event: cells.next()?,
                })
            });
            lines.collect()
        })
    }

    fn runs(&self, task: TaskId) -> StoreFuture<'_, Vec<AttemptRow>> {
        Box::pin(async move {
            let sql = "SELECT u.attempt_number, u.epoch, u.begun_at, u.closed_at, u.closed_as
                 FROM request r JOIN attempt u ON u.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY u.attempt_number";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let runs = rows.iter().map(|row| {
                let mut cells = PostgresColumns::of(row);
                Ok(AttemptRow {
                    attempt_number: cells.small()?,
                    epoch: cells.count()?,
                    begun_at: cells.next()?,
                    closed_at: cells.next()?,
                    end: closing(cells.next()?)?,
                })
            });
            runs.collect()
        })
    }

    fn reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>> {
        Box::pin(async move {
            let sql = "SELECT p.attempt_number, p.epoch, p.body
                 FROM request r JOIN report p ON p.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY p.attempt_number";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            rows.iter().map(read_report_row).collect()
        })
    }

    fn report(&self, task: TaskId, attempt_number: u32) -> StoreFuture<'_, Option<ReportRow>> {
        Box::pin(async move {
            let sql = "SELECT p.attempt_number, p.epoch, p.body
                 FROM request r JOIN report p ON p.task_no = r.task_no
                 WHERE r.task_id = $1 AND p.attempt_number = $2";
            let rows = self
                .rows(sql, &[&task.uuid(), &small(attempt_number)])
                .await?;
            rows.first().map(read_report_row).transpose()
        })
    }

    fn late_reports(&self, task: TaskId) -> StoreFuture<'_, Vec<ReportRow>> {
        Box::pin(async move {
            let sql = "SELECT p.attempt_number, p.epoch, p.body
                 FROM request r JOIN late_report p ON p.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY p.epoch, p.attempt_number";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            rows.iter().map(read_report_row).collect()
        })
    }

    fn result(&self, task: TaskId) -> StoreFuture<'_, Option<Completion>> {
        Box::pin(async move {
            let sql = "SELECT s.completion_id, s.body
                 FROM request r JOIN result s ON s.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY s.at DESC, s.completion_id DESC LIMIT 1";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let found = rows.first().map(|row| {
                let mut cells = PostgresColumns::of(row);
                Ok(Completion {
                    completion_id: cells.next()?,
                    body: cells.next()?,
                })
            });
            found.transpose()
        })
    }

    fn files(&self, task: TaskId) -> StoreFuture<'_, Vec<FileRef>> {
        Box::pin(async move {
            // Sorted by bytes, as in SQLite, and not by the database's collation.
            let sql =
                "SELECT f.name, f.hash, f.size FROM request r JOIN file f ON f.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY f.name COLLATE \"C\"";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let files = rows.iter().map(|row| {
                let mut cells = PostgresColumns::of(row);
                Ok(FileRef {
                    name: cells.next()?,
                    hash: cells.next()?,
                    size: cells.count()?,
                })
            });
            files.collect()
        })
    }
}
