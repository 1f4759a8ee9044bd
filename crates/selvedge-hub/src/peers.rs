//! Peers on the same database: forwards their changes to clients of this hub, and exchanges the lists of
//! connected workers.
//!
//! This only shortens delays: waiting code also polls once a second, and a worker learns of a cancellation at
//! its next renewal at the latest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::model::TaskId;
use selvedge_protocol::LeaseId;
use selvedge_store::hub::{HubStoreError, Peers};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use crate::hub::Hub;
use crate::session::PeerWorker;

/// How often hubs exchange their connected workers.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum pause between two checks.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// Runs for as long as the hub lives; returns immediately if the store cannot have peers.
pub(crate) async fn run(hub: Arc<Hub>) {
    let Some(peer_store) = hub.store.peers() else {
        return;
    };
    let mut listener = PeerListener {
        hub: &hub,
        peers: peer_store,
        id: Uuid::new_v4(),
        positions: HashMap::new(),
        stopped: HashSet::new(),
    };
    listener.listen(peer_store.change_stream()).await;
}

struct PeerListener<'a> {
    hub: &'a Hub,
    peers: &'a dyn Peers,
    id: Uuid,
    /// The last seen positions of the tasks that are watched here.
    positions: HashMap<TaskId, (u64, u64)>,
    /// Leases whose holders were told to stop.
    stopped: HashSet<LeaseId>,
}

impl PeerListener<'_> {
    async fn listen(&mut self, mut changes: watch::Receiver<u64>) {
        loop {
            if let Err(error) = self.exchange_heartbeat().await {
                tracing::warn!(%error, "cannot exchange heartbeats with peers");
            }
            let until = Instant::now() + HEARTBEAT_INTERVAL;
            while let Ok(changed) = timeout_at(until, changes.changed()).await {
                if changed.is_err() {
                    return;
                }
                if let Err(error) = self.relay_changes().await {
                    tracing::warn!(%error, "cannot read changes of a peer");
                }
                sleep(MIN_PAUSE).await;
            }
        }
    }

    /// Forwards changes by other hubs.
    async fn relay_changes(&mut self) -> Result<(), HubStoreError> {
        self.hub.wake.notify_one();
        self.hub.peer_changed();
        let watched = self.hub.watched_tasks();
        if !watched.is_empty() {
            let rows = self.peers.task_rows(watched).await?;
            let mut marks = HashMap::with_capacity(rows.len());
            for row in rows {
                let mark = (row.log_seq, row.event_seq);
                if self.positions.get(&row.task_id) != Some(&mark) {
                    self.hub.notify_changed(row.task_id);
                }
                marks.insert(row.task_id, mark);
            }
            self.positions = marks;
        }
        if self.hub.sessions.connected() > 0 {
            self.relay_cancellations().await?;
        }
        Ok(())
    }

    /// Tells holders that are connected here to stop, once each.
    async fn relay_cancellations(&mut self) -> Result<(), HubStoreError> {
        let mut all = HashSet::new();
        for row in self.peers.pending_cancellations().await? {
            let key = row.lease_id();
            if let Some(reason) = &row.lease.cancel
                && !self.stopped.contains(&key)
            {
                let worker = row.lease.worker.as_deref();
                self.hub.sessions.cancel(key, worker, reason);
            }
            all.insert(key);
        }
        self.stopped = all;
        Ok(())
    }

    /// Publishes the workers connected here, and receives those of the peers.
    async fn exchange_heartbeat(&mut self) -> Result<(), HubStoreError> {
        let sessions = &self.hub.sessions;
        let here = serde_json::to_string(&sessions.local_workers());
        let here = here.map_err(|error| HubStoreError::Damaged(error.to_string()))?;
        let others = self.peers.heartbeat(self.id, here).await?;
        // A hub of another release may send data that this one cannot read.
        let worker_lists = others
            .iter()
            .filter_map(|list| serde_json::from_str::<Vec<PeerWorker>>(list).ok())
            .flatten();
        sessions.update_peers(worker_lists.collect());
        Ok(())
    }
}
