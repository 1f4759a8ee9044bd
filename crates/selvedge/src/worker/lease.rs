//! A lease as the worker knows it: what the hub has of it, whether it stands, and until when.
//!
//! Invariant: nothing is begun or journalled on a lane whose fence has passed. The fence is counted on this
//! machine's monotonic clock from the *sending* of the last renewal that was acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use selvedge_core::model::TaskId;
use selvedge_core::protocol::{HeldLease, LeaseId, LeaseToken};
use selvedge_store::fault;
use tokio::sync::{Notify, watch};

/// How a lease stands.
#[derive(Debug, Clone)]
pub(super) struct LeaseStatus {
    /// The connection that the hub kept it on; 0 while there is none.
    pub(super) connection: u64,
    /// The first entry that the hub does not have.
    pub(super) next_seq: u64,
    /// Whether the hub has acknowledged that we took it.
    pub(super) accepted: bool,
    /// Why the task is to be stopped for good.
    pub(super) cancel_reason: Option<String>,
    /// Why the lease is over.
    pub(super) lost_reason: Option<String>,
    /// When we must have ended everything, unless it is renewed before.
    pub(super) deadline: Option<Instant>,
    /// Asks whoever sends to look again, because an entry was missing.
    pub(super) resend_count: u64,
    /// The first entry that the hub did not have at the last renewal.
    pub(super) next_seq_at_renewal: u64,
}

/// One lease.
#[derive(Debug)]
pub(super) struct WorkerLease {
    pub(super) lease: LeaseToken,
    status: watch::Sender<LeaseStatus>,
    /// Something was written down for it.
    pub(super) entry_written: Notify,
    last_seq: AtomicU64,
    run_number: AtomicU32,
    /// The entry that ends the task here, once there is one.
    final_seq: AtomicU64,
}

impl WorkerLease {
    pub(super) fn new(lease: LeaseToken, last_seq: u64, run_number: u32) -> Arc<Self> {
        let standing = LeaseStatus {
            connection: 0,
            next_seq: 1,
            accepted: false,
            cancel_reason: None,
            lost_reason: None,
            deadline: None,
            resend_count: 0,
            next_seq_at_renewal: 0,
        };
        Arc::new(Self {
            lease,
            status: watch::Sender::new(standing),
            entry_written: Notify::new(),
            last_seq: AtomicU64::new(last_seq),
            run_number: AtomicU32::new(run_number),
            final_seq: AtomicU64::new(u64::MAX),
        })
    }

    pub(super) const fn key(&self) -> LeaseId {
        self.lease.id()
    }

    /// As it is told to a hub on connecting.
    pub(super) fn to_held_lease(&self) -> HeldLease {
        HeldLease {
            lease: self.lease.clone(),
            run_number: self.run_number.load(Ordering::Relaxed),
            last_seq: self.last_seq.load(Ordering::Relaxed),
        }
    }

    /// What the fault tests hold against what other workers tell: from when to when a task was at work here.
    pub(super) fn trace_event(&self, what: &str) {
        let key = self.key();
        fault::trace(
            || serde_json::json!({"what": what, "task": key.task_id, "epoch": key.lease_epoch}),
        );
    }

    /// Remembers what was written down.
    pub(super) fn record_written(&self, last_seq: u64, run_number: u32) {
        self.last_seq.store(last_seq, Ordering::Relaxed);
        self.run_number.store(run_number, Ordering::Relaxed);
        self.entry_written.notify_one();
    }

    /// Remembers which entry ends the task here.
    pub(super) fn set_final_seq(&self, seq: u64) {
        self.final_seq.store(seq, Ordering::Relaxed);
    }

    /// Whether the hub knows of the end, and may offer another task for the slot: what is left is to clear away.
    fn is_end_acknowledged(&self) -> bool {
        self.status.borrow().next_seq > self.final_seq.load(Ordering::Relaxed)
    }

    /// The last entry that was written down.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq.load(Ordering::Relaxed)
    }

    pub(super) fn update_status(&self, change: impl FnOnce(&mut LeaseStatus)) {
        self.status.send_modify(change);
    }

    pub(super) fn current_status(&self) -> LeaseStatus {
        self.status.borrow().clone()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<LeaseStatus> {
        self.status.subscribe()
    }

    /// Returns once work may go on (`true`), or never again (`false`).
    pub(super) async fn wait_until_live(&self) -> bool {
        let mut watch = self.subscribe();
        loop {
            {
                let standing = watch.borrow_and_update();
                if standing.lost_reason.is_some() {
                    return false;
                }
                let fenced = standing.deadline.is_none_or(|at| Instant::now() >= at);
                if standing.accepted && !fenced && standing.connection > 0 {
                    return true;
                }
            }
            if watch.changed().await.is_err() {
                return false;
            }
        }
    }

    /// Returns once work must end: the lease is over, or its fence has passed.
    pub(super) async fn wait_until_over(&self) {
        // The other way out is that entry 2^64 is acknowledged.
        let _ = self.wait_acknowledged(u64::MAX).await;
    }

    /// Returns once the hub has everything up to this entry (`true`), or work must end (`false`).
    pub(super) async fn wait_acknowledged(&self, seq: u64) -> bool {
        let mut watch = self.subscribe();
        loop {
            let fence = {
                let standing = watch.borrow_and_update();
                if standing.lost_reason.is_some() {
                    return false;
                }
                if standing.next_seq > seq {
                    return true;
                }
                standing
                    .deadline
                    .filter(|_| !fault::is_mutant_active("no_fence"))
            };
            let now = Instant::now();
            match fence {
                Some(at) if now >= at => return false,
                Some(at) => {
                    tokio::select! {
                        changed = watch.changed() => if changed.is_err() { return false },
                        () = tokio::time::sleep_until(at.into()) => {}
                    }
                }
                None => {
                    if watch.changed().await.is_err() {
                        return false;
                    }
                }
            }
        }
    }
}

/// All leases of this worker.
#[derive(Debug, Clone, Default)]
pub(super) struct LeaseTable(Arc<Mutex<BTreeMap<LeaseId, Arc<WorkerLease>>>>);

impl LeaseTable {
    fn lock_map(&self) -> MutexGuard<'_, BTreeMap<LeaseId, Arc<WorkerLease>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, lane: Arc<WorkerLease>) {
        self.lock_map().insert(lane.key(), lane);
    }

    pub(super) fn remove(&self, key: LeaseId) {
        self.lock_map().remove(&key);
    }

    pub(super) fn get(&self, key: LeaseId) -> Option<Arc<WorkerLease>> {
        self.lock_map().get(&key).cloned()
    }

    /// Whether any grant of a task is at work here. What the outbox still has of one that is not may be a
    /// leftover: it could not be removed, for the disk was full.
    pub(super) fn has_task(&self, task: TaskId) -> bool {
        self.lock_map().keys().any(|key| key.task_id == task)
    }

    pub(super) fn all(&self) -> Vec<Arc<WorkerLease>> {
        self.lock_map().values().cloned().collect()
    }

    /// Slots that are taken.
    pub(super) fn used_slots(&self) -> usize {
        self.lock_map()
            .values()
            .filter(|lane| !lane.is_end_acknowledged())
            .count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lane() -> Arc<WorkerLease> {
        let lease = LeaseToken {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 1,
            lease_token: "t".to_owned(),
        };
        WorkerLease::new(lease, 0, 0)
    }

    #[tokio::test]
    async fn work_ends_at_the_fence_unless_the_lease_is_renewed_before() {
        let lane = lane();
        let short = Instant::now() + Duration::from_millis(20);
        lane.update_status(|it| (it.accepted, it.connection, it.deadline) = (true, 1, Some(short)));
        assert!(lane.wait_until_live().await);
        let later = Instant::now() + Duration::from_hours(1);
        lane.update_status(|it| it.deadline = Some(later));
        tokio::select! {
            () = lane.wait_until_over() => panic!("it was renewed"),
            () = tokio::time::sleep(Duration::from_millis(60)) => {}
        }
        lane.update_status(|it| it.deadline = Some(Instant::now()));
        lane.wait_until_over().await;
        assert!(!lane.wait_acknowledged(5).await);
        lane.update_status(|it| it.lost_reason = Some("given away".to_owned()));
        assert!(!lane.wait_until_live().await);
    }

    #[tokio::test]
    async fn a_barrier_opens_with_the_acknowledgement() {
        let lane = lane();
        let far = Instant::now() + Duration::from_hours(1);
        lane.update_status(|it| it.deadline = Some(far));
        let waiting = {
            let lane = Arc::clone(&lane);
            tokio::spawn(async move { lane.wait_acknowledged(3).await })
        };
        lane.update_status(|it| it.next_seq = 3);
        lane.update_status(|it| it.next_seq = 4);
        assert!(waiting.await.unwrap());
    }

    #[test]
    fn a_slot_is_free_once_the_hub_knows_of_the_end() {
        let (lanes, lane) = (LeaseTable::default(), lane());
        lanes.add(Arc::clone(&lane));
        lane.update_status(|it| it.next_seq = 7);
        lane.set_final_seq(7);
        assert_eq!(lanes.used_slots(), 1);
        lane.update_status(|it| it.next_seq = 8);
        assert_eq!(
            lanes.used_slots(),
            0,
            "though what it leaves is not cleared away"
        );
    }
}
