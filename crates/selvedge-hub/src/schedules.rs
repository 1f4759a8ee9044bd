//! Submits the tasks of schedules when they are due.
//!
//! Invariant: each due time has at most one task. The task is submitted under an idempotency key that names the
//! schedule and the due time, and only then is the schedule moved to its next time, which is in the future: one task is
//! submitted for all missed times.

use std::sync::Arc;
use std::time::Duration;

use cronexpr::{Crontab, FallbackTimezoneOption, ParseOptions};
use selvedge_core::model::TaskId;
use selvedge_store::hub::{AuditChannel, HubStoreError, Schedule, ScheduleFiring, ScheduleMove};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use crate::hub::Hub;
use crate::service::{self, Actor, ServiceError, Submission};
use crate::task_rows::timestamp;
use crate::validate;

/// How often the store is asked for schedules that are due.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum length of a recorded error.
const MAX_ERROR_CHARS: usize = 500;

/// Why a schedule has no next time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CronError {
    /// The expression is invalid.
    #[error("invalid cron expression: {0}")]
    Invalid(String),
    /// It never matches again.
    #[error("the cron expression never matches")]
    Never,
}

/// The first time after `now` (milliseconds since 1970) that a cron expression of five fields matches, in UTC unless
/// the expression ends with an IANA time zone.
pub(crate) fn next_time(cron: &str, now: i64) -> Result<i64, CronError> {
    let mut options = ParseOptions::default();
    options.fallback_timezone_option = FallbackTimezoneOption::UTC;
    let invalid = |error: cronexpr::Error| CronError::Invalid(error.to_string());
    let cron = cronexpr::parse_crontab_with(cron, options).map_err(invalid)?;
    find_next(&cron, now)
}

fn find_next(cron: &Crontab, now: i64) -> Result<i64, CronError> {
    let next = cron
        .find_next(timestamp(now))
        .map_err(|_| CronError::Never)?;
    Ok(next.timestamp().as_millisecond())
}

/// Submits due tasks for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    loop {
        if let Err(error) = submit_due(&hub).await {
            tracing::error!(%error, "cannot submit the tasks of schedules");
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn submit_due(hub: &Hub) -> Result<(), HubStoreError> {
    for schedule in hub.store.due_schedules().await? {
        let Some(at) = schedule.next_at else { continue };
        let now = hub.store.now().await?;
        let next = next_time(&schedule.cron, now);
        let result = match &next {
            // The expression may be from another release. Without a next time, the schedule is paused.
            Err(error) => Err(format!("paused: {error}")),
            Ok(_) => match submit(hub, &schedule, at).await {
                Ok(task) => Ok(task),
                // It is tried again: the store may be available then.
                Err(ServiceError::Store(error)) => return Err(error),
                Err(error) => Err(error.to_string()),
            },
        };
        let id = schedule.schedule_id;
        let result = result.map_err(|error| {
            tracing::warn!(%error, name = %schedule.name, %id, "a schedule has submitted no task");
            error.chars().take(MAX_ERROR_CHARS).collect()
        });
        let fired = ScheduleMove::Fired(ScheduleFiring { at, result });
        // Another hub may have moved it already.
        hub.store
            .move_schedule(id, Some(at), next.ok(), fired)
            .await?;
    }
    Ok(())
}

async fn submit(hub: &Hub, schedule: &Schedule, at: i64) -> Result<TaskId, ServiceError> {
    // Validated again: the hub's rules may have changed.
    let checked = validate::task(schedule.body.as_bytes(), &hub.settings.defaults)
        .map_err(|error| ServiceError::Conflict(error.detail().to_owned()))?;
    let hash: [u8; 32] = Sha256::digest(schedule.body.as_bytes()).into();
    let actor = Actor {
        project: schedule.project.clone(),
        name: schedule.created_by.clone(),
        token_id: schedule.created_by_token,
        person: None,
        channel: AuditChannel::Schedule,
    };
    let submission = Submission {
        task: checked.task,
        warnings: checked.warnings,
        retry_of: None,
        idempotency: Some((format!("schedule {} {at}", schedule.schedule_id), hash)),
    };
    let answer = service::submit(hub, &actor, submission).await?;
    Ok(answer.task_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(cron: &str, now: &str) -> String {
        let now: jiff::Timestamp = now.parse().unwrap();
        let next = next_time(cron, now.as_millisecond()).unwrap();
        timestamp(next).to_string()
    }

    #[test]
    fn cron_is_in_utc_unless_it_names_a_zone() {
        let now = "2026-03-01T10:30:00Z";
        assert_eq!(next("0 3 * * *", now), "2026-03-02T03:00:00Z");
        assert_eq!(next("0 3 * * * Europe/Berlin", now), "2026-03-02T02:00:00Z");
        assert_eq!(next("*/15 * * * *", now), "2026-03-01T10:45:00Z");
        assert_eq!(next("0 9 * * MON", now), "2026-03-02T09:00:00Z");
    }

    #[test]
    fn time_zones_are_known_without_the_systems_database() {
        let bundled = jiff::tz::TimeZoneDatabase::bundled();
        assert!(bundled.get("Europe/Berlin").is_ok());
    }

    #[test]
    fn invalid_cron_is_rejected() {
        for cron in [
            "",
            "x",
            "61 * * * *",
            "0 3 * *",
            "0 0 30 2 *",
            "0 3 * * * Nowhere/Town",
        ] {
            assert!(next_time(cron, 0).is_err(), "{cron}");
        }
    }
}
