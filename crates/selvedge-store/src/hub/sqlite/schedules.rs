//! Schedules.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use uuid::Uuid;

use super::SqliteHub;
use super::access::{delete_audited, insert_audit};
use super::columns::{damaged, parsed};
use crate::hub::access::{AuditAction, AuditActor};
use crate::hub::error::HubStoreError;
use crate::hub::schedules::{NewSchedule, Schedule, ScheduleFiring, ScheduleMove};
use crate::hub::traits::{ScheduleStore, StoreFuture};

const COLUMNS: &str = "schedule_id, project, name, cron, body, created_by, created_by_token, created_at, next_at, \
                       last_at, last_task, last_error";

impl ScheduleStore for SqliteHub {
    fn insert_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let (id, by, now) = (schedule.schedule_id.to_string(), &schedule.created_by, clock.now());
            let added = db.execute(
                "INSERT INTO schedule (schedule_id, project, name, cron, body, created_by, created_by_token,
                                       created_at, next_at)
                 SELECT :schedule_id, :project, :name, :cron, :body, :created_by, :created_by_token, :now, :next_at
                 WHERE NOT EXISTS (SELECT 1 FROM project WHERE name = :project AND deleted_at IS NOT NULL)",
                named_params! {
                    ":schedule_id": id,
                    ":project": schedule.project,
                    ":name": schedule.name,
                    ":cron": schedule.cron,
                    ":body": schedule.body,
                    ":created_by": by.name,
                    ":created_by_token": by.token_id.map(|token| token.to_string()),
                    ":now": now,
                    ":next_at": schedule.next_at,
                },
            )?;
            if added == 0 {
                return Ok(());
            }
            let what = (AuditAction::CreateSchedule, id.as_str(), schedule.name.as_str());
            insert_audit(db, now, &schedule.project, by, what)
        }))
    }

    fn schedules(&self, project: String) -> StoreFuture<'_, Vec<Schedule>> {
        Box::pin(self.read(move |db| {
            select(
                db,
                "project = ?1 ORDER BY created_at, schedule_id",
                &project,
            )
        }))
    }

    fn due_schedules(&self) -> StoreFuture<'_, Vec<Schedule>> {
        let now = self.clock.now();
        Box::pin(self.read(move |db| select(db, "next_at <= ?1 ORDER BY next_at LIMIT 100", &now)))
    }

    fn move_schedule(
        &self,
        schedule: Uuid,
        expected: Option<i64>,
        next: Option<i64>,
        cause: ScheduleMove,
    ) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let id = schedule.to_string();
            let moved = db.query_row(
                "UPDATE schedule SET next_at = ?3 WHERE schedule_id = ?1 AND next_at IS ?2 RETURNING project, name",
                params![id, expected, next],
                |row| Ok((row.get(0)?, row.get(1)?)),
            );
            let moved: Option<(String, String)> = moved.optional()?;
            let Some((project, name)) = moved else {
                return Ok(false);
            };
            let (firing, action) = cause.parts();
            if let Some(ScheduleFiring { at, result }) = firing {
                let task = result.as_ref().ok().map(ToString::to_string);
                db.execute(
                    "UPDATE schedule SET last_at = ?2, last_task = ?3, last_error = ?4 WHERE schedule_id = ?1",
                    params![id, at, task, result.as_ref().err()],
                )?;
            }
            if let Some((by, action)) = action {
                insert_audit(db, clock.now(), &project, by, (action, &id, &name))?;
            }
            Ok(true)
        }))
    }

    fn delete_schedule(&self, schedule: Uuid, by: AuditActor) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let row = ("schedule", "schedule_id", schedule);
            delete_audited(db, clock.now(), row, &by, AuditAction::DeleteSchedule)
        }))
    }
}

fn select(
    db: &Connection,
    condition: &str,
    value: &dyn rusqlite::ToSql,
) -> Result<Vec<Schedule>, HubStoreError> {
    let sql = format!("SELECT {COLUMNS} FROM schedule WHERE {condition}");
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query([value])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read_schedule(row)?);
    }
    Ok(all)
}

fn read_schedule(row: &Row<'_>) -> Result<Schedule, HubStoreError> {
    let token: Option<String> = row.get(6)?;
    let task: Option<String> = row.get(10)?;
    let error: Option<String> = row.get(11)?;
    let last = row.get::<_, Option<i64>>(9)?.map(|at| {
        let result = match (task, error) {
            (Some(task), _) => Ok(parsed(&task)?),
            (None, Some(error)) => Err(error),
            (None, None) => return Err(damaged("a schedule's last task is missing")),
        };
        Ok(ScheduleFiring { at, result })
    });
    Ok(Schedule {
        schedule_id: parsed(&row.get::<_, String>(0)?)?,
        project: row.get(1)?,
        name: row.get(2)?,
        cron: row.get(3)?,
        body: row.get(4)?,
        created_by: row.get(5)?,
        created_by_token: token.map(|id| parsed(&id)).transpose()?,
        created_at: row.get(7)?,
        next_at: row.get(8)?,
        last: last.transpose()?,
    })
}
