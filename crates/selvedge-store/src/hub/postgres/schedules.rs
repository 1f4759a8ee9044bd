//! Schedules.

use selvedge_core::model::TaskId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{NOW, PostgresColumns, text};
use crate::hub::error::HubStoreError;
use crate::hub::schedules::{NewSchedule, Schedule, ScheduleFiring};
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{ScheduleStore, StoreFuture};

const COLUMNS: &str = "schedule_id, tenant, name, cron, body, created_by, created_at, next_at, last_at, \
                       last_task, last_error";

impl ScheduleStore for PostgresHub {
    fn insert_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!(
                "INSERT INTO schedule (schedule_id, tenant, name, cron, body, created_by, created_at, next_at)
                 VALUES ($1, $2, $3, $4, $5, $6, {NOW}, $7) ON CONFLICT DO NOTHING"
            );
            let (tenant, name) = (text(&schedule.tenant), text(&schedule.name));
            let (body, created_by) = (text(&schedule.body), text(&schedule.created_by));
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] = [
                &schedule.schedule_id,
                &tenant,
                &name,
                &schedule.cron,
                &body,
                &created_by,
                &schedule.next_at,
            ];
            self.rows(&sql, &values).await.map(drop)
        })
    }

    fn schedules(&self, tenant: String) -> StoreFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM schedule WHERE tenant = $1 ORDER BY created_at, schedule_id"
            );
            let rows = self.rows(&sql, &[&text(&tenant)]).await?;
            rows.iter().map(read_schedule).collect()
        })
    }

    fn due_schedules(&self) -> StoreFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM schedule WHERE next_at <= {NOW} ORDER BY next_at LIMIT 100"
            );
            let rows = self.rows(&sql, &[]).await?;
            rows.iter().map(read_schedule).collect()
        })
    }

    fn move_schedule(
        &self,
        schedule: Uuid,
        expected: Option<i64>,
        next: Option<i64>,
        fired: Option<ScheduleFiring>,
    ) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            // If it is executed twice, the second time changes nothing and returns no row.
            let sql = "UPDATE schedule SET next_at = $3,
                           last_at = coalesce($4, last_at),
                           last_task = CASE WHEN $4::bigint IS NULL THEN last_task ELSE $5 END,
                           last_error = CASE WHEN $4::bigint IS NULL THEN last_error ELSE $6 END
                       WHERE schedule_id = $1 AND next_at IS NOT DISTINCT FROM $2 RETURNING 1";
            let at = fired.as_ref().map(|fired| fired.at);
            let result = fired.as_ref().map(|fired| &fired.result);
            let task = result
                .and_then(|result| result.as_ref().ok())
                .map(|task| task.uuid());
            let error = result.and_then(|result| result.as_ref().err());
            let error = error.map(|error| text(error));
            let rows = self
                .rows(sql, &[&schedule, &expected, &next, &at, &task, &error])
                .await?;
            Ok(!rows.is_empty())
        })
    }

    fn delete_schedule(&self, schedule: Uuid) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sql = "DELETE FROM schedule WHERE schedule_id = $1 RETURNING 1";
            Ok(!self.rows(sql, &[&schedule]).await?.is_empty())
        })
    }
}

fn read_schedule(row: &Row) -> Result<Schedule, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(Schedule {
        schedule_id: cells.next()?,
        tenant: cells.next()?,
        name: cells.next()?,
        cron: cells.next()?,
        body: cells.next()?,
        created_by: cells.next()?,
        created_at: cells.next()?,
        next_at: cells.next()?,
        last: {
            let at: Option<i64> = cells.next()?;
            let task: Option<Uuid> = cells.next()?;
            let error: Option<String> = cells.next()?;
            let firing = |at| match (task, error) {
                (Some(task), _) => Ok(ScheduleFiring {
                    at,
                    result: Ok(TaskId::new(task)),
                }),
                (None, Some(error)) => Ok(ScheduleFiring {
                    at,
                    result: Err(error),
                }),
                (None, None) => Err(damaged("a schedule's last task is missing")),
            };
            at.map(firing).transpose()?
        },
    })
}
