//! A lease from the worker's view: which entries the hub has, whether the lease is valid, and until when.
//!
//! Invariant: nothing is begun or journalled on a lease whose deadline has passed. The deadline is counted, on this
//! machine's monotonic clock, from the *sending* of the last acknowledged renewal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use selvedge_core::model::TaskId;
use selvedge_protocol::{HeldLease, LeaseId, LeaseToken};
use selvedge_store::fault;
use tokio::sync::{Notify, watch};

/// The status of a lease.
#[derive(Debug, Clone)]
pub(super) struct LeaseStatus {
    /// The connection on which the hub confirmed the lease; 0 if there is none.
    pub(super) connection: u64,
    /// The first entry that the hub does not have.
    pub(super) next_seq: u64,
    /// Whether the hub has acknowledged the acceptance.
    pub(super) accepted: bool,
    /// Why the task was cancelled.
    pub(super) cancel_reason: Option<String>,
    /// Why the lease has ended.
    pub(super) lost_reason: Option<String>,
    /// When all work must have ended, unless the lease is renewed.
    pub(super) deadline: Option<Instant>,
    /// Increased when the hub is missing entries, so that they are sent again.
    pub(super) resend_count: u64,
    /// The first entry that the hub did not have at the last renewal.
    pub(super) next_seq_at_renewal: u64,
}

#[derive(Debug)]
pub(super) struct WorkerLease {
    pub(super) lease: LeaseToken,
    status: watch::Sender<LeaseStatus>,
    /// Notified when an entry was written.
    pub(super) entry_written: Notify,
    last_seq: AtomicU64,
    attempt_number: AtomicU32,
    /// The entry that ends the task on this worker; `u64::MAX` before there is one.
    final_seq: AtomicU64,
    /// Whether the task waits for a usage limit and occupies no slot meanwhile.
    is_waiting: AtomicBool,
}

impl WorkerLease {
    pub(super) fn new(lease: LeaseToken, last_seq: u64, attempt_number: u32) -> Arc<Self> {
        let status = LeaseStatus {
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
            status: watch::Sender::new(status),
            entry_written: Notify::new(),
            last_seq: AtomicU64::new(last_seq),
            attempt_number: AtomicU32::new(attempt_number),
            final_seq: AtomicU64::new(u64::MAX),
            is_waiting: AtomicBool::new(false),
        })
    }

    pub(super) const fn key(&self) -> LeaseId {
        self.lease.id()
    }

    /// The lease as reported to the hub in `hello`.
    pub(super) fn to_held_lease(&self) -> HeldLease {
        HeldLease {
            lease: self.lease.clone(),
            attempt_number: self.attempt_number.load(Ordering::Relaxed),
            last_seq: self.last_seq.load(Ordering::Relaxed),
        }
    }

    /// Lets the fault tests compare when workers worked on a task.
    pub(super) fn trace_event(&self, what: &str) {
        let key = self.key();
        fault::trace(
            || serde_json::json!({"what": what, "task": key.task_id, "epoch": key.lease_epoch}),
        );
    }

    /// Records the last written entry and the open attempt.
    pub(super) fn record_written(&self, last_seq: u64, attempt_number: u32) {
        self.last_seq.store(last_seq, Ordering::Relaxed);
        self.attempt_number.store(attempt_number, Ordering::Relaxed);
        self.entry_written.notify_one();
    }

    /// Records which entry ends the task on this worker.
    pub(super) fn set_final_seq(&self, seq: u64) {
        self.final_seq.store(seq, Ordering::Relaxed);
    }

    /// Whether the hub has the end of the task and may offer another one: only the cleanup is left.
    fn is_end_acknowledged(&self) -> bool {
        self.status.borrow().next_seq > self.final_seq.load(Ordering::Relaxed)
    }

    /// Gives the task's slot back while it waits for a usage limit.
    pub(super) fn release_slot(&self) {
        self.is_waiting.store(true, Ordering::Relaxed);
    }

    /// Whether the task occupies no slot.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    /// The last written entry.
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

    /// Returns `true` once work may begin or continue, `false` if the lease has ended.
    pub(super) async fn wait_until_live(&self) -> bool {
        let mut watch = self.subscribe();
        loop {
            {
                let status = watch.borrow_and_update();
                if status.lost_reason.is_some() {
                    return false;
                }
                let is_expired = status.deadline.is_none_or(|at| Instant::now() >= at);
                if status.accepted && !is_expired && status.connection > 0 {
                    return true;
                }
            }
            if watch.changed().await.is_err() {
                return false;
            }
        }
    }

    /// Returns once work must end: the lease has ended, or its deadline has passed.
    pub(super) async fn wait_until_over(&self) {
        // Entry `u64::MAX` does not exist, so only the end of the lease ends this wait.
        let _ = self.wait_acknowledged(u64::MAX).await;
    }

    /// Returns `true` once the hub has everything up to this entry, `false` if work must end.
    pub(super) async fn wait_acknowledged(&self, seq: u64) -> bool {
        let mut watch = self.subscribe();
        loop {
            let deadline = {
                let status = watch.borrow_and_update();
                if status.lost_reason.is_some() {
                    return false;
                }
                if status.next_seq > seq {
                    return true;
                }
                status.deadline
            };
            let now = Instant::now();
            match deadline {
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

#[derive(Debug, Clone, Default)]
pub(super) struct LeaseTable(Arc<Mutex<BTreeMap<LeaseId, Arc<WorkerLease>>>>);

impl LeaseTable {
    pub(super) fn add(&self, worker_lease: Arc<WorkerLease>) {
        self.0.lock().insert(worker_lease.key(), worker_lease);
    }

    pub(super) fn remove(&self, key: LeaseId) {
        self.0.lock().remove(&key);
    }

    pub(super) fn get(&self, key: LeaseId) -> Option<Arc<WorkerLease>> {
        self.0.lock().get(&key).cloned()
    }

    /// Whether this worker has a lease of a task. Without a lease, the task's data in the outbox is a leftover that
    /// could not be removed, for example because the disk was full.
    pub(super) fn has_task(&self, task: TaskId) -> bool {
        self.0.lock().keys().any(|key| key.task_id == task)
    }

    pub(super) fn all(&self) -> Vec<Arc<WorkerLease>> {
        self.0.lock().values().cloned().collect()
    }

    pub(super) fn used_slots(&self) -> usize {
        count_used_slots(&self.0.lock())
    }

    /// Occupies a slot for a task that waited, if one of this number is free.
    pub(super) fn occupy_slot(&self, worker_lease: &WorkerLease, slots: usize) -> bool {
        let leases = self.0.lock();
        let is_free = count_used_slots(&leases) < slots;
        if is_free {
            worker_lease.is_waiting.store(false, Ordering::Relaxed);
        }
        is_free
    }
}

fn count_used_slots(leases: &BTreeMap<LeaseId, Arc<WorkerLease>>) -> usize {
    let uses_slot = |it: &&Arc<WorkerLease>| !it.is_end_acknowledged() && !it.is_waiting();
    leases.values().filter(uses_slot).count()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn worker_lease() -> Arc<WorkerLease> {
        let lease = LeaseToken {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 1,
            lease_token: "t".to_owned(),
        };
        WorkerLease::new(lease, 0, 0)
    }

    #[tokio::test]
    async fn lease_expires_unless_renewed() {
        let worker_lease = worker_lease();
        let short = Instant::now() + Duration::from_millis(20);
        worker_lease
            .update_status(|it| (it.accepted, it.connection, it.deadline) = (true, 1, Some(short)));
        assert!(worker_lease.wait_until_live().await);
        let later = Instant::now() + Duration::from_hours(1);
        worker_lease.update_status(|it| it.deadline = Some(later));
        tokio::select! {
            () = worker_lease.wait_until_over() => panic!("it was renewed"),
            () = tokio::time::sleep(Duration::from_millis(60)) => {}
        }
        worker_lease.update_status(|it| it.deadline = Some(Instant::now()));
        worker_lease.wait_until_over().await;
        assert!(!worker_lease.wait_acknowledged(5).await);
        worker_lease.update_status(|it| it.lost_reason = Some("given away".to_owned()));
        assert!(!worker_lease.wait_until_live().await);
    }

    #[tokio::test]
    async fn lease_wait_ends_with_acknowledgement() {
        let worker_lease = worker_lease();
        let far = Instant::now() + Duration::from_hours(1);
        worker_lease.update_status(|it| it.deadline = Some(far));
        let waiting = {
            let worker_lease = Arc::clone(&worker_lease);
            tokio::spawn(async move { worker_lease.wait_acknowledged(3).await })
        };
        worker_lease.update_status(|it| it.next_seq = 3);
        worker_lease.update_status(|it| it.next_seq = 4);
        assert!(waiting.await.unwrap());
    }

    #[test]
    fn lease_slot_is_free_after_acknowledged_end() {
        let (leases, worker_lease) = (LeaseTable::default(), worker_lease());
        leases.add(Arc::clone(&worker_lease));
        worker_lease.update_status(|it| it.next_seq = 7);
        worker_lease.set_final_seq(7);
        assert_eq!(leases.used_slots(), 1);
        worker_lease.update_status(|it| it.next_seq = 8);
        assert_eq!(
            leases.used_slots(),
            0,
            "though what it leaves is not cleared away"
        );
    }
}
