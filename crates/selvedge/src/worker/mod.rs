//! `selvedge worker`: runs tasks of a hub, with the same driver as a local run.
//!
//! Data for the hub is in the outbox before anything else happens, and is sent until the hub has stored it. If a
//! lease cannot be renewed, its processes end before the hub may assign the task again.

mod activity;
mod connection;
mod connection_session;
mod deliver;
mod entry_builder;
mod entry_sender;
mod event_sink;
mod handover;
mod lease;
mod machine;
mod outbox;
mod recovery;
mod sandbox;
mod subtask;
mod task_runner;
mod task_workspace;
mod uploads;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_core::model::exit_code;
use selvedge_protocol::{Hello, LeaseId, SESSION_VERSION, TaskAssign, WorkerMessage};
use selvedge_store::fault;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use self::connection::{ConnectionEvent, HubConnection, WorkerIdentity};
use self::entry_sender::EntrySender;
use self::lease::{LeaseTable, WorkerLease};
use self::machine::AnnouncedMachine;
use self::outbox::AsyncOutbox;
use self::task_runner::{TaskExit, TaskRunner};
use self::task_workspace::WorkDirs;
use crate::error::CliError;
use crate::hub_client::{HubClient, HubCredentials, HubError};
use crate::output::print_notice;
use crate::telemetry::Telemetry;

/// The worker's options.
#[derive(Debug)]
pub(crate) struct WorkerOptions {
    pub(crate) credentials: HubCredentials,
    pub(crate) name: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) slots: u32,
    pub(crate) workdir: PathBuf,
    pub(crate) allowed_paths: Vec<PathBuf>,
    /// The same folders, as tasks may name them.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) lifetime: WorkerLifetime,
}

/// When the worker exits by itself, and with which code.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerLifetime {
    /// After one task.
    pub(crate) once: bool,
    /// With 0 whatever the outcome of that task, also if none came.
    pub(crate) ignore_outcome: bool,
    /// After this time without a task.
    pub(crate) idle_timeout: Option<Duration>,
}

/// Time limit for sending the remaining entries of a lost lease.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the worker until it has to stop.
pub(crate) fn run(work: WorkerOptions) -> Result<u8, CliError> {
    let hub = HubClient::new(&work.credentials)?;
    if hub.is_unencrypted() {
        print_notice("the token is sent unencrypted; use https");
    }
    let mut folder = DirBuilder::new();
    let created = folder.recursive(true).mode(0o700).create(&work.workdir);
    let cannot = |what: &dyn std::fmt::Display| {
        CliError::infrastructure(format!("cannot use {}: {what}", work.workdir.display()))
    };
    created.map_err(|error| cannot(&error))?;
    let root = work.workdir.canonicalize().map_err(|e| cannot(&e))?;
    let _lock = lock_work_dir(&root)?;
    let outbox = AsyncOutbox::open(&root).map_err(|error| cannot(&error))?;
    let name = match &work.name {
        Some(name) => name.clone(),
        None => load_or_create_name(&root).map_err(|error| cannot(&error))?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    let code = runtime.block_on(WorkerRuntime::start(work, hub, outbox, root, name));
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

/// Locks the work directory: only one process may use it.
fn lock_work_dir(root: &Path) -> Result<File, CliError> {
    let path = root.join("worker.lock");
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let file = opened.map_err(|error| {
        CliError::infrastructure(format!("cannot open {}: {error}", path.display()))
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(
            CliError::usage(format!("another worker is using {}", root.display()))
                .hint("use a separate --workdir for each worker, or one worker with more --slots"),
        ),
    }
}

/// The worker's name, which is created at the first start and stored in its directory.
fn load_or_create_name(root: &Path) -> std::io::Result<String> {
    let path = root.join("name");
    if let Ok(name) = std::fs::read_to_string(&path)
        && !name.trim().is_empty()
    {
        return Ok(name.trim().to_owned());
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host
        .trim()
        .chars()
        .filter(|it| it.is_ascii_alphanumeric() || *it == '-')
        .take(40)
        .collect();
    let host = if host.is_empty() { "worker" } else { &host };
    let random = Uuid::new_v7(uuid::Timestamp::now(uuid::NoContext))
        .simple()
        .to_string();
    let name = format!("{host}-{}", &random[26..]);
    std::fs::write(&path, &name)?;
    Ok(name)
}

/// The state of a running worker.
struct WorkerRuntime {
    hub: HubClient,
    outbox: AsyncOutbox,
    connection: HubConnection,
    leases: LeaseTable,
    slots: usize,
    task_runner: TaskRunner,
    running_tasks: JoinSet<(LeaseId, TaskExit)>,
    draining: bool,
    lifetime: WorkerLifetime,
    /// The exit code of the task of a worker that takes one.
    task_exit_code: Option<u8>,
    /// When the worker last had a task.
    idle_since: tokio::time::Instant,
    /// When each task began, for the log.
    started_at: BTreeMap<LeaseId, Instant>,
}

impl WorkerRuntime {
    async fn start(
        work: WorkerOptions,
        hub: HubClient,
        outbox: AsyncOutbox,
        root: PathBuf,
        name: String,
    ) -> Result<u8, CliError> {
        let leases = LeaseTable::default();
        let held_tasks = outbox.with(selvedge_store::Outbox::held).await;
        let held_tasks = held_tasks.map_err(CliError::infrastructure)?;
        let mut resumed = Vec::new();
        for task in held_tasks {
            // An unreadable assignment is ignored: its lease will expire.
            let Ok(assign) = serde_json::from_str::<TaskAssign>(&task.assign) else {
                continue;
            };
            let worker_lease =
                WorkerLease::new(assign.lease.clone(), task.last_seq, task.attempt_number);
            leases.add(Arc::clone(&worker_lease));
            resumed.push((assign, worker_lease));
        }
        let machine = AnnouncedMachine::describe(&root, &work.environment, &work.folders).await;
        let hello = Hello {
            v: SESSION_VERSION,
            worker: name.clone(),
            boot_id: Uuid::now_v7().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: work.labels,
            slots: work.slots,
            capabilities: Some(machine.capabilities),
            sandbox: machine.sandbox,
            held: Vec::new(),
        };
        let (sender, mut events) = mpsc::channel(64);
        let identity = WorkerIdentity {
            hello,
            leases: leases.clone(),
        };
        let link = HubConnection::start(hub.clone(), identity, sender)
            .map_err(CliError::infrastructure)?;
        let (shutdown_sender, shutdown_receiver) = watch::channel(false);
        let (telemetry, problems) = Telemetry::start(&work.environment);
        let telemetry = Arc::new(telemetry);
        for problem in problems {
            tracing::warn!("{problem}");
        }
        let task_runner = TaskRunner {
            telemetry: Arc::clone(&telemetry),
            hub: hub.clone(),
            outbox: outbox.clone(),
            work_dirs: WorkDirs {
                root,
                allowed_paths: work.allowed_paths,
            },
            environment: Arc::new(work.environment),
            shutdown: shutdown_receiver,
            leases: leases.clone(),
            slots: work.slots.try_into().unwrap_or(usize::MAX),
        };
        let mut worker = Self {
            hub,
            outbox,
            connection: link,
            leases,
            slots: work.slots.try_into().unwrap_or(usize::MAX),
            task_runner,
            running_tasks: JoinSet::new(),
            draining: false,
            lifetime: work.lifetime,
            task_exit_code: None,
            idle_since: tokio::time::Instant::now(),
            started_at: BTreeMap::new(),
        };
        for (assign, worker_lease) in resumed {
            tracing::info!(
                "task {}: resuming, leased before the restart",
                assign.lease.task_id.short()
            );
            worker.start_task(assign, worker_lease);
        }
        tracing::info!(
            "worker {name}: {} slots, hub {}",
            work.slots,
            worker.hub.base_url()
        );
        let code = worker.run_event_loop(&mut events, &shutdown_sender).await;
        if let Some(error) = telemetry.finish().await {
            tracing::warn!("traces were not exported completely: {error}");
        }
        code
    }

    async fn run_event_loop(
        &mut self,
        events: &mut mpsc::Receiver<ConnectionEvent>,
        shutdown_sender: &watch::Sender<bool>,
    ) -> Result<u8, CliError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::infrastructure)?;
        let mut connected = 0_u64;
        let mut last_error = String::new();
        let mut signals = 0_u32;
        let mut refusal = None;
        loop {
            if self.draining && self.running_tasks.is_empty() {
                if let Some(error) = refusal {
                    return Err(CliError::from(error));
                }
                tracing::info!("no running tasks left: exiting");
                return Ok(self.exit_code(signals > 0));
            }
            if self.lifetime.once && !self.running_tasks.is_empty() {
                self.start_draining(connected, "--once").await;
            }
            let idle_until = self.idle_deadline();
            let signalled = tokio::select! {
                Some(ended) = self.running_tasks.join_next() => {
                    self.finish_task(ended);
                    false
                }
                event = events.recv(), if refusal.is_none() => {
                    match event {
                        None => return Err(CliError::infrastructure("the connection to the hub has stopped")),
                        Some(ConnectionEvent::Offer(assign, connection)) => self.handle_offer(*assign, connection).await,
                        Some(ConnectionEvent::Drain) => self.start_draining(connected, "the hub requested a drain").await,
                        Some(ConnectionEvent::Connected(connection)) => {
                            connected = connection;
                            last_error.clear();
                            tracing::info!("connected");
                            if self.draining {
                                self.connection.send(connected, &WorkerMessage::Draining).await;
                            }
                        }
                        Some(ConnectionEvent::Disconnected(why)) if last_error == why => {}
                        Some(ConnectionEvent::Disconnected(why)) => {
                            tracing::warn!("not connected: {why}");
                            last_error = why;
                        }
                        Some(ConnectionEvent::Refused(error)) => {
                            self.give_up_tasks(&error);
                            refusal = Some(error);
                        }
                    }
                    false
                }
                () = sleep_until_some(idle_until) => {
                    if connected == 0 {
                        return Err(CliError::infrastructure(format!("no connection to the hub within the idle timeout: {last_error}")));
                    }
                    self.start_draining(connected, "no task within the idle timeout").await;
                    false
                }
                _ = terminate.recv() => true,
                _ = interrupt.recv() => true,
            };
            signals += u32::from(signalled);
            let is_last = signals > 1 || self.draining && !self.lifetime.once;
            if signalled && is_last {
                tracing::info!("shutting down: releasing running tasks");
                shutdown_sender.send_replace(true);
            } else if signalled {
                self.start_draining(
                    connected,
                    "signal received; a second one releases running tasks",
                )
                .await;
            }
        }
    }

    /// The code with which the worker exits: that of its task if it takes only one.
    fn exit_code(&self, was_signalled: bool) -> u8 {
        let lifetime = self.lifetime;
        match self.task_exit_code {
            Some(code) if lifetime.once => code,
            None if lifetime.once && !lifetime.ignore_outcome && !was_signalled => {
                exit_code::NO_TASK
            }
            _ => exit_code::VERIFIED,
        }
    }

    /// When the worker has been without a task for too long.
    fn idle_deadline(&self) -> Option<tokio::time::Instant> {
        let is_idle = self.running_tasks.is_empty() && !self.draining;
        let timeout = self.lifetime.idle_timeout.filter(|_| is_idle)?;
        self.idle_since.checked_add(timeout)
    }

    /// Ends the work on all tasks after the hub has rejected this worker: its results are no longer accepted. The
    /// hub assigns the tasks again when their leases expire.
    fn give_up_tasks(&mut self, error: &HubError) {
        self.draining = true;
        for worker_lease in self.leases.all() {
            let reason = error.to_string();
            worker_lease.update_status(|status| {
                status.lost_reason.get_or_insert(reason);
            });
        }
    }

    async fn start_draining(&mut self, connection: u64, why: &str) {
        if self.draining {
            return;
        }
        self.draining = true;
        tracing::info!("no new tasks: {why}");
        self.connection
            .send(connection, &WorkerMessage::Draining)
            .await;
    }

    /// Accepts or declines an offer.
    async fn handle_offer(&mut self, assign: TaskAssign, connection: u64) {
        let lease = assign.lease.clone();
        let key = lease.id();
        if self.leases.get(key).is_some() {
            return;
        }
        let offered_at = Instant::now();
        let has_room = !self.draining && self.leases.used_slots() < self.slots;
        let refused = if !has_room {
            Some("no free slot".to_owned())
        } else if self.leases.has_task(key.task_id) {
            // The hub has assigned the task again after a lost lease, whose work must end first.
            Some("an earlier lease of this task is still ending".to_owned())
        } else {
            match serde_json::to_string(&assign) {
                Err(error) => Some(error.to_string()),
                Ok(text) => {
                    let stored = self.outbox.with(move |it| it.add_task(key, &text)).await;
                    stored.err().map(|error| error.to_string())
                }
            }
        };
        if let Some(reason) = refused {
            let message = WorkerMessage::TaskDecline { lease, reason };
            return self.connection.send(connection, &message).await;
        }
        fault::failpoint("worker.offer.taken");
        let worker_lease = WorkerLease::new(lease.clone(), 0, 0);
        worker_lease.update_status(|status| status.deadline = Some(offered_at));
        self.leases.add(Arc::clone(&worker_lease));
        tracing::info!("task {}: accepted", key.task_id.short());
        self.start_task(assign, worker_lease);
        let message = WorkerMessage::TaskAccept { lease };
        self.connection.send(connection, &message).await;
        fault::failpoint("worker.accept.sent");
    }

    fn start_task(&mut self, assign: TaskAssign, worker_lease: Arc<WorkerLease>) {
        let key = worker_lease.key();
        let entry_sender = EntrySender {
            hub: self.hub.clone(),
            connection: self.connection.clone(),
            outbox: self.outbox.clone(),
            lease: Arc::clone(&worker_lease),
        };
        let task_runner = self.task_runner.clone();
        self.started_at.insert(key, Instant::now());
        let runtime = tokio::runtime::Handle::current();
        let (done, ended) = oneshot::channel();
        // A separate thread, so that a task that blocks does not delay others.
        let thread = std::thread::Builder::new().name(format!("task {}", key.task_id.short()));
        let spawned = thread.spawn(move || {
            let exit = runtime.block_on(run_task_to_end(
                task_runner,
                entry_sender,
                assign,
                worker_lease,
            ));
            // The worker may have stopped.
            let _ = done.send(exit);
        });
        if let Err(error) = spawned {
            tracing::error!("task {}: cannot start: {error}", key.task_id.short());
        }
        self.running_tasks.spawn(async move {
            let exit = ended.await;
            (
                key,
                exit.unwrap_or_else(|_| TaskExit::Lost("it stopped unexpectedly".to_owned())),
            )
        });
    }

    fn finish_task(&mut self, ended: Result<(LeaseId, TaskExit), tokio::task::JoinError>) {
        let (key, exit) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!("a task stopped unexpectedly: {error}");
                return;
            }
        };
        self.leases.remove(key);
        self.idle_since = tokio::time::Instant::now();
        let took = self
            .started_at
            .remove(&key)
            .map_or(0.0, |at| at.elapsed().as_secs_f64());
        let short = key.task_id.short();
        self.task_exit_code = Some(match exit {
            TaskExit::Done(_) if self.lifetime.ignore_outcome => exit_code::VERIFIED,
            TaskExit::Done(outcome) => outcome.exit_code(),
            TaskExit::Released(_) | TaskExit::Lost(_) => exit_code::INFRASTRUCTURE,
        });
        match exit {
            TaskExit::Done(outcome) => {
                tracing::info!("task {short}: {} after {took:.1} s", outcome.as_str());
            }
            TaskExit::Released(why) => tracing::warn!("task {short}: released: {why}"),
            TaskExit::Lost(why) => tracing::warn!("task {short}: lease lost: {why}"),
        }
    }
}

/// Waits until a deadline; forever if there is none.
async fn sleep_until_some(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Runs a task, sends its entries, and removes its data.
async fn run_task_to_end(
    task_runner: TaskRunner,
    entry_sender: EntrySender,
    assign: TaskAssign,
    worker_lease: Arc<WorkerLease>,
) -> TaskExit {
    let id = assign.lease.task_id;
    let sending = tokio::spawn(entry_sender.run());
    let exit = task_runner.run_task(assign, worker_lease).await;
    // After a lost lease the remaining entries are sent; otherwise none are left.
    if matches!(exit, TaskExit::Lost(_)) {
        let _ = tokio::time::timeout(FINAL_FLUSH_TIMEOUT, sending).await;
    } else {
        sending.abort();
    }
    task_runner.remove_task_data(id).await;
    fault::failpoint("worker.task.forgotten");
    exit
}
