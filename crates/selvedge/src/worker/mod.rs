//! `selvedge worker`: takes tasks from a hub and carries them out, by the same loop as a local run.
//!
//! What the hub must know is in the outbox before anything follows from it, and is sent until it is durable
//! there. The process tree of a lease that cannot be renewed is ended before the hub may assign it again.

mod activity;
mod connection;
mod connection_session;
mod deliver;
mod entry_builder;
mod entry_sender;
mod event_sink;
mod handover;
mod lease;
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
use selvedge_core::protocol::{Hello, LeaseId, SESSION_VERSION, TaskAssign, WorkerMessage};
use selvedge_store::fault;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use self::connection::{ConnectionEvent, HubConnection, WorkerIdentity};
use self::entry_sender::EntrySender;
use self::lease::{LeaseTable, WorkerLease};
use self::outbox::AsyncOutbox;
use self::task_runner::{TaskExit, TaskRunner};
use self::task_workspace::WorkDirs;
use crate::error::CliError;
use crate::hub_client::{HubClient, HubCredentials};
use crate::output::{sanitize_text, style};

/// What a worker is told on its command line.
#[derive(Debug)]
pub(crate) struct WorkerOptions {
    pub(crate) credentials: HubCredentials,
    pub(crate) name: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) slots: u32,
    pub(crate) workdir: PathBuf,
    pub(crate) allowed_paths: Vec<PathBuf>,
    pub(crate) environment: Vec<(String, String)>,
}

/// How long a lost lease's last words may take.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// A line for whoever looks at the worker's log.
fn log_line(line: &str) {
    errln!("{}", sanitize_text(line));
}

/// Works until it is told to leave.
pub(crate) fn run(work: WorkerOptions) -> Result<u8, CliError> {
    let hub = HubClient::new(&work.credentials)?;
    if hub.is_unencrypted() {
        let note = style::warning("note:");
        errln!("{note} the token crosses the network in clear: use https");
    }
    let mut folder = DirBuilder::new();
    let made = folder.recursive(true).mode(0o700).create(&work.workdir);
    let cannot = |what: &dyn std::fmt::Display| {
        CliError::infrastructure(format!("cannot use {}: {what}", work.workdir.display()))
    };
    made.map_err(|error| cannot(&error))?;
    let root = work.workdir.canonicalize().map_err(|e| cannot(&e))?;
    let _only = lock_work_dir(&root)?;
    let desk = AsyncOutbox::open(&root).map_err(|error| cannot(&error))?;
    let name = match &work.name {
        Some(name) => name.clone(),
        None => load_or_create_name(&root).map_err(|error| cannot(&error))?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    let code = runtime.block_on(WorkerRuntime::start(work, hub, desk, root, name));
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

/// One process has the directory.
fn lock_work_dir(root: &Path) -> Result<File, CliError> {
    let path = root.join("worker.lock");
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let file = opened.map_err(|error| {
        CliError::infrastructure(format!("cannot open {}: {error}", path.display()))
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(
            CliError::usage(format!("another worker works in {}", root.display()))
                .hint("give each its own --workdir, or one worker more --slots"),
        ),
    }
}

/// The name that this directory's worker has had since its first start.
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

/// What a worker has in hand.
struct WorkerRuntime {
    hub: HubClient,
    outbox: AsyncOutbox,
    connection: HubConnection,
    leases: LeaseTable,
    slots: usize,
    task_runner: TaskRunner,
    running_tasks: JoinSet<(LeaseId, TaskExit)>,
    draining: bool,
    /// When each task was taken, for the log.
    started_at: BTreeMap<LeaseId, Instant>,
}

impl WorkerRuntime {
    async fn start(
        work: WorkerOptions,
        hub: HubClient,
        desk: AsyncOutbox,
        root: PathBuf,
        name: String,
    ) -> Result<u8, CliError> {
        let lanes = LeaseTable::default();
        let held = desk.with(selvedge_store::Outbox::held).await;
        let held = held.map_err(CliError::infrastructure)?;
        let mut resumed = Vec::new();
        for task in held {
            // What cannot be read is left to the hub: its lease will end.
            let Ok(assign) = serde_json::from_str::<TaskAssign>(&task.assign) else {
                continue;
            };
            let lane = WorkerLease::new(assign.lease.clone(), task.last_seq, task.run_number);
            lanes.add(Arc::clone(&lane));
            resumed.push((assign, lane));
        }
        let hello = Hello {
            v: SESSION_VERSION,
            worker: name.clone(),
            boot_id: Uuid::now_v7().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: work.labels,
            slots: work.slots,
            sandbox: sandbox::describe_sandbox(&root, &work.environment).await,
            held: Vec::new(),
        };
        let (sender, mut news) = mpsc::channel(64);
        let identity = WorkerIdentity {
            hello,
            leases: lanes.clone(),
        };
        let link = HubConnection::start(hub.clone(), identity, sender)
            .map_err(CliError::infrastructure)?;
        let (leave, leaving) = watch::channel(false);
        let porter = TaskRunner {
            hub: hub.clone(),
            outbox: desk.clone(),
            work_dirs: WorkDirs {
                root,
                allowed_paths: work.allowed_paths,
            },
            environment: Arc::new(work.environment),
            shutdown: leaving,
        };
        let mut worker = Self {
            hub,
            outbox: desk,
            connection: link,
            leases: lanes,
            slots: work.slots.try_into().unwrap_or(usize::MAX),
            task_runner: porter,
            running_tasks: JoinSet::new(),
            draining: false,
            started_at: BTreeMap::new(),
        };
        for (assign, lane) in resumed {
            log_line(&format!(
                "task {}: held from before",
                assign.lease.task_id.short()
            ));
            worker.start_task(assign, lane);
        }
        log_line(&format!(
            "worker {name}: {} slots, for {}",
            work.slots,
            worker.hub.base_url()
        ));
        worker.run_event_loop(&mut news, &leave).await
    }

    async fn run_event_loop(
        &mut self,
        news: &mut mpsc::Receiver<ConnectionEvent>,
        leave: &watch::Sender<bool>,
    ) -> Result<u8, CliError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::infrastructure)?;
        let mut connected = 0_u64;
        let mut told = String::new();
        loop {
            if self.draining && self.running_tasks.is_empty() {
                log_line("nothing left to do: the worker leaves");
                return Ok(exit_code::VERIFIED);
            }
            let signalled = tokio::select! {
                Some(ended) = self.running_tasks.join_next() => {
                    self.finish_task(ended);
                    false
                }
                heard = news.recv() => {
                    match heard {
                        None => return Err(CliError::infrastructure("the link to the hub is gone")),
                        Some(ConnectionEvent::Offer(assign, connection)) => self.handle_offer(*assign, connection).await,
                        Some(ConnectionEvent::Drain) => self.start_draining(connected, "the hub asks for it").await,
                        Some(ConnectionEvent::Connected(connection)) => {
                            connected = connection;
                            told.clear();
                            log_line("connected");
                            if self.draining {
                                self.connection.send(connected, &WorkerMessage::Draining).await;
                            }
                        }
                        Some(ConnectionEvent::Disconnected(why)) if told == why => {}
                        Some(ConnectionEvent::Disconnected(why)) => {
                            log_line(&format!("not connected: {why}"));
                            told = why;
                        }
                        Some(ConnectionEvent::Refused(error)) => return Err(error.into()),
                    }
                    false
                }
                _ = terminate.recv() => true,
                _ = interrupt.recv() => true,
            };
            if signalled && self.draining {
                log_line("leaving: what is at work is given back");
                leave.send_replace(true);
            } else if signalled {
                self.start_draining(connected, "a signal came; a second one ends the tasks")
                    .await;
            }
        }
    }

    async fn start_draining(&mut self, connection: u64, why: &str) {
        if self.draining {
            return;
        }
        self.draining = true;
        log_line(&format!("no new tasks: {why}"));
        self.connection
            .send(connection, &WorkerMessage::Draining)
            .await;
    }

    /// Takes an offer, or not.
    async fn handle_offer(&mut self, assign: TaskAssign, connection: u64) {
        let lease = assign.lease.clone();
        let key = lease.id();
        if self.leases.get(key).is_some() {
            return;
        }
        let asked = Instant::now();
        let room = !self.draining && self.leases.used_slots() < self.slots;
        let refused = if !room {
            Some("no slot is free".to_owned())
        } else if self.leases.has_task(key.task_id) {
            // The hub has given it away and back: what is left of the earlier grant must end first.
            Some("an earlier grant of it is still being ended".to_owned())
        } else {
            match serde_json::to_string(&assign) {
                Err(error) => Some(error.to_string()),
                Ok(text) => {
                    let taken = self.outbox.with(move |it| it.add_task(key, &text)).await;
                    taken.err().map(|error| error.to_string())
                }
            }
        };
        if let Some(reason) = refused {
            let message = WorkerMessage::TaskDecline { lease, reason };
            return self.connection.send(connection, &message).await;
        }
        fault::failpoint("worker.offer.taken");
        let lane = WorkerLease::new(lease.clone(), 0, 0);
        lane.update_status(|standing| standing.deadline = Some(asked));
        self.leases.add(Arc::clone(&lane));
        log_line(&format!("task {}: taken", key.task_id.short()));
        self.start_task(assign, lane);
        let message = WorkerMessage::TaskAccept { lease };
        self.connection.send(connection, &message).await;
        fault::failpoint("worker.accept.sent");
    }

    fn start_task(&mut self, assign: TaskAssign, lane: Arc<WorkerLease>) {
        let key = lane.key();
        let pump = EntrySender {
            hub: self.hub.clone(),
            connection: self.connection.clone(),
            outbox: self.outbox.clone(),
            lease: Arc::clone(&lane),
        };
        let porter = self.task_runner.clone();
        self.started_at.insert(key, Instant::now());
        let runtime = tokio::runtime::Handle::current();
        let (done, ended) = oneshot::channel();
        // A thread of its own: a task that blocks holds up nobody else.
        let thread = std::thread::Builder::new().name(format!("task {}", key.task_id.short()));
        let spawned = thread.spawn(move || {
            let left = runtime.block_on(run_task_to_end(porter, pump, assign, lane));
            // The worker may be gone already.
            let _ = done.send(left);
        });
        if let Err(error) = spawned {
            log_line(&format!(
                "task {}: cannot be begun: {error}",
                key.task_id.short()
            ));
        }
        self.running_tasks.spawn(async move {
            let left = ended.await;
            (
                key,
                left.unwrap_or_else(|_| TaskExit::Lost("it was cut off".to_owned())),
            )
        });
    }

    fn finish_task(&mut self, ended: Result<(LeaseId, TaskExit), tokio::task::JoinError>) {
        let (key, left) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                log_line(&format!("a task was cut off: {error}"));
                return;
            }
        };
        self.leases.remove(key);
        let took = self
            .started_at
            .remove(&key)
            .map_or(0.0, |at| at.elapsed().as_secs_f64());
        let short = key.task_id.short();
        match left {
            TaskExit::Done(outcome) => log_line(&format!(
                "task {short}: {} after {took:.1} s",
                outcome.as_str()
            )),
            TaskExit::Released(why) => log_line(&format!("task {short}: given back: {why}")),
            TaskExit::Lost(why) => log_line(&format!("task {short}: lost: {why}")),
        }
    }
}

/// Carries a task out, sends what it writes down, and forgets it.
async fn run_task_to_end(
    porter: TaskRunner,
    pump: EntrySender,
    assign: TaskAssign,
    lane: Arc<WorkerLease>,
) -> TaskExit {
    let id = assign.lease.task_id;
    let pumping = tokio::spawn(pump.run());
    let left = porter.run_task(assign, lane).await;
    // After a lost lease it sends what is left to say; else there is nothing more.
    if matches!(left, TaskExit::Lost(_)) {
        let _ = tokio::time::timeout(FINAL_FLUSH_TIMEOUT, pumping).await;
    } else {
        pumping.abort();
    }
    porter.remove_task_data(id).await;
    fault::failpoint("worker.task.forgotten");
    left
}
