//! The cluster of a round: hubs, and workers behind proxies, all of them the real program. Starts them
//! and applies faults to workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use super::database::{Database, RoundDatabase};
use super::faulty_store::partition_marker;
use super::fixtures::{create_repository, write_worker_config};
use super::hubs::HubNode;
use super::process::{ManagedProcess, NodeExit};
use super::{ChaosError, FsyncShim, Proxy, RecordingClient, ScriptedProvider, fsync_shim, now_us};
use crate::collect::read_traces;
use crate::history::{History, PauseInterval};
use crate::mutant::Mutant;

/// The settings of a round.
#[derive(Debug, Clone)]
pub struct RoundSettings {
    /// The program `selvedge`, built with debug assertions.
    pub binary: PathBuf,
    /// Seed of all randomness in the round.
    pub seed: u64,
    /// Number of workers.
    pub workers: usize,
    /// Slots of each worker.
    pub slots: usize,
    /// Duration of leases, in milliseconds.
    pub ttl_ms: u64,
    /// Longest duration of an agent's session, in milliseconds.
    pub max_session_ms: u64,
    /// Whether processes die at failpoints, in quick succession, instead of random faults.
    pub failpoints_only: bool,
    /// The mutant of the hub, if any. It requires SQLite.
    pub mutant: Option<Mutant>,
    /// Kind of the hubs' database.
    pub database: Database,
}

/// A worker of the cluster.
#[derive(Debug)]
pub struct WorkerNode {
    /// Its name; stable across restarts.
    pub name: String,
    /// The proxy between it and the hubs.
    pub proxy: Proxy,
    /// Its process, while it runs.
    pub process: Option<ManagedProcess>,
    /// Its work directory; replaced when its disk is lost.
    workdir: PathBuf,
    stopped_at: Option<u64>,
}

/// All processes of a round, and the observations about them.
#[derive(Debug)]
pub struct Cluster {
    /// The settings of the round.
    pub settings: RoundSettings,
    /// The provider that the agents call.
    pub provider: ScriptedProvider,
    /// The client that submits tasks.
    pub client: RecordingClient,
    /// The hubs: one, or several on one database server.
    pub hubs: Vec<HubNode>,
    /// The workers.
    pub workers: Vec<WorkerNode>,
    /// Number of deaths at each failpoint.
    pub failpoint_deaths: BTreeMap<String, u64>,
    /// Times at which a worker was paused.
    pub pauses: Vec<PauseInterval>,
    pub(super) database: RoundDatabase,
    shim: Arc<FsyncShim>,
    root: TempDir,
    worker_token: String,
    deaths: BTreeMap<i32, u64>,
    armed: BTreeMap<i32, String>,
}

/// The node that a clock or disk fault applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterNode {
    /// A hub, by its index.
    Hub(usize),
    /// A worker, by its index.
    Worker(usize),
}

/// A failpoint, and which pass through it is fatal (1 is the first).
pub(super) type FailpointTrigger = Option<(&'static str, u64)>;

impl Cluster {
    /// Starts all hubs and workers, without faults.
    pub async fn start(settings: RoundSettings, shim: Arc<FsyncShim>) -> Result<Self, ChaosError> {
        let root = tempfile::Builder::new()
            .prefix("selvedge-chaos-")
            .tempdir()?;
        for name in ["home", "tmp", "repository", "trace", "said"] {
            std::fs::create_dir(root.path().join(name))?;
        }
        let repository = root.path().join("repository");
        create_repository(&repository)?;
        let provider = ScriptedProvider::start(settings.seed, settings.max_session_ms).await?;
        let mut workers = Vec::new();
        for number in 1..=settings.workers {
            let name = format!("w{number}");
            let workdir = root.path().join(&name);
            let proxy = Proxy::start().await?;
            write_worker_config(root.path(), &name, &provider)?;
            workers.push(WorkerNode {
                name,
                proxy,
                process: None,
                workdir,
                stopped_at: None,
            });
        }
        let hubs: Vec<HubNode> = (1..=settings.database.hub_count())
            .map(HubNode::new)
            .collect();
        for hub in &hubs {
            std::fs::create_dir(root.path().join(&hub.name))?;
        }
        let repository = repository.display().to_string();
        let mut fleet = Self {
            client: RecordingClient::new(Vec::new(), String::new(), repository.clone())?,
            provider,
            database: settings
                .database
                .create_empty(&root.path().join("hub1/hub.db")),
            hubs,
            workers,
            failpoint_deaths: BTreeMap::new(),
            pauses: Vec::new(),
            shim,
            root,
            worker_token: String::new(),
            deaths: BTreeMap::new(),
            armed: BTreeMap::new(),
            settings,
        };
        for number in 0..fleet.hubs.len() {
            fleet.start_hub(number, None).await?;
        }
        let token = std::fs::read_to_string(fleet.root.path().join("admin.token"))?;
        let hubs: Vec<String> = fleet.hubs.iter().map(|hub| hub.address.clone()).collect();
        fleet.client = RecordingClient::new(hubs.clone(), token.trim().to_owned(), repository)?;
        fleet.worker_token = fleet.client.create_worker_token().await?;
        std::fs::write(fleet.root.path().join("worker.token"), &fleet.worker_token)?;
        for number in 0..fleet.workers.len() {
            fleet.workers[number].proxy.set_upstreams(hubs.clone());
            fleet.start_worker(number, None)?;
        }
        Ok(fleet)
    }

    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn node_command(
        &self,
        program: &Path,
        name: &str,
        tracked: &Path,
        armed: FailpointTrigger,
    ) -> Result<Command, ChaosError> {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        for (variable, folder) in [
            ("HOME", "home".to_owned()),
            ("TMPDIR", "tmp".to_owned()),
            ("XDG_CONFIG_HOME", format!("config-{name}")),
            ("XDG_STATE_HOME", format!("state-{name}")),
            ("XDG_CACHE_HOME", format!("cache-{name}")),
            ("SELVEDGE_TRACE", format!("trace/{name}")),
            ("SELVEDGE_FAULTS_OFF", "calm".to_owned()),
        ] {
            command.env(variable, self.path_of(&folder));
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("NO_COLOR", "1")
            .env("RUST_BACKTRACE", "1");
        let control = self.path_of(&format!("{name}.control"));
        command.envs(self.shim.environment(&control, tracked)?);
        if let Some((point, nth)) = armed {
            command.env("SELVEDGE_FAULT", format!("{point}:{nth}"));
        }
        command.current_dir(self.root.path());
        Ok(command)
    }

    /// Starts a worker under its name.
    pub fn start_worker(
        &mut self,
        number: usize,
        armed: FailpointTrigger,
    ) -> Result<(), ChaosError> {
        let worker = &self.workers[number];
        let name = worker.name.clone();
        let program = &self.settings.binary;
        let mut command = self.node_command(program, &name, &worker.workdir, armed)?;
        command.args([
            "worker",
            "--name",
            &name,
            "--slots",
            &self.settings.slots.to_string(),
        ]);
        command
            .arg("--hub")
            .arg(format!("http://{}", worker.proxy.address()));
        command
            .arg("--token-file")
            .arg(self.path_of("worker.token"));
        command.arg("--workdir").arg(&worker.workdir);
        command.arg("--allow-path").arg(self.path_of("repository"));
        let process = ManagedProcess::start(command, &self.path_of(&format!("said/{name}")))?;
        self.record_armed(&process, armed);
        self.workers[number].process = Some(process);
        Ok(())
    }

    pub(super) fn record_armed(&mut self, process: &ManagedProcess, armed: FailpointTrigger) {
        if let Some((point, _)) = armed {
            self.armed.insert(process.pid(), point.to_owned());
        }
    }

    pub(super) fn record_death(&mut self, ended: NodeExit) {
        self.deaths.insert(ended.pid, ended.at_us);
        if let Some(point) = self.armed.remove(&ended.pid).filter(|_| ended.at_failpoint) {
            *self.failpoint_deaths.entry(point).or_default() += 1;
        }
    }

    /// Kills a worker; `power_fails` also reverts its unsynced writes. Returns the number of reverted
    /// writes.
    pub async fn kill_worker(
        &mut self,
        number: usize,
        power_fails: bool,
    ) -> Result<u64, ChaosError> {
        self.resume_worker(number);
        if let Some(worker) = self.workers[number].process.take() {
            let ended = worker.kill().await?;
            self.record_death(ended);
        }
        let folder = self.workers[number].workdir.clone();
        Self::apply_power_failure(&folder, power_fails)
    }

    pub(super) fn apply_power_failure(folder: &Path, power_fails: bool) -> Result<u64, ChaosError> {
        if !folder.exists() {
            return Ok(0);
        }
        if power_fails {
            return fsync_shim::revert_unsynced(folder);
        }
        fsync_shim::discard_undo_logs(folder)?;
        Ok(0)
    }

    /// Disarms all failpoints: processes no longer die at them.
    pub fn disarm_failpoints(&self) -> Result<(), ChaosError> {
        Ok(std::fs::write(self.path_of("calm"), "")?)
    }

    /// Returns the indices of the hubs and workers that died at a failpoint since the last call. A
    /// worker that could not start because its disk is full is included: it is restarted, as systemd
    /// would do. Any other exit is an error.
    pub fn reap_dead(&mut self) -> Result<(Vec<usize>, Vec<usize>), ChaosError> {
        let hubs = self.reap_hubs()?;
        let mut dead_workers = Vec::new();
        for number in 0..self.workers.len() {
            let Some(process) = &mut self.workers[number].process else {
                continue;
            };
            if let Some(ended) = process.try_wait()? {
                let log_tail = process.output_tail();
                let cannot_start = ended.code == Some(9) && log_tail.contains("is full");
                if !ended.at_failpoint && !cannot_start {
                    return Err(format!("a worker ended ({:?}): {log_tail}", ended.code).into());
                }
                self.workers[number].process = None;
                dead_workers.push(number);
                self.record_death(ended);
            }
        }
        Ok((hubs, dead_workers))
    }

    /// Restarts the nodes that died at a failpoint since the last call. A process that was already
    /// dying when the failpoints were disarmed is only noticed later.
    pub async fn restart_dead(&mut self) -> Result<(), ChaosError> {
        let (hubs, workers) = self.reap_dead()?;
        for number in hubs {
            self.kill_hub(number, false).await?;
            self.start_hub(number, None).await?;
        }
        for number in workers {
            self.kill_worker(number, false).await?;
            self.start_worker(number, None)?;
        }
        Ok(())
    }

    /// Pauses a worker.
    pub fn pause_worker(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if let Some(process) = &worker.process {
            process.pause();
            worker.stopped_at.get_or_insert(now_us());
        }
    }

    /// Resumes a worker and records the pause.
    pub fn resume_worker(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if let Some(process) = &worker.process {
            process.resume();
        }
        if let Some(from_us) = worker.stopped_at.take() {
            let worker = Some(worker.name.clone());
            self.pauses.push(PauseInterval {
                worker,
                from_us,
                to_us: now_us(),
            });
        }
    }

    /// Gives a worker that has died an empty work directory, as after the loss of its disk.
    pub fn replace_worker_disk(&mut self, number: usize) {
        let name = format!("{}-{}", self.workers[number].name, now_us());
        self.workers[number].workdir = self.path_of(&name);
    }

    /// Offsets a node's wall clock, in seconds.
    pub fn set_clock(&self, of: ClusterNode, offset_s: i64) -> Result<(), ChaosError> {
        fsync_shim::set_clock(&self.control_file(of), offset_s)
    }

    /// Simulates a full disk on a node, or frees it again.
    pub fn set_disk_full(&self, of: ClusterNode, full: bool) -> Result<(), ChaosError> {
        fsync_shim::set_disk_full(&self.control_file(of), full)
    }

    /// Makes a node's disk ignore syncs from now on.
    pub fn ignore_syncs(&self, of: ClusterNode) -> Result<(), ChaosError> {
        fsync_shim::ignore_syncs(&self.control_file(of))
    }

    /// Notifies a hub with [`Mutant::ReassignEarly`] that a worker is cut off.
    pub fn mark_partition(&self) -> Result<(), ChaosError> {
        if let RoundDatabase::File(path) = &self.database {
            std::fs::write(partition_marker(path), "")?;
        }
        Ok(())
    }

    fn control_file(&self, of: ClusterNode) -> PathBuf {
        let name = match of {
            ClusterNode::Hub(number) => &self.hubs[number].name,
            ClusterNode::Worker(number) => &self.workers[number].name,
        };
        self.path_of(&format!("{name}.control"))
    }

    /// Kills all processes and returns everything that was observed.
    pub async fn collect_history(&mut self) -> Result<History, ChaosError> {
        for number in 0..self.workers.len() {
            self.kill_worker(number, false).await?;
        }
        for number in 0..self.hubs.len() {
            self.kill_hub(number, false).await?;
        }
        // The agents' connections end when their supervisors do.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut history = self.client.recorded_history();
        history.calls = self.provider.ledger();
        for worker in &self.workers {
            history.traces.extend(read_traces(
                &worker.name,
                &self.path_of(&format!("trace/{}", worker.name)),
            )?);
        }
        history.pauses.clone_from(&self.pauses);
        history.deaths.clone_from(&self.deaths);
        history.slots = self.settings.slots;
        history.margin_us = self.settings.ttl_ms * 500;
        history.tasks = self.database.read_tables()?;
        Ok(history)
    }

    /// Keeps the round's files to diagnose a violation; returns their folder.
    pub fn keep_files(self) -> PathBuf {
        self.root.keep()
    }
}
