//! The hub's state: its store, and in-memory state for connected clients.
//!
//! Invariant: nothing in memory is authoritative. A hub that is killed and restarted continues from its
//! store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use selvedge_core::model::{Outcome, TaskId};
use selvedge_protocol::ProgressEvent;
use selvedge_store::hub::{
    ChangeAnswer, ChangeOutcome, HubStore, HubStoreError, TaskChange, TaskRecord,
};
use tokio::sync::{Notify, broadcast, mpsc};
use uuid::Uuid;

use crate::active_access::ActiveAccess;
use crate::journal_states::JournalStateCache;
use crate::limits::RateLimiter;
use crate::metrics::HubMetrics;
use crate::oidc::PersonSignIn;
use crate::readiness::ReadinessCache;
use crate::recent_activity::RecentActivity;
use crate::run_stats::EndedTaskReceiver;
use crate::session::WorkerRegistry;
use crate::settings::HubSettings;

/// The precision of the last use of a token or a session.
const USE_INTERVAL: Duration = Duration::from_mins(1);
/// Number of recorded uses above which those that are over are removed.
const MAX_RECORDED_USES: usize = 10_000;
/// Watchers that are more than this many changes behind read the store instead.
const CHANGE_BUFFER: usize = 1_024;
/// Ended tasks that wait for their statistics; for others they are computed on demand.
const ENDED_BUFFER: usize = 4_096;

/// Activity in a task, for watchers at this hub.
#[derive(Debug, Clone)]
pub enum HubActivity {
    /// A durable change: read the store.
    Changed(TaskId),
    /// A worker's progress. May be lost.
    Progress(TaskId, Arc<Vec<ProgressEvent>>),
}

/// A hub.
pub struct Hub {
    pub(crate) store: Arc<dyn HubStore>,
    pub(crate) settings: HubSettings,
    pub(crate) sessions: WorkerRegistry,
    pub(crate) limits: RateLimiter,
    pub(crate) active_access: ActiveAccess,
    pub(crate) readiness: ReadinessCache,
    pub(crate) sign_on: Option<PersonSignIn>,
    pub(crate) wake: Notify,
    pub(crate) metrics: HubMetrics,
    pub(crate) journal_states: Mutex<JournalStateCache>,
    watchers: broadcast::Sender<HubActivity>,
    changes: AtomicU64,
    ended: mpsc::Sender<(TaskId, u64)>,
    ended_receiver: Mutex<Option<EndedTaskReceiver>>,
    recorded_uses: Mutex<HashMap<Uuid, Instant>>,
    watch_counts: Mutex<HashMap<TaskId, usize>>,
    recent_activity: Mutex<RecentActivity>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// Creates a hub over a store.
    pub fn new(store: Arc<dyn HubStore>, settings: HubSettings) -> Arc<Self> {
        let (ended, ended_receiver) = mpsc::channel(ENDED_BUFFER);
        Arc::new(Self {
            ended,
            ended_receiver: Mutex::new(Some(ended_receiver)),
            store,
            limits: RateLimiter::new(settings.requests_per_second),
            sign_on: settings.oidc.clone().map(PersonSignIn::new),
            settings,
            sessions: WorkerRegistry::default(),
            active_access: ActiveAccess::default(),
            readiness: ReadinessCache::default(),
            wake: Notify::new(),
            metrics: HubMetrics::default(),
            journal_states: Mutex::default(),
            watchers: broadcast::channel(CHANGE_BUFFER).0,
            changes: AtomicU64::new(0),
            recorded_uses: Mutex::default(),
            watch_counts: Mutex::default(),
            recent_activity: Mutex::default(),
        })
    }

    /// The hub's store.
    pub fn store(&self) -> &Arc<dyn HubStore> {
        &self.store
    }

    /// The hub's settings.
    pub fn settings(&self) -> &HubSettings {
        &self.settings
    }

    /// Subscribes to future activity.
    pub fn watch(&self) -> broadcast::Receiver<HubActivity> {
        self.watchers.subscribe()
    }

    /// A counter that increases with every change that this hub knows of.
    pub fn change_count(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Notifies watchers and the dispatcher of a durable change.
    pub(crate) fn notify_changed(&self, task: TaskId) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        // There may be no watchers.
        let _ = self.watchers.send(HubActivity::Changed(task));
    }

    /// Records a change by another hub.
    pub(crate) fn peer_changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Registers a watcher of a task until the guard is dropped.
    pub(crate) fn watch_guard(self: &Arc<Self>, task: TaskId) -> WatchGuard {
        *self.watch_counts.lock().entry(task).or_insert(0) += 1;
        let hub = Arc::clone(self);
        WatchGuard { hub, task }
    }

    /// The tasks that are watched at this hub.
    pub(crate) fn watched_tasks(&self) -> Vec<TaskId> {
        self.watch_counts.lock().keys().copied().collect()
    }

    /// Forwards a worker's progress, and remembers the latest events while the task is running.
    pub(crate) fn publish_progress(&self, row: &TaskRecord, events: Vec<ProgressEvent>) {
        if events.is_empty() {
            return;
        }
        let task = row.task_id;
        if row.lease.is_held() {
            self.recent_activity.lock().record(task, &events);
        }
        if self.watchers.receiver_count() > 0 {
            let _ = self
                .watchers
                .send(HubActivity::Progress(task, Arc::new(events)));
        }
    }

    /// A number that changes with each new progress event from a worker connected here.
    pub(crate) fn activity_version(&self, task: TaskId) -> u64 {
        self.recent_activity.lock().version(task)
    }

    /// The latest progress events from a worker connected here.
    pub(crate) fn recent_activity(&self, task: TaskId) -> Vec<ProgressEvent> {
        self.recent_activity.lock().latest(task)
    }

    /// Takes the receiver of ended tasks, for the computation of statistics.
    pub(crate) fn take_ended_tasks(&self) -> Option<EndedTaskReceiver> {
        self.ended_receiver.lock().take()
    }

    /// Applies a change and notifies everyone concerned.
    pub(crate) async fn change(
        &self,
        task: TaskId,
        change: TaskChange,
    ) -> Result<Option<ChangeOutcome>, HubStoreError> {
        let began_at = Instant::now();
        let verdict = self.store.change(task, change).await?;
        self.metrics.record_commit(began_at.elapsed());
        if let Some(verdict) = &verdict {
            self.after_change(verdict);
        }
        Ok(verdict)
    }

    /// Notifies everyone whom a change concerns.
    pub(crate) fn after_change(&self, verdict: &ChangeOutcome) {
        let row = &verdict.row;
        if verdict.answer == ChangeAnswer::Applied {
            self.notify_changed(row.task_id);
        }
        if verdict.has_begun {
            self.metrics.record_wait(since_submission(row));
        }
        if verdict.has_ended {
            self.record_ended(row);
        }
        if row.lease.is_held() {
            if let Some(reason) = &row.lease.cancel {
                self.sessions
                    .cancel(row.lease_id(), row.lease.worker.as_deref(), reason);
            }
        } else {
            self.recent_activity.lock().forget(row.task_id);
            self.sessions.release(row.lease_id());
            self.wake.notify_one();
        }
    }

    /// Records that a task ended, for figures and statistics.
    pub(crate) fn record_ended(&self, row: &TaskRecord) {
        let outcome = row.lease.outcome.map_or("none", Outcome::as_str);
        self.metrics.record_task(outcome, since_submission(row));
        let _ = self.ended.try_send((row.task_id, row.event_seq));
    }

    /// Records that a token was used, at most once a minute for each.
    pub(crate) async fn record_token_use(&self, token: Uuid) {
        if self.is_use_due(token)
            && let Err(error) = self.store.touch_tokens(vec![token]).await
        {
            tracing::warn!(%error, "cannot record the use of a token");
        }
    }

    /// Records that a session of the dashboard was used, at most once a minute for each.
    pub(crate) async fn record_session_use(&self, session: Uuid) {
        if self.is_use_due(session)
            && let Err(error) = self.store.touch_session(session).await
        {
            tracing::warn!(%error, "cannot record the use of a session");
        }
    }

    /// Whether a use of a token or a session is to be recorded.
    fn is_use_due(&self, id: Uuid) -> bool {
        let now = Instant::now();
        let mut uses = self.recorded_uses.lock();
        let is_recent = |at: &Instant| now.duration_since(*at) < USE_INTERVAL;
        if uses.get(&id).is_some_and(is_recent) {
            return false;
        }
        if uses.len() >= MAX_RECORDED_USES {
            uses.retain(|_, at| is_recent(at));
        }
        uses.insert(id, now);
        true
    }
}

/// The time from a task's submission to its last change.
fn since_submission(row: &TaskRecord) -> Duration {
    let millis = u64::try_from(row.updated_at.saturating_sub(row.created_at));
    Duration::from_millis(millis.unwrap_or(0))
}

/// Registers a watcher of a task.
pub(crate) struct WatchGuard {
    hub: Arc<Hub>,
    task: TaskId,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let mut watched = self.hub.watch_counts.lock();
        if let Some(count) = watched.get_mut(&self.task) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.task);
            }
        }
    }
}
