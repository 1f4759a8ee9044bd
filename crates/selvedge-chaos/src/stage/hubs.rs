//! The hubs of a fleet: starting, killing, and stopping the server that several of them share.

use std::sync::Arc;
use std::time::Duration;

use selvedge_testkit::Postgres;

use super::Trouble;
use super::fleet::{Armed, Fleet};
use super::process::Process;

/// How long a process may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(30);

/// One hub.
#[derive(Debug)]
pub struct Hub {
    /// Its process, while there is one.
    pub process: Option<Process>,
    pub(super) name: String,
    pub(super) address: String,
}

impl Hub {
    pub(super) fn new(number: usize) -> Self {
        Self {
            process: None,
            name: format!("hub{number}"),
            // Whatever is free; the same again from then on.
            address: "127.0.0.1:0".to_owned(),
        }
    }
}

impl Fleet {
    /// Starts a hub, at the address that it had before; `false` when it died before it listened.
    pub async fn start_hub(&mut self, number: usize, armed: Armed) -> Result<bool, Trouble> {
        let Hub { name, address, .. } = &self.hubs[number];
        let (folder, said) = (self.path(name), self.path(&format!("said/{name}")));
        let mut command = self.command(name, &folder, armed)?;
        let ttl = self.settings.ttl_ms.to_string();
        command.args(["hub", "--listen", address, "--lease-ttl", &ttl]);
        command.args(["--database", &self.kept.argument()]);
        command
            .arg("--admin-token-file")
            .arg(self.path("admin.token"));
        for worker in &self.workers {
            command.args(["--host", worker.proxy.address()]);
        }
        let before = std::fs::read_to_string(&said).unwrap_or_default().len();
        let mut process = Process::start(command, &said)?;
        self.arm(&process, armed);
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            let new = text.get(before..).unwrap_or_default();
            if let Some(at) = new
                .split("listening on http://")
                .nth(1)
                .filter(|it| it.contains('\n'))
            {
                let address = at.split_whitespace().next().unwrap_or_default();
                let hub = &mut self.hubs[number];
                address.clone_into(&mut hub.address);
                hub.process = Some(process);
                return Ok(true);
            }
            if let Some(ended) = process.ended()? {
                if !ended.at_point {
                    return Err(format!("a hub does not start: {}", process.last_words()).into());
                }
                self.died(ended);
                return Ok(false);
            }
            if tokio::time::Instant::now() > until {
                return Err(format!("a hub does not listen: {}", process.last_words()).into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Kills a hub; what it had not synced is lost with it, or not. How many writes were lost.
    pub async fn kill_hub(&mut self, number: usize, power_fails: bool) -> Result<u64, Trouble> {
        let hub = &mut self.hubs[number];
        if let Some(process) = hub.process.take() {
            let ended = process.kill().await?;
            self.died(ended);
        }
        Self::lost(&self.path(&self.hubs[number].name), power_fails)
    }

    pub(super) fn reap_hubs(&mut self) -> Result<Vec<usize>, Trouble> {
        let mut gone = Vec::new();
        for number in 0..self.hubs.len() {
            let Some(process) = &mut self.hubs[number].process else {
                continue;
            };
            if let Some(ended) = process.ended()? {
                if !ended.at_point {
                    let said = process.last_words();
                    return Err(format!("a hub ended ({:?}): {said}", ended.code).into());
                }
                self.hubs[number].process = None;
                gone.push(number);
                self.died(ended);
            }
        }
        Ok(gone)
    }

    /// Whether there is a database server that can be stopped.
    pub fn has_server(&self) -> bool {
        self.kept.server().is_some()
    }

    /// Stops the database server at once: nothing is written down, nobody is told.
    pub async fn stop_server(&self) -> Result<(), Trouble> {
        self.with_server(Postgres::stop_now).await
    }

    /// Starts it again, and waits until it answers.
    pub async fn start_server(&self) -> Result<(), Trouble> {
        self.with_server(Postgres::start_again).await
    }

    async fn with_server(&self, what: fn(&Postgres)) -> Result<(), Trouble> {
        if let Some(server) = self.kept.server() {
            let server = Arc::clone(server);
            tokio::task::spawn_blocking(move || what(&server)).await?;
        }
        Ok(())
    }
}
