//! Assigns tasks: whenever a task is submitted or a worker has a free slot, and once a second for tasks that
//! another hub may have accepted.

use std::sync::Arc;
use std::time::Duration;

use selvedge_core::model::Task;
use selvedge_protocol::{AssignedReview, HubMessage, TaskAssign};
use selvedge_store::fault;
use selvedge_store::hub::{Assignment, TaskChange};
use tokio::time::timeout;

use crate::hub::Hub;

/// How often the queue is polled without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Pause after a search of the queue that found several tasks. A search costs the same for one free slot as for many,
/// and many become free while a hub is busy.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// Assigns tasks for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    loop {
        // After a notification and a timeout alike.
        let _ = timeout(POLL_INTERVAL, hub.wake.notified()).await;
        let poll_requests = hub.sessions.poll_requests(hub.settings.timing.ttl());
        if poll_requests.is_empty() {
            continue;
        }
        match hub.store.assign_tasks(poll_requests).await {
            Ok(granted) => {
                if !granted.is_empty() {
                    fault::failpoint("hub.grant.committed");
                }
                let is_busy = granted.len() > 1;
                for granted in granted {
                    offer(&hub, granted).await;
                }
                if is_busy {
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
            }
            Err(error) => {
                tracing::error!(%error, "cannot assign tasks");
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }
}

async fn offer(hub: &Hub, granted: Assignment) {
    let row = &granted.row;
    let lease = row.lease_token();
    let key = lease.id();
    let task: Task = match serde_json::from_str(&granted.body) {
        Ok(task) => task,
        Err(error) => {
            tracing::error!(%error, task = %row.task_id, "cannot read a stored task");
            return;
        }
    };
    let ttl = hub.settings.timing.ttl().as_millis();
    let assign = TaskAssign {
        lease,
        ttl_ms: u64::try_from(ttl).unwrap_or(u64::MAX),
        task,
        last_attempt_number: row.lease.last_attempt,
        last_event_seq: row.event_seq,
        infra_losses: row.lease.losses,
        // If an assigned task has a review, it requested another attempt.
        review: row.lease.review.clone().map(|review| AssignedReview {
            by: review.by,
            stated_by: review.stated_by,
            reason: review.reason,
        }),
    };
    let message = HubMessage::TaskAssign(Box::new(assign));
    if hub.sessions.offer(&granted.worker, key, message) {
        fault::failpoint("hub.offer.sent");
        hub.notify_changed(row.task_id);
        return;
    }
    // The worker did not receive the offer.
    let epoch = key.lease_epoch;
    if let Err(error) = hub.change(row.task_id, TaskChange::Forget { epoch }).await {
        tracing::warn!(%error, task = %row.task_id, "cannot withdraw an undelivered offer; it remains until it expires");
    }
}
