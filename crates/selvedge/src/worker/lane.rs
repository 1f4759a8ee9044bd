//! A lease as the worker knows it: what the hub has of it, whether it stands, and until when.
//!
//! Invariant: nothing is begun or journalled on a lane whose fence has passed. The fence is counted on this
//! machine's monotonic clock from the *sending* of the last renewal that was acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use selvedge_core::fleet::{Held, Lease, LeaseKey};
use selvedge_core::model::TaskId;
use selvedge_store::fault;
use tokio::sync::{Notify, watch};

/// How a lease stands.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    /// The connection that the hub kept it on; 0 while there is none.
    pub(super) connection: u64,
    /// The first entry that the hub does not have.
    pub(super) next_seq: u64,
    /// Whether the hub has acknowledged that we took it.
    pub(super) accepted: bool,
    /// Why the task is to be stopped for good.
    pub(super) cancel: Option<String>,
    /// Why the lease is over.
    pub(super) lost: Option<String>,
    /// When we must have ended everything, unless it is renewed before.
    pub(super) fence_at: Option<Instant>,
    /// Asks whoever sends to look again, because an entry was missing.
    pub(super) again: u64,
    /// The first entry that the hub did not have at the last renewal.
    pub(super) wanted: u64,
}

/// One lease.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) lease: Lease,
    standing: watch::Sender<Standing>,
    /// Something was written down for it.
    pub(super) written: Notify,
    last_seq: AtomicU64,
    run_number: AtomicU32,
    /// The entry that ends the task here, once there is one.
    last_of_all: AtomicU64,
}

impl Lane {
    pub(super) fn new(lease: Lease, last_seq: u64, run_number: u32) -> Arc<Self> {
        let standing = Standing {
            connection: 0,
            next_seq: 1,
            accepted: false,
            cancel: None,
            lost: None,
            fence_at: None,
            again: 0,
            wanted: 0,
        };
        Arc::new(Self {
            lease,
            standing: watch::Sender::new(standing),
            written: Notify::new(),
            last_seq: AtomicU64::new(last_seq),
            run_number: AtomicU32::new(run_number),
            last_of_all: AtomicU64::new(u64::MAX),
        })
    }

    pub(super) const fn key(&self) -> LeaseKey {
        self.lease.key()
    }

    /// As it is told to a hub on connecting.
    pub(super) fn held(&self) -> Held {
        Held {
            lease: self.lease.clone(),
            run_number: self.run_number.load(Ordering::Relaxed),
            last_seq: self.last_seq.load(Ordering::Relaxed),
        }
    }

    /// What the fault tests hold against what other workers tell: from when to when a task was at work here.
    pub(super) fn tell(&self, what: &str) {
        let key = self.key();
        fault::note(
            || serde_json::json!({"what": what, "task": key.task_id, "epoch": key.lease_epoch}),
        );
    }

    /// Remembers what was written down.
    pub(super) fn wrote(&self, last_seq: u64, run_number: u32) {
        self.last_seq.store(last_seq, Ordering::Relaxed);
        self.run_number.store(run_number, Ordering::Relaxed);
        self.written.notify_one();
    }

    /// Remembers which entry ends the task here.
    pub(super) fn ends_with(&self, seq: u64) {
        self.last_of_all.store(seq, Ordering::Relaxed);
    }

    /// Whether the hub knows of the end, and may offer another task for the slot: what is left is to clear away.
    fn has_ended(&self) -> bool {
        self.standing.borrow().next_seq > self.last_of_all.load(Ordering::Relaxed)
    }

    /// The last entry that was written down.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq.load(Ordering::Relaxed)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Standing)) {
        self.standing.send_modify(change);
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Returns once work may go on (`true`), or never again (`false`).
    pub(super) async fn live(&self) -> bool {
        let mut watch = self.watch();
        loop {
            {
                let standing = watch.borrow_and_update();
                if standing.lost.is_some() {
                    return false;
                }
                let fenced = standing.fence_at.is_none_or(|at| Instant::now() >= at);
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
    pub(super) async fn over(&self) {
        // The other way out is that entry 2^64 is acknowledged.
        let _ = self.has(u64::MAX).await;
    }

    /// Returns once the hub has everything up to this entry (`true`), or work must end (`false`).
    pub(super) async fn has(&self, seq: u64) -> bool {
        let mut watch = self.watch();
        loop {
            let fence = {
                let standing = watch.borrow_and_update();
                if standing.lost.is_some() {
                    return false;
                }
                if standing.next_seq > seq {
                    return true;
                }
                standing.fence_at.filter(|_| !fault::planted("no_fence"))
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
pub(super) struct Lanes(Arc<Mutex<BTreeMap<LeaseKey, Arc<Lane>>>>);

impl Lanes {
    fn map(&self) -> MutexGuard<'_, BTreeMap<LeaseKey, Arc<Lane>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, lane: Arc<Lane>) {
        self.map().insert(lane.key(), lane);
    }

    pub(super) fn remove(&self, key: LeaseKey) {
        self.map().remove(&key);
    }

    pub(super) fn get(&self, key: LeaseKey) -> Option<Arc<Lane>> {
        self.map().get(&key).cloned()
    }

    /// Whether any grant of a task is at work here. What the outbox still has of one that is not may be a
    /// leftover: it could not be removed, for the disk was full.
    pub(super) fn holds(&self, task: TaskId) -> bool {
        self.map().keys().any(|key| key.task_id == task)
    }

    pub(super) fn all(&self) -> Vec<Arc<Lane>> {
        self.map().values().cloned().collect()
    }

    /// Slots that are taken.
    pub(super) fn taken(&self) -> usize {
        self.map().values().filter(|lane| !lane.has_ended()).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn lane() -> Arc<Lane> {
        let lease = Lease {
            task_id: "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap(),
            lease_epoch: 1,
            lease_token: "t".to_owned(),
        };
        Lane::new(lease, 0, 0)
    }

    #[tokio::test]
    async fn work_ends_at_the_fence_unless_the_lease_is_renewed_before() {
        let lane = lane();
        let short = Instant::now() + Duration::from_millis(20);
        lane.change(|it| (it.accepted, it.connection, it.fence_at) = (true, 1, Some(short)));
        assert!(lane.live().await);
        let later = Instant::now() + Duration::from_hours(1);
        lane.change(|it| it.fence_at = Some(later));
        tokio::select! {
            () = lane.over() => panic!("it was renewed"),
            () = tokio::time::sleep(Duration::from_millis(60)) => {}
        }
        lane.change(|it| it.fence_at = Some(Instant::now()));
        lane.over().await;
        assert!(!lane.has(5).await);
        lane.change(|it| it.lost = Some("given away".to_owned()));
        assert!(!lane.live().await);
    }

    #[tokio::test]
    async fn a_barrier_opens_with_the_acknowledgement() {
        let lane = lane();
        let far = Instant::now() + Duration::from_hours(1);
        lane.change(|it| it.fence_at = Some(far));
        let waiting = {
            let lane = Arc::clone(&lane);
            tokio::spawn(async move { lane.has(3).await })
        };
        lane.change(|it| it.next_seq = 3);
        lane.change(|it| it.next_seq = 4);
        assert!(waiting.await.unwrap());
    }

    #[test]
    fn a_slot_is_free_once_the_hub_knows_of_the_end() {
        let (lanes, lane) = (Lanes::default(), lane());
        lanes.add(Arc::clone(&lane));
        lane.change(|it| it.next_seq = 7);
        lane.ends_with(7);
        assert_eq!(lanes.taken(), 1);
        lane.change(|it| it.next_seq = 8);
        assert_eq!(
            lanes.taken(),
            0,
            "though what it leaves is not cleared away"
        );
    }
}
