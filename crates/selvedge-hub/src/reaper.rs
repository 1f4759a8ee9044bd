//! The reaper: expires leases that were not renewed, offers that were not accepted, and pauses that have
//! ended. It also removes old data in small steps.
//!
//! Nothing expires for one period after a start, or after a time in which this hub itself was suspended:
//! workers could not renew.

use std::sync::Arc;
use std::time::Duration;

use selvedge_protocol::TaskState;
use selvedge_store::fault;
use selvedge_store::hub::HubStoreError;
use tokio::time::{Instant, sleep};

use crate::hub::Hub;

/// Maximum number of rows that one step of the retention removes.
const PURGE_BATCH: usize = 500;
/// Pause between two steps while there is more to remove, and interval otherwise.
const PURGE_PAUSE: Duration = Duration::from_millis(200);
const PURGE_INTERVAL: Duration = Duration::from_mins(10);

/// Expires deadlines for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    let timing = hub.settings.timing;
    let every = (timing.ttl() / 20).clamp(Duration::from_millis(20), Duration::from_secs(1));
    let mut quiet_until = Instant::now() + timing.ttl();
    let mut last = (Instant::now(), hub.store.now().await.ok());
    loop {
        sleep(every).await;
        let now = (Instant::now(), hub.store.now().await.ok());
        if has_clock_jumped(last, now, timing.ttl()) {
            tracing::warn!(
                "the hub or its clock was suspended: no lease expires for one lease period"
            );
            quiet_until = now.0 + timing.ttl();
        }
        last = now;
        let quiet = now.0 < quiet_until;
        match hub.store.expire_due(quiet).await {
            Ok(expired) => {
                if !expired.is_empty() {
                    fault::failpoint("hub.sweep.committed");
                }
                for row in expired {
                    // Otherwise an offer was not accepted, or a delay is over.
                    if row.lease.state != TaskState::Queued {
                        row.lease
                            .worker
                            .iter()
                            .for_each(|worker| hub.sessions.record_lost_lease(worker));
                    }
                    if row.lease.state.is_terminal() {
                        hub.record_ended(&row);
                    }
                    hub.sessions.release(row.lease_id());
                    hub.notify_changed(row.task_id);
                    hub.wake.notify_one();
                }
            }
            Err(error) => tracing::error!(%error, "cannot expire leases"),
        }
    }
}

type ClockReading = (Instant, Option<i64>);

/// Whether much more, or much less, time has passed by one clock than by the other, or than expected.
fn has_clock_jumped(last: ClockReading, now: ClockReading, ttl: Duration) -> bool {
    let passed = now.0.duration_since(last.0);
    let (Some(before), Some(after)) = (last.1, now.1) else {
        return true;
    };
    let by_store = after.saturating_sub(before);
    let elapsed_ms = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
    let tolerance_ms = i64::try_from(ttl.as_millis() / 3).unwrap_or(i64::MAX);
    elapsed_ms > tolerance_ms || by_store.abs_diff(elapsed_ms) > tolerance_ms.unsigned_abs()
}

/// Removes old data in small steps.
pub(crate) async fn purge_expired(hub: Arc<Hub>) {
    let millis = |period: Duration| i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
    let keep = millis(hub.settings.retention);
    let keep_audit = millis(hub.settings.audit_retention);
    loop {
        let removed = [
            hub.store.purge_expired(keep, PURGE_BATCH).await,
            hub.store.purge_audit(keep_audit, PURGE_BATCH).await,
        ]
        .map(|removed| {
            let log_error =
                |error: &HubStoreError| tracing::error!(%error, "cannot remove expired data");
            removed.inspect_err(log_error).is_ok_and(|count| count > 0)
        });
        sleep(if removed.contains(&true) {
            PURGE_PAUSE
        } else {
            PURGE_INTERVAL
        })
        .await;
    }
}
