//! Hubs and workers behind proxies, all of them the real program: staging them, and what is done to workers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use super::database::{Database, Kept};
use super::ground::{configure, repository_in};
use super::hubs::Hub;
use super::process::{Ended, Process};
use super::{Client, Provider, Proxy, Shim, Trouble, now_us, shim};
use crate::history::{History, Pause};
use crate::observe::traces;

/// What a round is played with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `selvedge`, built with the feature `faults`.
    pub binary: PathBuf,
    /// From which all that is random follows.
    pub seed: u64,
    /// Workers.
    pub workers: usize,
    /// Slots of each.
    pub slots: usize,
    /// How long leases last, in milliseconds.
    pub ttl_ms: u64,
    /// How long a session of an agent takes at most, in milliseconds.
    pub longest_ms: u64,
    /// Whether processes only die at marked points, one after the other as fast as they come.
    pub points_only: bool,
    /// A bug.
    pub plant: Option<&'static str>,
    /// Where hubs keep what they know.
    pub database: Database,
}

/// One worker.
#[derive(Debug)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// What lies between it and the hub.
    pub proxy: Proxy,
    /// Its process, while there is one.
    pub process: Option<Process>,
    /// Where it works; another one after its disk was lost.
    workdir: PathBuf,
    stopped_at: Option<u64>,
}

/// All of it.
#[derive(Debug)]
pub struct Fleet {
    /// What it is played with.
    pub settings: Settings,
    /// Who is called by agents.
    pub provider: Provider,
    /// Who submits.
    pub client: Client,
    /// The hubs: one, or several on one server.
    pub hubs: Vec<Hub>,
    /// The workers.
    pub workers: Vec<Worker>,
    /// How often a process died at which marked point.
    pub died_at: BTreeMap<String, u64>,
    /// Times at which somebody stood still.
    pub pauses: Vec<Pause>,
    pub(super) kept: Kept,
    shim: Arc<Shim>,
    root: TempDir,
    worker_token: String,
    deaths: BTreeMap<i32, u64>,
    armed: BTreeMap<i32, String>,
}

/// Whose clock or disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// A hub's.
    Hub(usize),
    /// A worker's.
    Worker(usize),
}

/// A marked point, and the passing at which to die.
pub(super) type Armed = Option<(&'static str, u64)>;

impl Fleet {
    /// Puts everything up, without faults.
    pub async fn stage(settings: Settings, shim: Arc<Shim>) -> Result<Self, Trouble> {
        let root = tempfile::Builder::new()
            .prefix("selvedge-chaos-")
            .tempdir()?;
        for name in ["home", "tmp", "repository", "trace", "said"] {
            std::fs::create_dir(root.path().join(name))?;
        }
        let repository = root.path().join("repository");
        repository_in(&repository)?;
        let provider = Provider::start(settings.seed, settings.longest_ms).await?;
        let mut workers = Vec::new();
        for number in 1..=settings.workers {
            let name = format!("w{number}");
            let workdir = root.path().join(&name);
            let proxy = Proxy::start().await?;
            configure(root.path(), &name, &provider)?;
            workers.push(Worker {
                name,
                proxy,
                process: None,
                workdir,
                stopped_at: None,
            });
        }
        let hubs: Vec<Hub> = (1..=settings.database.hubs()).map(Hub::new).collect();
        for hub in &hubs {
            std::fs::create_dir(root.path().join(&hub.name))?;
        }
        let repository = repository.display().to_string();
        let mut fleet = Self {
            client: Client::new(Vec::new(), String::new(), repository.clone())?,
            provider,
            kept: settings.database.fresh(&root.path().join("hub1/hub.db")),
            hubs,
            workers,
            died_at: BTreeMap::new(),
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
        fleet.client = Client::new(hubs.clone(), token.trim().to_owned(), repository)?;
        fleet.worker_token = fleet.client.worker_token().await?;
        std::fs::write(fleet.root.path().join("worker.token"), &fleet.worker_token)?;
        for number in 0..fleet.workers.len() {
            fleet.workers[number].proxy.lead_to(hubs.clone());
            fleet.start_worker(number, None)?;
        }
        Ok(fleet)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn command(
        &self,
        name: &str,
        tracked: &Path,
        armed: Armed,
    ) -> Result<Command, Trouble> {
        let mut command = Command::new(&self.settings.binary);
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
            ("SELVEDGE_CALM", "calm".to_owned()),
        ] {
            command.env(variable, self.path(&folder));
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("NO_COLOR", "1")
            .env("RUST_BACKTRACE", "1");
        let control = self.path(&format!("{name}.control"));
        command.envs(self.shim.variables(&control, tracked)?);
        if let Some(plant) = self.settings.plant {
            command.env("SELVEDGE_PLANT", plant);
        }
        if let Some((point, nth)) = armed {
            command.env("SELVEDGE_FAULT", format!("{point}:{nth}"));
        }
        command.current_dir(self.root.path());
        Ok(command)
    }

    /// Starts a worker under its name.
    pub fn start_worker(&mut self, number: usize, armed: Armed) -> Result<(), Trouble> {
        let worker = &self.workers[number];
        let name = worker.name.clone();
        let mut command = self.command(&name, &worker.workdir, armed)?;
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
        command.arg("--token-file").arg(self.path("worker.token"));
        command.arg("--workdir").arg(&worker.workdir);
        command.arg("--allow-path").arg(self.path("repository"));
        let process = Process::start(command, &self.path(&format!("said/{name}")))?;
        self.arm(&process, armed);
        self.workers[number].process = Some(process);
        Ok(())
    }

    pub(super) fn arm(&mut self, process: &Process, armed: Armed) {
        if let Some((point, _)) = armed {
            self.armed.insert(process.pid(), point.to_owned());
        }
    }

    pub(super) fn died(&mut self, ended: Ended) {
        self.deaths.insert(ended.pid, ended.at_us);
        if let Some(point) = self.armed.remove(&ended.pid).filter(|_| ended.at_point) {
            *self.died_at.entry(point).or_default() += 1;
        }
    }

    /// Kills a worker; what it had not synced is lost with it, or not. How many writes were lost.
    pub async fn kill_worker(&mut self, number: usize, power_fails: bool) -> Result<u64, Trouble> {
        self.wake(number);
        if let Some(worker) = self.workers[number].process.take() {
            let ended = worker.kill().await?;
            self.died(ended);
        }
        let folder = self.workers[number].workdir.clone();
        Self::lost(&folder, power_fails)
    }

    pub(super) fn lost(folder: &Path, power_fails: bool) -> Result<u64, Trouble> {
        if !folder.exists() {
            return Ok(0);
        }
        if power_fails {
            return shim::lose_unsynced(folder);
        }
        shim::keep_unsynced(folder)?;
        Ok(0)
    }

    /// From now on nobody dies at a point.
    pub fn calm(&self) -> Result<(), Trouble> {
        Ok(std::fs::write(self.path("calm"), "")?)
    }

    /// Who died at a point since the last look: hubs and workers by their numbers. A worker that cannot start
    /// on a full disk says so and ends, and is started again as systemd would. Whoever ended in any other way
    /// is trouble.
    pub fn reap(&mut self) -> Result<(Vec<usize>, Vec<usize>), Trouble> {
        let hubs = self.reap_hubs()?;
        let mut gone = Vec::new();
        for number in 0..self.workers.len() {
            let Some(process) = &mut self.workers[number].process else {
                continue;
            };
            if let Some(ended) = process.ended()? {
                let said = process.last_words();
                let cannot_start = ended.code == Some(9) && said.contains("is full");
                if !ended.at_point && !cannot_start {
                    return Err(format!("a worker ended ({:?}): {said}", ended.code).into());
                }
                self.workers[number].process = None;
                gone.push(number);
                self.died(ended);
            }
        }
        Ok((hubs, gone))
    }

    /// Brings back who died at a point since the last look: one that was about to die when all became calm
    /// is seen to have died only later.
    pub async fn revive(&mut self) -> Result<(), Trouble> {
        let (hubs, workers) = self.reap()?;
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

    /// Lets a worker stand still.
    pub fn stop(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if let Some(process) = &worker.process {
            process.stop();
            worker.stopped_at.get_or_insert(now_us());
        }
    }

    /// Lets it go on.
    pub fn wake(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if let Some(process) = &worker.process {
            process.go_on();
        }
        if let Some(from_us) = worker.stopped_at.take() {
            let worker = Some(worker.name.clone());
            self.pauses.push(Pause {
                worker,
                from_us,
                to_us: now_us(),
            });
        }
    }

    /// A worker that has died comes again under its name, with an empty disk.
    pub fn lose_disk(&mut self, number: usize) {
        let name = format!("{}-{}", self.workers[number].name, now_us());
        self.workers[number].workdir = self.path(&name);
    }

    /// Sets somebody's wall clock off by so many seconds.
    pub fn set_clock(&self, of: Whose, offset_s: i64) -> Result<(), Trouble> {
        shim::set_clock(&self.control(of), offset_s)
    }

    /// Fills somebody's disk, or frees it.
    pub fn set_disk_full(&self, of: Whose, full: bool) -> Result<(), Trouble> {
        shim::set_disk_full(&self.control(of), full)
    }

    fn control(&self, of: Whose) -> PathBuf {
        let name = match of {
            Whose::Hub(number) => &self.hubs[number].name,
            Whose::Worker(number) => &self.workers[number].name,
        };
        self.path(&format!("{name}.control"))
    }

    /// Ends everything, and gives back all that was observed.
    pub async fn history(&mut self) -> Result<History, Trouble> {
        for number in 0..self.workers.len() {
            self.kill_worker(number, false).await?;
        }
        for number in 0..self.hubs.len() {
            self.kill_hub(number, false).await?;
        }
        // The agents' connections end with their supervisors.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut history = self.client.told();
        history.calls = self.provider.ledger();
        for worker in &self.workers {
            history.traces.extend(traces(
                &worker.name,
                &self.path(&format!("trace/{}", worker.name)),
            )?);
        }
        history.pauses.clone_from(&self.pauses);
        history.deaths.clone_from(&self.deaths);
        history.slots = self.settings.slots;
        history.margin_us = self.settings.ttl_ms * 500;
        history.tasks = self.kept.tables()?;
        Ok(history)
    }

    /// Keeps what was left behind, for whoever looks for the reason of a violation: where.
    pub fn keep(self) -> PathBuf {
        self.root.keep()
    }
}
