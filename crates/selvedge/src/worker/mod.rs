//! `selvedge worker`: takes tasks from a hub and carries them out, by the same loop as a local run.
//!
//! What the hub must know is in the outbox before anything follows from it, and is sent until it is durable
//! there. The process tree of a lease that cannot be renewed is ended before the hub may assign it again.

mod activity;
mod carry;
mod conversation;
mod deliver;
mod desk;
mod files;
mod lane;
mod link;
mod place;
mod pump;
mod sandbox;
mod split;
mod stream;
mod subtask;
mod take_up;
mod takeover;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_core::fleet::{Hello, LeaseKey, SESSION_VERSION, TaskAssign, WorkerMessage};
use selvedge_core::model::exit_code;
use selvedge_store::fault;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use self::carry::{Left, Porter};
use self::desk::Desk;
use self::lane::{Lane, Lanes};
use self::link::{Identity, Link, News};
use self::place::Ground;
use self::pump::Pump;
use crate::error::CliError;
use crate::fleet::{Account, Hub};
use crate::output::{plain, style};

/// What a worker is told on its command line.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) account: Account,
    pub(crate) name: Option<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) slots: u32,
    pub(crate) workdir: PathBuf,
    pub(crate) allowed: Vec<PathBuf>,
    pub(crate) environment: Vec<(String, String)>,
}

/// How long a lost lease's last words may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A line for whoever looks at the worker's log.
fn say(line: &str) {
    errln!("{}", plain(line));
}

/// Works until it is told to leave.
pub(crate) fn run(work: Work) -> Result<u8, CliError> {
    let hub = Hub::new(&work.account)?;
    if hub.is_in_clear() {
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
    let _only = only_one(&root)?;
    let desk = Desk::open(&root).map_err(|error| cannot(&error))?;
    let name = match &work.name {
        Some(name) => name.clone(),
        None => own_name(&root).map_err(|error| cannot(&error))?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    let code = runtime.block_on(Worker::work(work, hub, desk, root, name));
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

/// One process has the directory.
fn only_one(root: &Path) -> Result<File, CliError> {
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
fn own_name(root: &Path) -> std::io::Result<String> {
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
struct Worker {
    hub: Hub,
    desk: Desk,
    link: Link,
    lanes: Lanes,
    slots: usize,
    porter: Porter,
    at_work: JoinSet<(LeaseKey, Left)>,
    draining: bool,
    /// When each task was taken, for the log.
    began: BTreeMap<LeaseKey, Instant>,
}

impl Worker {
    async fn work(
        work: Work,
        hub: Hub,
        desk: Desk,
        root: PathBuf,
        name: String,
    ) -> Result<u8, CliError> {
        let lanes = Lanes::default();
        let held = desk.with(selvedge_store::Outbox::held).await;
        let held = held.map_err(CliError::infrastructure)?;
        let mut resumed = Vec::new();
        for task in held {
            // What cannot be read is left to the hub: its lease will end.
            let Ok(assign) = serde_json::from_str::<TaskAssign>(&task.assign) else {
                continue;
            };
            let lane = Lane::new(assign.lease.clone(), task.last_seq, task.run_number);
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
            sandbox: sandbox::told(&root, &work.environment).await,
            held: Vec::new(),
        };
        let (sender, mut news) = mpsc::channel(64);
        let identity = Identity {
            hello,
            lanes: lanes.clone(),
        };
        let link = Link::start(hub.clone(), identity, sender).map_err(CliError::infrastructure)?;
        let (leave, leaving) = watch::channel(false);
        let porter = Porter {
            hub: hub.clone(),
            desk: desk.clone(),
            ground: Ground {
                root,
                allowed: work.allowed,
            },
            environment: Arc::new(work.environment),
            leave: leaving,
        };
        let mut worker = Self {
            hub,
            desk,
            link,
            lanes,
            slots: work.slots.try_into().unwrap_or(usize::MAX),
            porter,
            at_work: JoinSet::new(),
            draining: false,
            began: BTreeMap::new(),
        };
        for (assign, lane) in resumed {
            say(&format!(
                "task {}: held from before",
                assign.lease.task_id.short()
            ));
            worker.begin(assign, lane);
        }
        say(&format!(
            "worker {name}: {} slots, for {}",
            work.slots,
            worker.hub.name()
        ));
        worker.listen(&mut news, &leave).await
    }

    async fn listen(
        &mut self,
        news: &mut mpsc::Receiver<News>,
        leave: &watch::Sender<bool>,
    ) -> Result<u8, CliError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::infrastructure)?;
        let mut connected = 0_u64;
        let mut told = String::new();
        loop {
            if self.draining && self.at_work.is_empty() {
                say("nothing left to do: the worker leaves");
                return Ok(exit_code::VERIFIED);
            }
            let signalled = tokio::select! {
                Some(ended) = self.at_work.join_next() => {
                    self.ended(ended);
                    false
                }
                heard = news.recv() => {
                    match heard {
                        None => return Err(CliError::infrastructure("the link to the hub is gone")),
                        Some(News::Offer(assign, connection)) => self.offered(*assign, connection).await,
                        Some(News::Drain) => self.drain(connected, "the hub asks for it").await,
                        Some(News::Connected(connection)) => {
                            connected = connection;
                            told.clear();
                            say("connected");
                            if self.draining {
                                self.link.send(connected, &WorkerMessage::Draining).await;
                            }
                        }
                        Some(News::Disconnected(why)) if told == why => {}
                        Some(News::Disconnected(why)) => {
                            say(&format!("not connected: {why}"));
                            told = why;
                        }
                        Some(News::Refused(error)) => return Err(error.into()),
                    }
                    false
                }
                _ = terminate.recv() => true,
                _ = interrupt.recv() => true,
            };
            if signalled && self.draining {
                say("leaving: what is at work is given back");
                leave.send_replace(true);
            } else if signalled {
                self.drain(connected, "a signal came; a second one ends the tasks")
                    .await;
            }
        }
    }

    async fn drain(&mut self, connection: u64, why: &str) {
        if self.draining {
            return;
        }
        self.draining = true;
        say(&format!("no new tasks: {why}"));
        self.link.send(connection, &WorkerMessage::Draining).await;
    }

    /// Takes an offer, or not.
    async fn offered(&mut self, assign: TaskAssign, connection: u64) {
        let lease = assign.lease.clone();
        let key = lease.key();
        if self.lanes.get(key).is_some() {
            return;
        }
        let asked = Instant::now();
        let room = !self.draining && self.lanes.taken() < self.slots;
        let refused = if !room {
            Some("no slot is free".to_owned())
        } else if self.lanes.holds(key.task_id) {
            // The hub has given it away and back: what is left of the earlier grant must end first.
            Some("an earlier grant of it is still being ended".to_owned())
        } else {
            match serde_json::to_string(&assign) {
                Err(error) => Some(error.to_string()),
                Ok(text) => {
                    let taken = self.desk.with(move |it| it.take(key, &text)).await;
                    taken.err().map(|error| error.to_string())
                }
            }
        };
        if let Some(reason) = refused {
            let message = WorkerMessage::TaskDecline { lease, reason };
            return self.link.send(connection, &message).await;
        }
        fault::reached("worker.offer.taken");
        let lane = Lane::new(lease.clone(), 0, 0);
        lane.change(|standing| standing.fence_at = Some(asked));
        self.lanes.add(Arc::clone(&lane));
        say(&format!("task {}: taken", key.task_id.short()));
        self.begin(assign, lane);
        let message = WorkerMessage::TaskAccept { lease };
        self.link.send(connection, &message).await;
        fault::reached("worker.accept.sent");
    }

    fn begin(&mut self, assign: TaskAssign, lane: Arc<Lane>) {
        let key = lane.key();
        let pump = Pump {
            hub: self.hub.clone(),
            link: self.link.clone(),
            desk: self.desk.clone(),
            lane: Arc::clone(&lane),
        };
        let porter = self.porter.clone();
        self.began.insert(key, Instant::now());
        let runtime = tokio::runtime::Handle::current();
        let (done, ended) = oneshot::channel();
        // A thread of its own: a task that blocks holds up nobody else.
        let thread = std::thread::Builder::new().name(format!("task {}", key.task_id.short()));
        let spawned = thread.spawn(move || {
            let left = runtime.block_on(carried(porter, pump, assign, lane));
            // The worker may be gone already.
            let _ = done.send(left);
        });
        if let Err(error) = spawned {
            say(&format!(
                "task {}: cannot be begun: {error}",
                key.task_id.short()
            ));
        }
        self.at_work.spawn(async move {
            let left = ended.await;
            (
                key,
                left.unwrap_or_else(|_| Left::Lost("it was cut off".to_owned())),
            )
        });
    }

    fn ended(&mut self, ended: Result<(LeaseKey, Left), tokio::task::JoinError>) {
        let (key, left) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                say(&format!("a task was cut off: {error}"));
                return;
            }
        };
        self.lanes.remove(key);
        let took = self
            .began
            .remove(&key)
            .map_or(0.0, |at| at.elapsed().as_secs_f64());
        let short = key.task_id.short();
        match left {
            Left::Done(outcome) => say(&format!(
                "task {short}: {} after {took:.1} s",
                outcome.as_str()
            )),
            Left::Released(why) => say(&format!("task {short}: given back: {why}")),
            Left::Lost(why) => say(&format!("task {short}: lost: {why}")),
        }
    }
}

/// Carries a task out, sends what it writes down, and forgets it.
async fn carried(porter: Porter, pump: Pump, assign: TaskAssign, lane: Arc<Lane>) -> Left {
    let id = assign.lease.task_id;
    let pumping = tokio::spawn(pump.run());
    let left = porter.carry(assign, lane).await;
    // After a lost lease it sends what is left to say; else there is nothing more.
    if matches!(left, Left::Lost(_)) {
        let _ = tokio::time::timeout(LAST_WORDS, pumping).await;
    } else {
        pumping.abort();
    }
    porter.forget(id).await;
    fault::reached("worker.task.forgotten");
    left
}
