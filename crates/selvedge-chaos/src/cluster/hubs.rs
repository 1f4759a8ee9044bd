//! The hubs of a cluster: starting and killing them, and stopping the database server that several of
//! them share.

use std::sync::Arc;
use std::time::Duration;

use selvedge_testkit::Postgres;

use super::ChaosError;
use super::process::ManagedProcess;
use super::workers::{Cluster, FailpointTrigger};

/// How long a hub may take until it listens.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// A hub of the cluster.
#[derive(Debug)]
pub struct HubNode {
    /// Its process, while it runs.
    pub process: Option<ManagedProcess>,
    pub(super) name: String,
    pub(super) address: String,
}

impl HubNode {
    pub(super) fn new(number: usize) -> Self {
        Self {
            process: None,
            name: format!("hub{number}"),
            // The first start picks a free port; later starts reuse the address.
            address: "127.0.0.1:0".to_owned(),
        }
    }
}

impl Cluster {
    /// Starts a hub at the address that it had before; returns `false` if it died at a failpoint before
    /// it listened.
    pub async fn start_hub(
        &mut self,
        number: usize,
        armed: FailpointTrigger,
    ) -> Result<bool, ChaosError> {
        let HubNode { name, address, .. } = &self.hubs[number];
        let (folder, log) = (self.path_of(name), self.path_of(&format!("said/{name}")));
        let own = std::env::current_exe()?;
        let mutant = self.settings.mutant;
        let program = mutant.map_or(&self.settings.binary, |_| &own);
        let mut command = self.node_command(program, name, &folder, armed)?;
        let ttl = self.settings.ttl_ms.to_string();
        command.args(["hub", "--listen", address, "--lease-ttl", &ttl]);
        // Tasks must end soon after the last fault.
        command.args(["--infra-backoff", "1"]);
        if let Some(mutant) = mutant {
            command.args(["--mutant", mutant.name()]);
        }
        command.args(["--database", &self.database.as_argument()]);
        command
            .arg("--admin-token-file")
            .arg(self.path_of("admin.token"));
        for worker in &self.workers {
            command.args(["--host", worker.proxy.address()]);
        }
        let before = std::fs::read_to_string(&log).unwrap_or_default().len();
        let mut process = ManagedProcess::start(command, &log)?;
        self.record_armed(&process, armed);
        let until = tokio::time::Instant::now() + START_TIMEOUT;
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
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
            if let Some(ended) = process.try_wait()? {
                if !ended.at_failpoint {
                    return Err(format!("a hub did not start: {}", process.output_tail()).into());
                }
                self.record_death(ended);
                return Ok(false);
            }
            if tokio::time::Instant::now() > until {
                return Err(
                    format!("a hub did not listen in time: {}", process.output_tail()).into(),
                );
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Kills a hub; `power_fails` also reverts its unsynced writes. Returns the number of reverted
    /// writes.
    pub async fn kill_hub(&mut self, number: usize, power_fails: bool) -> Result<u64, ChaosError> {
        let hub = &mut self.hubs[number];
        if let Some(process) = hub.process.take() {
            let ended = process.kill().await?;
            self.record_death(ended);
        }
        Self::apply_power_failure(&self.path_of(&self.hubs[number].name), power_fails)
    }

    pub(super) fn reap_hubs(&mut self) -> Result<Vec<usize>, ChaosError> {
        let mut dead_hubs = Vec::new();
        for number in 0..self.hubs.len() {
            let Some(process) = &mut self.hubs[number].process else {
                continue;
            };
            if let Some(ended) = process.try_wait()? {
                if !ended.at_failpoint {
                    let output = process.output_tail();
                    return Err(format!("a hub ended ({:?}): {output}", ended.code).into());
                }
                self.hubs[number].process = None;
                dead_hubs.push(number);
                self.record_death(ended);
            }
        }
        Ok(dead_hubs)
    }

    /// Whether there is a database server that can be stopped.
    pub fn has_server(&self) -> bool {
        self.database.server().is_some()
    }

    /// Stops the database server abruptly: it writes nothing more and does not close its connections
    /// properly.
    pub async fn stop_server(&self) -> Result<(), ChaosError> {
        self.with_server(Postgres::stop_immediately).await
    }

    /// Starts the database server again and waits until it accepts connections.
    pub async fn start_server(&self) -> Result<(), ChaosError> {
        self.with_server(Postgres::restart).await
    }

    async fn with_server(&self, what: fn(&Postgres)) -> Result<(), ChaosError> {
        if let Some(server) = self.database.server() {
            let server = Arc::clone(server);
            tokio::task::spawn_blocking(move || what(&server)).await?;
        }
        Ok(())
    }
}
