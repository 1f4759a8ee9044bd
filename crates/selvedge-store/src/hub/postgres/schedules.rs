//! Schedules.

use selvedge_core::model::TaskId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresHub;
use super::access::AUDIT_CHANGED;
use super::columns::{NOW, PostgresColumns, text};
use crate::hub::access::{AuditAction, AuditActor};
use crate::hub::error::HubStoreError;
use crate::hub::schedules::{NewSchedule, Schedule, ScheduleFiring, ScheduleMove};
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{ScheduleStore, StoreFuture};

const COLUMNS: &str = "schedule_id, project, name, cron, body, created_by, created_by_token, created_at, next_at, \
                       last_at, last_task, last_error";

impl ScheduleStore for PostgresHub {
    fn insert_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!(
                "WITH locked_project AS (
                     SELECT deleted_at FROM project WHERE name = $7 FOR KEY SHARE
                 ), changed AS (
                     INSERT INTO schedule (schedule_id, project, name, cron, body, created_by, created_by_token,
                                           created_at, next_at)
                     SELECT $6, $7, $8, $9, $10, $1, $2, {NOW}, $11
                     WHERE NOT EXISTS (SELECT 1 FROM locked_project WHERE deleted_at IS NOT NULL)
                     ON CONFLICT DO NOTHING
                     RETURNING created_at AS at, project, schedule_id::text AS subject, name AS detail
                 )
                 {AUDIT_CHANGED}"
            );
            let by = &schedule.created_by;
            let (project, name) = (text(&schedule.project), text(&schedule.name));
            let body = text(&schedule.body);
            let own: [&(dyn ToSql + Sync); 6] = [
                &schedule.schedule_id,
                &project,
                &name,
                &schedule.cron,
                &body,
                &schedule.next_at,
            ];
            let action = AuditAction::CreateSchedule;
            self.execute_audited(&sql, &own, by, action).await.map(drop)
        })
    }

    fn schedules(&self, project: String) -> StoreFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM schedule WHERE project = $1 ORDER BY created_at, schedule_id"
            );
            let rows = self.rows(&sql, &[&text(&project)]).await?;
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
        cause: ScheduleMove,
    ) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let (firing, action) = cause.parts();
            if let Some((by, action)) = action {
                let sql = format!(
                    "WITH changed AS (
                         UPDATE schedule SET next_at = $8
                         WHERE schedule_id = $6 AND next_at IS NOT DISTINCT FROM $7
                         RETURNING {NOW} AS at, project, schedule_id::text AS subject, name AS detail
                     )
                     {AUDIT_CHANGED}"
                );
                let own: [&(dyn ToSql + Sync); 3] = [&schedule, &expected, &next];
                return self.execute_audited(&sql, &own, by, action).await;
            }
            // If the statement is executed twice, the second execution changes nothing and returns
            // no row.
            let sql =
                "UPDATE schedule SET next_at = $3, last_at = $4, last_task = $5, last_error = $6
                       WHERE schedule_id = $1 AND next_at IS NOT DISTINCT FROM $2 RETURNING 1";
            let at = firing.map(|firing| firing.at);
            let result = firing.map(|firing| &firing.result);
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

    fn delete_schedule(&self, schedule: Uuid, by: AuditActor) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let action = AuditAction::DeleteSchedule;
            self.delete_audited("schedule", "schedule_id", schedule, &by, action)
                .await
        })
    }
}

fn read_schedule(row: &Row) -> Result<Schedule, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(Schedule {
        schedule_id: cells.next()?,
        project: cells.next()?,
        name: cells.next()?,
        cron: cells.next()?,
        body: cells.next()?,
        created_by: cells.next()?,
        created_by_token: cells.next()?,
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
