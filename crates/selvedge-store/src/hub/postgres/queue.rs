//! Tasks: taking them in, giving them out, changing them, taking them back.

use selvedge_core::model::TaskId;

use super::PostgresHub;
use super::claims::{Claim, Claimed};
use super::columns::{self, Cells, NOW, ROW, SUMS, VIEW};
use super::{board, forget, list};
use crate::hub::board::{BoardFilter, BoardPage, Census, FactLine, NewFacts};
use crate::hub::change::{Change, Verdict};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{
    Granted, ListFilter, ListPage, LogLine, NewTask, Overview, Submitted, TaskRow, TaskView, Want,
};
use crate::hub::traits::{Answered, Neighbours, Queue};

impl Queue for PostgresHub {
    fn submit(&self, task: NewTask) -> Answered<'_, Submitted> {
        Box::pin(self.submissions.write(task))
    }

    fn grant(&self, wants: Vec<Want>) -> Answered<'_, Vec<Granted>> {
        Box::pin(async {
            match self.claims.write(Claim::Grant(wants)).await? {
                Claimed::Granted(granted) => Ok(granted),
                Claimed::Swept(_) => Err(HubStoreError::Stopping),
            }
        })
    }

    fn change(&self, task: TaskId, change: Change) -> Answered<'_, Option<Verdict>> {
        Box::pin(self.lane(task).write((task, change)))
    }

    fn plans(&self) -> Answered<'_, Vec<TaskId>> {
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
                .map(|row| Cells::of(row).next().map(TaskId::new));
            ids.collect()
        })
    }

    fn sweep(&self, quiet: bool) -> Answered<'_, Vec<TaskRow>> {
        Box::pin(async move {
            match self.claims.write(Claim::Sweep { quiet }).await? {
                Claimed::Swept(swept) => Ok(swept),
                Claimed::Granted(_) => Err(HubStoreError::Stopping),
            }
        })
    }

    fn now(&self) -> Answered<'_, i64> {
        Box::pin(async {
            let rows = self.rows(&format!("SELECT {NOW}"), &[]).await?;
            let row = rows.first().ok_or(HubStoreError::Stopping)?;
            Cells::of(row).next()
        })
    }

    fn task(&self, task: TaskId) -> Answered<'_, Option<(TaskView, String)>> {
        let sql = format!(
            "SELECT {ROW}, {VIEW}, r.body FROM request r JOIN task t ON t.task_no = r.task_no,
             LATERAL (SELECT {SUMS} FROM cost WHERE cost.task_no = t.task_no) c
             WHERE r.task_id = $1"
        );
        Box::pin(async move {
            let rows = self.rows(&sql, &[&task.uuid()]).await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let mut cells = Cells::of(row);
            Ok(Some((columns::view(&mut cells)?, cells.next()?)))
        })
    }

    fn tasks(&self, filter: ListFilter, limit: usize) -> Answered<'_, ListPage> {
        Box::pin(list::page(self, filter, limit))
    }

    fn board(&self, filter: BoardFilter, page: BoardPage) -> Answered<'_, Vec<TaskView>> {
        Box::pin(board::page(self, filter, page))
    }

    fn census(&self, filter: BoardFilter) -> Answered<'_, Census> {
        Box::pin(board::census(self, filter))
    }

    fn waits(&self, tenant: String, limit: usize) -> Answered<'_, Vec<i64>> {
        Box::pin(board::waits(self, tenant, limit))
    }

    fn facts(&self, tenant: String) -> Answered<'_, Vec<FactLine>> {
        Box::pin(board::facts(self, tenant))
    }

    fn keep_facts(&self, facts: Vec<NewFacts>) -> Answered<'_, ()> {
        Box::pin(board::keep(self, facts))
    }

    fn log(&self, task: TaskId, after: u64, limit: usize) -> Answered<'_, Vec<LogLine>> {
        Box::pin(async move {
            let rows = self
                .of_task(
                    "SELECT l.seq, l.at, l.event FROM request r JOIN log l ON l.task_no = r.task_no
                     WHERE r.task_id = $1 AND l.seq > $2 ORDER BY l.seq LIMIT $3",
                    task,
                    after,
                    limit,
                )
                .await?;
            let lines = rows.iter().map(|row| {
                let mut cells = Cells::of(row);
                Ok(LogLine {
                    seq: cells.count()?,
                    at: cells.next()?,
                    event: cells.next()?,
                })
            });
            lines.collect()
        })
    }

    fn overview(&self) -> Answered<'_, Overview> {
        Box::pin(list::overview(self))
    }

    fn forget(&self, older_than_ms: i64, limit: usize) -> Answered<'_, u64> {
        Box::pin(forget::step(self, older_than_ms, limit))
    }

    fn neighbours(&self) -> Option<&dyn Neighbours> {
        Some(self)
    }
}
