//! The hub's state: its store, and what it keeps in memory for those who are connected.
//!
//! Invariant: nothing in memory counts. A hub that is killed and started anew goes on from its store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selvedge_core::fleet::{LeaseKey, ProgressEvent};
use selvedge_core::model::TaskId;
use selvedge_store::hub::{Answer, Change, HubStore, HubStoreError, TaskRow, Verdict};
use tokio::sync::{Notify, broadcast, mpsc};
use uuid::Uuid;

use crate::facts::Ended;
use crate::limits::Limits;
use crate::session::Registry;
use crate::settings::HubSettings;
use crate::telling::Telling;

/// How exactly it is noted when a token was used.
const USED_EVERY: Duration = Duration::from_mins(1);
/// Watchers that are slower than this many changes look at the store instead.
const CHANGES: usize = 1_024;
/// Tasks that ended and wait for their facts to be made; of others they are made when somebody looks.
const ENDED: usize = 4_096;

/// What is going on in a task, for those who watch it from this hub.
#[derive(Debug, Clone)]
pub enum Activity {
    /// Something durable changed: look at the store.
    Changed(TaskId),
    /// A worker tells what it is doing. May be lost.
    Progress(TaskId, Arc<Vec<ProgressEvent>>),
}

/// One hub.
pub struct Hub {
    pub(crate) store: Arc<dyn HubStore>,
    pub(crate) settings: HubSettings,
    pub(crate) sessions: Registry,
    pub(crate) limits: Limits,
    pub(crate) wake: Notify,
    watchers: broadcast::Sender<Activity>,
    changes: AtomicU64,
    ended: mpsc::Sender<(TaskId, u64)>,
    to_be_told: Mutex<Option<Ended>>,
    used: Mutex<HashMap<Uuid, Instant>>,
    watched: Mutex<HashMap<TaskId, usize>>,
    telling: Mutex<Telling>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// A hub over a store.
    pub fn new(store: Arc<dyn HubStore>, settings: HubSettings) -> Arc<Self> {
        let (ended, to_be_told) = mpsc::channel(ENDED);
        Arc::new(Self {
            ended,
            to_be_told: Mutex::new(Some(to_be_told)),
            store,
            limits: Limits::new(settings.requests_per_second),
            settings,
            sessions: Registry::default(),
            wake: Notify::new(),
            watchers: broadcast::channel(CHANGES).0,
            changes: AtomicU64::new(0),
            used: Mutex::default(),
            watched: Mutex::default(),
            telling: Mutex::default(),
        })
    }

    /// What it remembers.
    pub fn store(&self) -> &Arc<dyn HubStore> {
        &self.store
    }

    /// How it behaves.
    pub fn settings(&self) -> &HubSettings {
        &self.settings
    }

    /// Hears of what goes on from now on.
    pub fn watch(&self) -> broadcast::Receiver<Activity> {
        self.watchers.subscribe()
    }

    /// Goes up with every change that this hub knows of.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Tells watchers, and whoever gives out tasks, that something durable changed.
    pub(crate) fn changed(&self, task: TaskId) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        // Nobody may be watching.
        let _ = self.watchers.send(Activity::Changed(task));
    }

    /// Another hub changed something.
    pub(crate) fn went_on_elsewhere(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that somebody watches a task here, for as long as the answer lives.
    pub(crate) fn watching(self: &Arc<Self>, task: TaskId) -> Watched {
        *lock(&self.watched).entry(task).or_insert(0) += 1;
        let hub = Arc::clone(self);
        Watched { hub, task }
    }

    /// The tasks that somebody watches here.
    pub(crate) fn watched(&self) -> Vec<TaskId> {
        lock(&self.watched).keys().copied().collect()
    }

    /// Passes on what a worker tells of a task, and remembers the last of it while the task is at work.
    pub(crate) fn progress(&self, row: &TaskRow, events: Vec<ProgressEvent>) {
        if events.is_empty() {
            return;
        }
        let task = row.task_id;
        if row.lease.is_held() {
            lock(&self.telling).hear(task, &events);
        }
        if self.watchers.receiver_count() > 0 {
            let _ = self
                .watchers
                .send(Activity::Progress(task, Arc::new(events)));
        }
    }

    /// Another number once a worker that is connected here has said more of a task.
    pub(crate) fn heard(&self, task: TaskId) -> u64 {
        lock(&self.telling).heard(task)
    }

    /// What a worker that is connected here said last of a task.
    pub(crate) fn told(&self, task: TaskId) -> Vec<ProgressEvent> {
        lock(&self.telling).latest(task)
    }

    /// Hears of tasks that end, for the one who makes their facts.
    pub(crate) fn take_ended(&self) -> Option<Ended> {
        lock(&self.to_be_told).take()
    }

    /// Applies a change and tells whom it concerns.
    pub(crate) async fn change(
        &self,
        task: TaskId,
        change: Change,
    ) -> Result<Option<Verdict>, HubStoreError> {
        let verdict = self.store.change(task, change).await?;
        if let Some(verdict) = &verdict {
            self.settled(verdict);
        }
        Ok(verdict)
    }

    /// Tells whom a change that was made concerns.
    pub(crate) fn settled(&self, verdict: &Verdict) {
        let row = &verdict.row;
        if verdict.answer == Answer::Done {
            self.changed(row.task_id);
            if row.lease.state.is_terminal() {
                let _ = self.ended.try_send((row.task_id, row.event_seq));
            }
        }
        if row.lease.is_held() {
            if let Some(reason) = &row.lease.cancel {
                let key = LeaseKey {
                    task_id: row.task_id,
                    lease_epoch: row.lease.epoch,
                };
                self.sessions
                    .cancel(key, row.lease.worker.as_deref(), reason);
            }
        } else {
            lock(&self.telling).forget(row.task_id);
            self.sessions.free(row.task_id, row.lease.epoch);
            self.wake.notify_one();
        }
    }

    /// Notes that a token was used, at most once a minute each.
    pub(crate) async fn used(&self, token: Uuid) {
        {
            let now = Instant::now();
            let mut used = lock(&self.used);
            let last = used.insert(token, now);
            if let Some(last) = last.filter(|last| now.duration_since(*last) < USED_EVERY) {
                used.insert(token, last);
                return;
            }
        }
        if let Err(error) = self.store.used(vec![token]).await {
            tracing::warn!(%error, "could not note that a token was used");
        }
    }
}

/// Somebody watches a task.
pub(crate) struct Watched {
    hub: Arc<Hub>,
    task: TaskId,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut watched = lock(&self.hub.watched);
        if let Some(count) = watched.get_mut(&self.task) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.task);
            }
        }
    }
}

/// A lock that no panic of another makes unusable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
