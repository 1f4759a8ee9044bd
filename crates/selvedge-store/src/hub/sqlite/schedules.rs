//! Schedules.

use rusqlite::{Connection, Row, named_params, params};
use uuid::Uuid;

use super::SqliteHub;
use super::columns::{damaged, parsed};
use crate::hub::error::HubStoreError;
use crate::hub::schedules::{NewSchedule, Schedule, ScheduleFiring};
use crate::hub::traits::{ScheduleStore, StoreFuture};

const COLUMNS: &str = "schedule_id, tenant, name, cron, body, created_by, created_at, next_at, last_at, \
                       last_task, last_error";

impl ScheduleStore for SqliteHub {
    fn insert_schedule(&self, schedule: NewSchedule) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            db.execute(
                "INSERT INTO schedule (schedule_id, tenant, name, cron, body, created_by, created_at, next_at)
                 VALUES (:schedule_id, :tenant, :name, :cron, :body, :created_by, :now, :next_at)",
                named_params! {
                    ":schedule_id": schedule.schedule_id.to_string(),
                    ":tenant": schedule.tenant,
                    ":name": schedule.name,
                    ":cron": schedule.cron,
                    ":body": schedule.body,
                    ":created_by": schedule.created_by,
                    ":now": clock.now(),
                    ":next_at": schedule.next_at,
                },
            )?;
            Ok(())
        }))
    }

    fn schedules(&self, tenant: String) -> StoreFuture<'_, Vec<Schedule>> {
        Box::pin(
            self.read(move |db| {
                select(db, "tenant = ?1 ORDER BY created_at, schedule_id", &tenant)
            }),
        )
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
        fired: Option<ScheduleFiring>,
    ) -> StoreFuture<'_, bool> {
        Box::pin(self.write(move |db| {
            let moved = db.execute(
                "UPDATE schedule SET next_at = ?3 WHERE schedule_id = ?1 AND next_at IS ?2",
                params![schedule.to_string(), expected, next],
            )?;
            if let Some(ScheduleFiring { at, result }) = fired.as_ref().filter(|_| moved > 0) {
                let task = result.as_ref().ok().map(ToString::to_string);
                db.execute(
                    "UPDATE schedule SET last_at = ?2, last_task = ?3, last_error = ?4 WHERE schedule_id = ?1",
                    params![schedule.to_string(), at, task, result.as_ref().err()],
                )?;
            }
            Ok(moved > 0)
        }))
    }

    fn delete_schedule(&self, schedule: Uuid) -> StoreFuture<'_, bool> {
        Box::pin(self.write(move |db| {
            let sql = "DELETE FROM schedule WHERE schedule_id = ?1";
            Ok(db.execute(sql, [schedule.to_string()])? > 0)
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
    let task: Option<String> = row.get(9)?;
    let error: Option<String> = row.get(10)?;
    let last = row.get::<_, Option<i64>>(8)?.map(|at| {
        let result = match (task, error) {
            (Some(task), _) => Ok(parsed(&task)?),
            (None, Some(error)) => Err(error),
            (None, None) => return Err(damaged("a schedule's last task is missing")),
        };
        Ok(ScheduleFiring { at, result })
    });
    Ok(Schedule {
        schedule_id: parsed(&row.get::<_, String>(0)?)?,
        tenant: row.get(1)?,
        name: row.get(2)?,
        cron: row.get(3)?,
        body: row.get(4)?,
        created_by: row.get(5)?,
        created_at: row.get(6)?,
        next_at: row.get(7)?,
        last: last.transpose()?,
    })
}
