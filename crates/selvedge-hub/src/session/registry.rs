//! The registry of workers that are connected to this hub, with their labels and free slots, and of the
//! workers that peers report. It is in memory only: the store decides what a worker holds.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use selvedge_core::format::reason_line;
use selvedge_core::model::{TaskId, Timestamp};
use selvedge_protocol::{
    Hello, HubMessage, LeaseId, LeaseRenewal, RESERVED_LABEL_PREFIX, RenewalResult, WorkerRow,
};
use selvedge_store::hub::PollRequest;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::placement::{self, Candidate, TaskNeeds};
use super::quarantine::{
    BlamelessFailures, FailedWork, FailureRecord, Quarantine, QuarantineRules, TaskFailure,
};

/// How long a worker is not offered a task again after declining it: at first it may still be cleaning up
/// after an earlier lease. The pause doubles each time, up to the maximum.
const DECLINE_PAUSE: Duration = Duration::from_secs(1);
const MAX_DECLINE_PAUSE: Duration = Duration::from_secs(30);
/// The same for a task that the worker found it cannot run, unless it connects again.
const INCAPABLE_PAUSE: Duration = Duration::from_mins(10);
/// Maximum length of a worker's name, boot id and version in bytes.
const MAX_IDENTITY_BYTES: usize = 255;
/// Maximum number of announced labels, agents, folders and sandboxes each.
const MAX_CAPABILITIES: usize = 1_000;
/// Maximum length of each of them in bytes: that of a path. A longer one is ignored.
const MAX_CAPABILITY_BYTES: usize = 4_096;
/// Maximum number of workers that are remembered after they left.
const MAX_REMEMBERED: usize = 2_000;

/// Handle of one session. Another session of the same worker has another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionHandle {
    worker: String,
    number: u64,
}

impl SessionHandle {
    /// The worker's name, with its project.
    pub(crate) fn worker(&self) -> &str {
        &self.worker
    }
}

#[derive(Debug)]
struct ConnectedWorker {
    number: u64,
    /// Absent after it has disconnected.
    outgoing: Option<mpsc::Sender<HubMessage>>,
    /// Whether it was welcomed and may receive offers.
    is_ready: bool,
    /// The project whose tasks it takes; `None` for all.
    project: Option<String>,
    hello: Hello,
    labels: Vec<String>,
    draining: bool,
    held: BTreeSet<LeaseId>,
    /// Those of them that occupy no slot.
    waiting: HashSet<LeaseId>,
    declined: HashMap<TaskId, DeclinedOffer>,
    failures: FailureRecord,
    lost_leases: u64,
    last_seen: Timestamp,
    /// `last_seen` by the monotonic clock.
    last_message_at: Instant,
    since: Timestamp,
}

impl ConnectedWorker {
    /// Whether it may be offered tasks at all.
    fn is_available(&self) -> bool {
        let capabilities = self.hello.capabilities.as_ref();
        capabilities.is_none_or(|own| own.problem.is_none()) && self.failures.quarantine().is_none()
    }

    fn decline(&mut self, task: TaskId, pause: Duration, incapable: Option<String>) {
        // A pause that has ended is remembered for a while, because the next one is longer.
        self.declined
            .retain(|_, last| last.at.elapsed() < last.pause + MAX_DECLINE_PAUSE);
        let at = Instant::now();
        let offer = DeclinedOffer {
            at,
            pause,
            incapable,
        };
        self.declined.insert(task, offer);
    }
}

/// A connected worker, as hubs report it to each other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PeerWorker {
    /// Without its quarantine.
    row: WorkerRow,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quarantine: Option<Quarantine>,
    since: Timestamp,
    /// Different for each process; empty from a hub of an earlier release.
    #[serde(default)]
    boot_id: String,
}

/// Why a worker is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerRefusedError {
    /// Another worker of the same name is connected.
    #[error("another worker named `{0}` is connected; give each worker its own --name")]
    NameInUse(String),
    /// A text that identifies the worker is too long.
    #[error(
        "the name, boot id and version of a worker have at most {MAX_IDENTITY_BYTES} bytes each; \
         give the worker a shorter --name"
    )]
    TooLong,
    /// The name looks like that of a worker of a project.
    #[error("the name of a worker contains no `/`; give the worker another --name")]
    InvalidName,
}

/// When a worker declined a task, and for how long it is not offered again.
#[derive(Debug, Clone)]
struct DeclinedOffer {
    at: Instant,
    pause: Duration,
    /// Why the worker cannot run the task; `None` if it may be able to later.
    incapable: Option<String>,
}

impl DeclinedOffer {
    fn is_recent(&self) -> bool {
        self.at.elapsed() < self.pause
    }
}

/// All workers, by name. The name of a worker that takes only the tasks of one project is `PROJECT/NAME`, so that it
/// never replaces, and gets no message for, a worker of another project.
#[derive(Debug, Default)]
pub(crate) struct WorkerRegistry {
    workers: Mutex<BTreeMap<String, ConnectedWorker>>,
    next_session: AtomicU64,
    peer_workers: Mutex<BTreeMap<String, PeerWorker>>,
    blameless_failures: Mutex<BlamelessFailures>,
}

impl WorkerRegistry {
    /// Registers a worker's session. An older session of the same process ends, and so does one of another
    /// process of the same name if it has sent nothing within `alive_within`: the worker was restarted,
    /// perhaps on another machine. If that process is alive, there are two workers of one name, and the new one
    /// is refused.
    pub(crate) fn connect(
        &self,
        hello: &Hello,
        project: Option<String>,
        alive_within: Duration,
        outgoing: mpsc::Sender<HubMessage>,
    ) -> Result<SessionHandle, WorkerRefusedError> {
        let identity = [&hello.worker, &hello.boot_id, &hello.version];
        if identity.iter().any(|text| text.len() > MAX_IDENTITY_BYTES) {
            return Err(WorkerRefusedError::TooLong);
        }
        if hello.worker.contains('/') {
            return Err(WorkerRefusedError::InvalidName);
        }
        let name = match &project {
            Some(project) => format!("{project}/{}", hello.worker),
            None => hello.worker.clone(),
        };
        let number = self.next_session.fetch_add(1, Ordering::Relaxed);
        let mut hello = hello.clone();
        limit_announcement(&mut hello);
        let mut labels = hello.labels.clone();
        labels.retain(|label| !label.starts_with(RESERVED_LABEL_PREFIX));
        labels.sort();
        labels.dedup();
        let mut workers = self.workers.lock();
        let is_other_process = |boot_id: &str| !boot_id.is_empty() && boot_id != hello.boot_id;
        let is_alive_here = workers.get(&name).is_some_and(|other| {
            other.outgoing.as_ref().is_some_and(|it| !it.is_closed())
                && is_other_process(&other.hello.boot_id)
                && other.last_message_at.elapsed() < alive_within
        });
        let is_alive_at_peer = || {
            let peers = self.peer_workers.lock();
            let other = peers.get(&name);
            other.is_some_and(|other| is_other_process(&other.boot_id))
        };
        if is_alive_here || is_alive_at_peer() {
            return Err(WorkerRefusedError::NameInUse(hello.worker.clone()));
        }
        if workers.len() >= MAX_REMEMBERED {
            workers.retain(|_, worker| worker.outgoing.is_some());
        }
        let before = workers.remove(&name);
        let worker = ConnectedWorker {
            number,
            outgoing: Some(outgoing),
            is_ready: false,
            project,
            labels,
            draining: hello.slots == 0,
            held: BTreeSet::new(),
            waiting: HashSet::new(),
            declined: HashMap::new(),
            lost_leases: before.as_ref().map_or(0, |before| before.lost_leases),
            failures: before.map(|before| before.failures).unwrap_or_default(),
            last_seen: Timestamp::now(),
            last_message_at: Instant::now(),
            since: Timestamp::now(),
            hello,
        };
        workers.insert(name.clone(), worker);
        Ok(SessionHandle {
            worker: name,
            number,
        })
    }

    /// Marks a session as welcomed: from now on it may receive offers. Leases that were not confirmed do not
    /// occupy its slots.
    pub(crate) fn mark_ready(&self, handle: &SessionHandle, answers: &[LeaseRenewal]) {
        let kept_leases = answers
            .iter()
            .filter(|answer| matches!(answer.verdict, RenewalResult::Keep { .. }));
        self.update_worker(handle, |worker| {
            worker.is_ready = true;
            worker.held.extend(kept_leases.map(|lease| lease.key));
        });
    }

    pub(crate) fn disconnect(&self, handle: &SessionHandle) {
        self.update_worker(handle, |worker| {
            worker.outgoing = None;
            worker.last_seen = Timestamp::now();
        });
    }

    /// Records a renewal; workers send several per period, even if they hold no task. The waiting tasks occupy
    /// no slot until the next one.
    pub(crate) fn touch(&self, handle: &SessionHandle, waiting: Vec<LeaseId>) {
        self.update_worker(handle, |worker| {
            worker.waiting = waiting.into_iter().collect();
            worker.last_seen = Timestamp::now();
            worker.last_message_at = Instant::now();
        });
    }

    pub(crate) fn mark_draining(&self, handle: &SessionHandle) {
        self.update_worker(handle, |worker| worker.draining = true);
    }

    /// Records that a worker declined an offer, at the moment.
    pub(crate) fn record_decline(&self, handle: &SessionHandle, task: TaskId) {
        self.update_worker(handle, |worker| {
            let pause = worker.declined.get(&task).map_or(DECLINE_PAUSE, |last| {
                MAX_DECLINE_PAUSE.min(last.pause.saturating_mul(2))
            });
            worker.decline(task, pause, None);
        });
    }

    /// Records that a worker cannot run a task, with the reason in one line.
    pub(crate) fn record_incapable(&self, handle: &SessionHandle, task: TaskId, reason: &str) {
        self.update_worker(handle, |worker| {
            worker.decline(task, INCAPABLE_PAUSE, Some(reason.to_owned()));
        });
    }

    /// Records that a worker's infrastructure failed.
    pub(crate) fn record_failure(
        &self,
        handle: &SessionHandle,
        failed: FailedWork,
        failure: TaskFailure,
        rules: &QuarantineRules,
    ) {
        let mut workers = self.workers.lock();
        // The record of this worker is put back below.
        let own = workers.get_mut(&handle.worker);
        let Some(own) = own.filter(|worker| worker.number == handle.number) else {
            return;
        };
        let mut failures = std::mem::take(&mut own.failures);
        let was_quarantined = failures.quarantine().is_some();
        let others = workers.values_mut().map(|worker| &mut worker.failures);
        let mut blameless = self.blameless_failures.lock();
        let now = Instant::now();
        blameless.record_failure(failed, failure, &mut failures, others, rules, now);
        if let Some(quarantine) = failures.quarantine().filter(|_| !was_quarantined) {
            let (worker, until) = (&handle.worker, quarantine.until);
            let reason = quarantine.full_reason();
            tracing::warn!(worker, %until, reason, "worker quarantined");
        }
        if let Some(own) = workers.get_mut(&handle.worker) {
            own.failures = failures;
        }
    }

    /// Records that a worker's infrastructure works.
    pub(crate) fn record_success(&self, handle: &SessionHandle) {
        self.update_worker(handle, |worker| worker.failures = FailureRecord::default());
    }

    fn update_worker(&self, handle: &SessionHandle, change: impl FnOnce(&mut ConnectedWorker)) {
        let mut workers = self.workers.lock();
        let worker = workers.get_mut(&handle.worker);
        if let Some(worker) = worker.filter(|worker| worker.number == handle.number) {
            change(worker);
        }
    }

    /// Requests for tasks by workers with free slots that sent something within this time. A disconnected one
    /// would otherwise be offered the same task again and again, and no other worker would get it.
    pub(crate) fn poll_requests(&self, within: Duration) -> Vec<PollRequest> {
        let workers = self.workers.lock();
        let mut poll_requests: Vec<PollRequest> = workers
            .iter()
            .filter(|(_, worker)| worker.outgoing.is_some() && worker.is_ready && !worker.draining)
            .filter(|(_, worker)| worker.last_message_at.elapsed() < within)
            .filter(|(_, worker)| worker.is_available())
            .filter_map(|(name, worker)| {
                let slots = usize::try_from(worker.hello.slots).unwrap_or(usize::MAX);
                let waiting = worker.waiting.iter();
                let waiting = waiting.filter(|lease| worker.held.contains(lease)).count();
                let free = slots.saturating_sub(worker.held.len() - waiting);
                let declined = worker.declined.iter();
                let recent_decline = declined.filter(|(_, last)| last.is_recent());
                let capabilities = worker.hello.capabilities.as_ref();
                (free > 0).then(|| PollRequest {
                    worker: name.clone(),
                    project: worker.project.clone(),
                    labels: worker.labels.clone(),
                    agents: capabilities.map(|own| own.agents.clone()),
                    folders: capabilities.map(|own| own.folders.clone()),
                    slots: free,
                    excluded: recent_decline.map(|(task, _)| *task).collect(),
                })
            })
            .collect();
        // Groups workers with the same capabilities, those with the most free slots first.
        poll_requests.sort_by(|a, b| {
            let by_capabilities = a.capabilities().cmp(&b.capabilities());
            by_capabilities.then(b.slots.cmp(&a.slots))
        });
        poll_requests
    }

    /// Sends an offer. `false` if the worker is gone: the offer expires by itself.
    pub(crate) fn offer(&self, worker: &str, key: LeaseId, message: HubMessage) -> bool {
        let mut workers = self.workers.lock();
        let Some(worker) = workers.get_mut(worker) else {
            return false;
        };
        let sent = worker
            .outgoing
            .as_ref()
            .map(|outgoing| outgoing.try_send(message));
        let sent = matches!(sent, Some(Ok(())));
        if sent {
            worker.held.insert(key);
        }
        sent
    }

    /// Removes a task that is no longer held.
    pub(crate) fn release(&self, key: LeaseId) {
        let first = LeaseId {
            lease_epoch: 0,
            ..key
        };
        for worker in self.workers.lock().values_mut() {
            while let Some(ended) = worker.held.range(first..=key).next().copied() {
                worker.held.remove(&ended);
            }
        }
    }

    /// Counts an expired lease.
    pub(crate) fn record_lost_lease(&self, worker: &str) {
        if let Some(worker) = self.workers.lock().get_mut(worker) {
            worker.lost_leases += 1;
        }
    }

    /// Asks the holder to cancel. The answer to its next renewal repeats the request.
    pub(crate) fn cancel(&self, key: LeaseId, worker: Option<&str>, reason: &str) {
        let workers = self.workers.lock();
        let holder = worker.and_then(|name| workers.get(name));
        if let Some(outgoing) = holder.and_then(|worker| worker.outgoing.as_ref()) {
            let reason = reason.to_owned();
            let _ = outgoing.try_send(HubMessage::Cancel { key, reason });
        }
    }

    /// Number of workers that are connected to this hub.
    pub(crate) fn connected(&self) -> usize {
        let workers = self.workers.lock();
        workers
            .values()
            .filter(|worker| worker.outgoing.is_some())
            .count()
    }

    /// Why no worker that is connected, here or to a peer, could take a task with these needs.
    pub(crate) fn why_unschedulable<'a>(&self, needs: impl Into<TaskNeeds<'a>>) -> Option<String> {
        let needs = needs.into();
        let (workers, peer_workers) = (self.workers.lock(), self.peer_workers.lock());
        let here = workers
            .iter()
            .filter(|(_, worker)| worker.outgoing.is_some());
        let here = here.map(|(name, worker)| {
            let declined = needs.task.and_then(|task| worker.declined.get(&task));
            let declined = declined.filter(|last| last.is_recent());
            Candidate {
                name,
                project: worker.project.as_deref(),
                labels: &worker.labels,
                capabilities: worker.hello.capabilities.as_ref(),
                quarantine: worker.failures.quarantine(),
                declined: declined.and_then(|last| last.incapable.as_deref()),
            }
        });
        let at_peers = peer_workers.iter().map(|(name, peer)| Candidate {
            name,
            project: peer.row.project.as_deref(),
            labels: &peer.row.labels,
            capabilities: peer.row.capabilities.as_ref(),
            quarantine: peer.quarantine.as_ref(),
            declined: None,
        });
        placement::why_unschedulable(needs, here.chain(at_peers).collect())
    }

    /// For readers of a project: the connected and former workers of this hub that take its tasks, and those connected
    /// to peers.
    pub(crate) fn workers_of(&self, project: &str) -> Vec<WorkerRow> {
        let takes_tasks = |row: &WorkerRow| row.project.as_ref().is_none_or(|own| own == project);
        let workers = self.all_workers().into_iter();
        let visible = workers.filter(|(row, _)| takes_tasks(row));
        let rows = visible.map(|(row, quarantine)| WorkerRow {
            quarantine: quarantine.map(|it| it.visible_to(project)),
            ..row
        });
        rows.collect()
    }

    /// Name of each worker, whether it is connected, and its number of tasks.
    pub(crate) fn worker_states(&self) -> Vec<(String, bool, usize)> {
        let workers = self.all_workers().into_iter();
        let states = workers.map(|(row, _)| (row.worker, row.connected, row.tasks.len()));
        states.collect()
    }

    /// All workers with their quarantines, ordered by name.
    fn all_workers(&self) -> Vec<(WorkerRow, Option<Quarantine>)> {
        let peers = self.peer_workers.lock().clone();
        let mut all: BTreeMap<String, _> = peers
            .into_iter()
            .map(|(name, peer)| (name, (peer.row, peer.quarantine)))
            .collect();
        for (name, worker) in self.workers.lock().iter() {
            if worker.outgoing.is_some() || !all.contains_key(name) {
                let quarantine = worker.failures.quarantine().cloned();
                all.insert(name.clone(), (worker_row(name, worker), quarantine));
            }
        }
        all.into_values().collect()
    }

    /// For peers: the workers connected here. The value changes only when more than time has changed.
    pub(crate) fn local_workers(&self) -> Vec<PeerWorker> {
        let workers = self.workers.lock();
        let here = workers
            .iter()
            .filter(|(_, worker)| worker.outgoing.is_some());
        here.map(|(name, worker)| PeerWorker {
            row: WorkerRow {
                last_seen_at: worker.since,
                ..worker_row(name, worker)
            },
            quarantine: worker.failures.quarantine().cloned(),
            since: worker.since,
            boot_id: worker.hello.boot_id.clone(),
        })
        .collect()
    }

    /// Updates the workers that peers report. A worker that has connected to a peer since is no longer here,
    /// even if its connection seems open: that session ends.
    pub(crate) fn update_peers(&self, all: Vec<PeerWorker>) {
        let mut workers = self.workers.lock();
        let now = Timestamp::now();
        let mut peer_workers = BTreeMap::new();
        for mut peer_worker in all {
            let name = peer_worker.row.worker.clone();
            if let Some(worker) = workers
                .get_mut(&name)
                .filter(|here| here.since < peer_worker.since)
            {
                worker.outgoing = None;
            }
            peer_worker.row.last_seen_at = now;
            peer_workers.insert(name, peer_worker);
        }
        *self.peer_workers.lock() = peer_workers;
    }
}

/// A worker without its quarantine, whose reason depends on the reader.
fn worker_row(name: &str, worker: &ConnectedWorker) -> WorkerRow {
    let mut tasks: Vec<TaskId> = worker.held.iter().map(|held| held.task_id).collect();
    tasks.sort_unstable();
    WorkerRow {
        worker: name.to_owned(),
        project: worker.project.clone(),
        connected: worker.outgoing.is_some(),
        draining: worker.draining,
        version: worker.hello.version.clone(),
        labels: worker.labels.clone(),
        slots: worker.hello.slots,
        tasks,
        sandbox: worker.hello.sandbox.clone(),
        capabilities: worker.hello.capabilities.clone(),
        quarantine: None,
        lost_leases: worker.lost_leases,
        last_seen_at: worker.last_seen,
    }
}

/// Drops what a worker announces beyond the limits.
fn limit_announcement(hello: &mut Hello) {
    let limit = |words: &mut Vec<String>| {
        words.retain(|word| word.len() <= MAX_CAPABILITY_BYTES);
        words.truncate(MAX_CAPABILITIES);
    };
    limit(&mut hello.labels);
    hello.sandbox = hello.sandbox.as_deref().map(reason_line);
    if let Some(own) = &mut hello.capabilities {
        limit(&mut own.agents);
        limit(&mut own.folders);
        limit(&mut own.sandboxes);
        own.problem = own.problem.as_deref().map(reason_line);
    }
}
