//! Reading back what runs left behind.

use selvedge_core::fleet::FileRef;
use selvedge_core::model::TaskId;
use tokio_postgres::Row;

use super::PostgresHub;
use super::columns::{Cells, int, small};
use crate::hub::change::JournalLine;
use crate::hub::error::HubStoreError;
use crate::hub::rows::{Completion, ReportRow, RunRow};
use crate::hub::sqlite::columns::closing;
use crate::hub::traits::{Answered, Reports};

impl PostgresHub {
    /// Rows of a task after a number.
    pub(super) async fn of_task(
        &self,
        sql: &str,
        task: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Row>, HubStoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(sql, &[&task.uuid(), &int(after), &limit]).await
    }
}

fn report(row: &Row) -> Result<ReportRow, HubStoreError> {
    let mut cells = Cells::of(row);
    Ok(ReportRow {
        run_number: cells.small()?,
        epoch: cells.count()?,
        body: cells.next()?,
    })
}

impl Reports for PostgresHub {
    fn journal(&self, task: TaskId, after: u64, limit: usize) -> Answered<'_, Vec<JournalLine>> {
        Box::pin(async move {
            let rows = self
                .of_task(
                    "SELECT j.seq, j.event FROM request r JOIN journal j ON j.task_no = r.task_no
                     WHERE r.task_id = $1 AND j.seq > $2 ORDER BY j.seq LIMIT $3",
                    task,
                    after,
                    limit,
                )
                .await?;
            let lines = rows.iter().map(|row| {
                let mut cells = Cells::of(row);
                Ok(JournalLine {
                    seq: cells.count()?,
                    event: cells.next()?,
                })
            });
            lines.collect()
        })
    }

    fn runs(&self, task: TaskId) -> Answered<'_, Vec<RunRow>> {
        Box::pin(async move {
            let sql = "SELECT u.run_number, u.epoch, u.begun_at, u.closed_at, u.closing
                 FROM request r JOIN run u ON u.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY u.run_number";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let runs = rows.iter().map(|row| {
                let mut cells = Cells::of(row);
                Ok(RunRow {
                    run_number: cells.small()?,
                    epoch: cells.count()?,
                    begun_at: cells.next()?,
                    closed_at: cells.next()?,
                    closing: closing(cells.next()?)?,
                })
            });
            runs.collect()
        })
    }

    fn reports(&self, task: TaskId) -> Answered<'_, Vec<ReportRow>> {
        Box::pin(async move {
            let sql = "SELECT p.run_number, p.epoch, p.body
                 FROM request r JOIN report p ON p.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY p.run_number";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            rows.iter().map(report).collect()
        })
    }

    fn report(&self, task: TaskId, run_number: u32) -> Answered<'_, Option<ReportRow>> {
        Box::pin(async move {
            let sql = "SELECT p.run_number, p.epoch, p.body
                 FROM request r JOIN report p ON p.task_no = r.task_no
                 WHERE r.task_id = $1 AND p.run_number = $2";
            let rows = self.rows(sql, &[&task.uuid(), &small(run_number)]).await?;
            rows.first().map(report).transpose()
        })
    }

    fn late_reports(&self, task: TaskId) -> Answered<'_, Vec<ReportRow>> {
        Box::pin(async move {
            let sql = "SELECT p.run_number, p.epoch, p.body
                 FROM request r JOIN late_report p ON p.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY p.epoch, p.run_number";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            rows.iter().map(report).collect()
        })
    }

    fn result(&self, task: TaskId) -> Answered<'_, Option<Completion>> {
        Box::pin(async move {
            let sql = "SELECT s.completion_id, s.body
                 FROM request r JOIN result s ON s.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY s.at DESC, s.completion_id DESC LIMIT 1";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let found = rows.first().map(|row| {
                let mut cells = Cells::of(row);
                Ok(Completion {
                    completion_id: cells.next()?,
                    body: cells.next()?,
                })
            });
            found.transpose()
        })
    }

    fn files(&self, task: TaskId) -> Answered<'_, Vec<FileRef>> {
        Box::pin(async move {
            // By bytes, as everywhere, and not by a language's alphabet.
            let sql =
                "SELECT f.name, f.hash, f.size FROM request r JOIN file f ON f.task_no = r.task_no
                 WHERE r.task_id = $1 ORDER BY f.name COLLATE \"C\"";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let files = rows.iter().map(|row| {
                let mut cells = Cells::of(row);
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
