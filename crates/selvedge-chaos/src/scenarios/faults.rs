//! The faults of a round, drawn from its seed: their kinds, targets and durations.

use std::time::Duration;

use fastrand::Rng;
use selvedge_store::fault::POINTS;
use tokio::time::Instant;

use super::EventCounts;
use crate::cluster::{ChaosError, Cluster, ClusterNode, ProxyAction, ProxyRule, RoundSettings};

/// Messages that are dropped, duplicated or delayed; the repeated ones are drawn more often.
const MESSAGES: [&str; 14] = [
    "ack",
    "ack",
    "ack",
    "renewed",
    "renewed",
    "welcome",
    "task_assign",
    "cancel",
    "task_accept",
    "renew",
    "begin_run",
    "submit_report",
    "task_complete",
    "task_progress",
];
/// Failpoints that are passed many times in a round.
const FREQUENT_FAILPOINTS: [&str; 8] = [
    "hub.commit.before",
    "hub.commit.after",
    "hub.answer.before",
    "hub.answer.sent",
    "hub.renew.committed",
    "worker.entry.written",
    "worker.entry.sent",
    "worker.entry.acknowledged",
];

/// A fault that ends after a while.
#[derive(Debug, Clone, Copy)]
enum OngoingFault {
    Paused(usize),
    Partition(usize),
    FullDisk(ClusterNode),
}

/// Draws faults, applies them, and ends them when they expire.
pub(super) struct FaultInjector {
    random: Rng,
    ttl: Duration,
    failpoints_only: bool,
    ongoing: Vec<(Instant, OngoingFault)>,
    hub_restarts: Vec<(Instant, usize)>,
    server_restart: Option<Instant>,
    worker_restarts: Vec<(Instant, usize)>,
    pub(super) counts: EventCounts,
}

impl FaultInjector {
    pub(super) fn new(settings: &RoundSettings) -> Self {
        Self {
            random: Rng::with_seed(settings.seed),
            ttl: Duration::from_millis(settings.ttl_ms),
            failpoints_only: settings.failpoints_only,
            ongoing: Vec::new(),
            hub_restarts: Vec::new(),
            server_restart: None,
            worker_restarts: Vec::new(),
            counts: EventCounts::new(),
        }
    }

    fn count(&mut self, fault: &str, times: u64) {
        if times > 0 {
            *self.counts.entry(fault.to_owned()).or_default() += times;
        }
    }

    /// Draws a failpoint of a hub or a worker, and which pass through it is fatal.
    fn random_failpoint(&mut self, of: &str) -> Option<(&'static str, u64)> {
        let points: Vec<&'static str> = POINTS
            .iter()
            .copied()
            .filter(|it| it.starts_with(of))
            .collect();
        let point = self.random.choice(points)?;
        let most = match (FREQUENT_FAILPOINTS.contains(&point), self.failpoints_only) {
            (true, false) => 25,
            (true, true) => 8,
            (false, _) => 2,
        };
        Some((point, self.random.u64(1..=most)))
    }

    fn random_ttl_fraction(&mut self, from: f64, to: f64) -> Duration {
        let share = from + (to - from) * self.random.f64();
        self.ttl.mul_f64(share)
    }

    /// Kills all hubs and workers, and restarts them with armed failpoints.
    pub(super) async fn arm_all(&mut self, fleet: &mut Cluster) -> Result<(), ChaosError> {
        for number in 0..fleet.workers.len() {
            fleet.kill_worker(number, false).await?;
            let point = self.random_failpoint("worker.");
            fleet.start_worker(number, point)?;
        }
        for number in 0..fleet.hubs.len() {
            fleet.kill_hub(number, false).await?;
            self.hub_restarts.push((Instant::now(), number));
        }
        Ok(())
    }

    /// One step: ends expired faults, restarts dead nodes, and injects a new fault.
    pub(super) async fn inject_next(&mut self, fleet: &mut Cluster) -> Result<(), ChaosError> {
        self.end_expired_faults(fleet, Instant::now())?;
        self.restart_nodes(fleet).await?;
        if self.failpoints_only {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return Ok(());
        }
        let hub = self.random.usize(0..fleet.hubs.len());
        let number = self.random.usize(0..fleet.workers.len());
        match self.random.u32(0..100) {
            0..4 => self.kill_hub(fleet, hub).await?,
            4..10 => self.kill_worker(fleet, number).await?,
            10..18 => {
                let over = self.random_ttl_fraction(0.4, 2.2);
                fleet.pause_worker(number);
                self.count("worker paused (SIGSTOP), then resumed", 1);
                self.ongoing
                    .push((Instant::now() + over, OngoingFault::Paused(number)));
            }
            18..58 => self.add_random_rule(fleet, number),
            58..66 => {
                let way = self.random.u32(0..3);
                fleet.workers[number].proxy.block(way != 1, way != 0);
                self.count(
                    [
                        "partition, to the hub",
                        "partition, to the worker",
                        "partition, both ways",
                    ][way as usize],
                    1,
                );
                let over = self.random_ttl_fraction(0.3, 2.2);
                self.ongoing
                    .push((Instant::now() + over, OngoingFault::Partition(number)));
            }
            66..70 => {
                fleet.workers[number].proxy.drop_connections();
                self.count("connections cut", 1);
            }
            70..76 => {
                let of = self.random_node(hub, number);
                let hours = self.random.i64(-1..=1);
                fleet.set_clock(of, hours * 3_600)?;
                self.count("clock jumps by an hour", 1);
            }
            76..84 => {
                let of = self.random_node(hub, number);
                fleet.set_disk_full(of, true)?;
                let description = match of {
                    ClusterNode::Hub(_) => "disk full, hub",
                    ClusterNode::Worker(_) => "disk full, worker",
                };
                self.count(description, 1);
                let over = self.random_ttl_fraction(0.1, 0.8);
                self.ongoing
                    .push((Instant::now() + over, OngoingFault::FullDisk(of)));
            }
            84..88 if fleet.has_server() && self.server_restart.is_none() => {
                fleet.stop_server().await?;
                self.count("database server stopped immediately", 1);
                self.server_restart = Some(Instant::now() + self.random_ttl_fraction(0.0, 0.8));
            }
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(self.random.u64(20..160))).await;
        Ok(())
    }

    fn random_node(&mut self, hub: usize, worker: usize) -> ClusterNode {
        if self.random.bool() {
            ClusterNode::Worker(worker)
        } else {
            ClusterNode::Hub(hub)
        }
    }

    async fn kill_hub(&mut self, fleet: &mut Cluster, number: usize) -> Result<(), ChaosError> {
        if fleet.hubs[number].process.is_none() {
            return Ok(());
        }
        let power_fails = self.random.bool();
        let lost = fleet.kill_hub(number, power_fails).await?;
        self.count_kill("hub", power_fails, lost);
        let pause = self.random_ttl_fraction(0.0, 0.6);
        self.hub_restarts.push((Instant::now() + pause, number));
        Ok(())
    }

    fn count_kill(&mut self, node_kind: &str, power_fails: bool, lost: u64) {
        self.count(&format!("{node_kind} killed at a random moment"), 1);
        if power_fails {
            self.count(&format!("{node_kind} lost unsynced writes"), 1);
            self.count(&format!("writes lost with a {node_kind}"), lost);
        }
    }

    async fn kill_worker(&mut self, fleet: &mut Cluster, number: usize) -> Result<(), ChaosError> {
        if fleet.workers[number].process.is_none() {
            return Ok(());
        }
        let power_fails = self.random.bool();
        let lost = fleet.kill_worker(number, power_fails).await?;
        self.count_kill("worker", power_fails, lost);
        self.schedule_worker_restart(number);
        Ok(())
    }

    fn schedule_worker_restart(&mut self, number: usize) {
        let pause = if self.random.u32(0..4) == 0 {
            self.random_ttl_fraction(1.5, 2.5)
        } else {
            self.random_ttl_fraction(0.0, 0.5)
        };
        self.worker_restarts.push((Instant::now() + pause, number));
    }

    fn add_random_rule(&mut self, fleet: &Cluster, number: usize) {
        let message = MESSAGES[self.random.usize(0..MESSAGES.len())];
        let description = match self.random.u32(0..3) {
            0 => ProxyAction::Drop,
            1 => ProxyAction::Duplicate,
            _ => ProxyAction::Delay(self.random_ttl_fraction(0.05, 0.6)),
        };
        fleet.workers[number].proxy.add_rule(ProxyRule {
            message,
            action: description,
            remaining: 1,
        });
    }

    fn end_expired_faults(&mut self, fleet: &mut Cluster, now: Instant) -> Result<(), ChaosError> {
        for (until, description) in std::mem::take(&mut self.ongoing) {
            if until > now {
                self.ongoing.push((until, description));
                continue;
            }
            match description {
                OngoingFault::Paused(number) => fleet.resume_worker(number),
                OngoingFault::Partition(number) => {
                    let proxy = &fleet.workers[number].proxy;
                    proxy.block(false, false);
                    if self.random.bool() {
                        proxy.drop_connections();
                    }
                }
                OngoingFault::FullDisk(of) => fleet.set_disk_full(of, false)?,
            }
        }
        Ok(())
    }

    async fn restart_nodes(&mut self, fleet: &mut Cluster) -> Result<(), ChaosError> {
        let (hubs_died, workers_died) = fleet.reap_dead()?;
        for number in hubs_died {
            self.handle_hub_death(fleet, number).await?;
        }
        for number in workers_died {
            let power_fails = self.random.bool();
            let lost = fleet.kill_worker(number, power_fails).await?;
            self.count("worker lost unsynced writes", u64::from(power_fails));
            self.count("writes lost with a worker", lost);
            self.schedule_worker_restart(number);
        }
        if self.server_restart.is_some_and(|at| at <= Instant::now()) {
            fleet.start_server().await?;
            self.server_restart = None;
        }
        self.restart_hubs(fleet).await?;
        for (at, number) in std::mem::take(&mut self.worker_restarts) {
            if at > Instant::now() {
                self.worker_restarts.push((at, number));
                continue;
            }
            fleet.set_disk_full(ClusterNode::Worker(number), false)?;
            if self.random.u32(0..6) == 0 {
                fleet.replace_worker_disk(number);
                self.count("worker restarted under its name with an empty disk", 1);
            } else {
                self.count("worker restarted under its name", 1);
            }
            let point = self.random_failpoint("worker.");
            fleet.start_worker(number, point)?;
        }
        Ok(())
    }

    async fn restart_hubs(&mut self, fleet: &mut Cluster) -> Result<(), ChaosError> {
        for (at, number) in std::mem::take(&mut self.hub_restarts) {
            // A hub cannot start while its database server is down.
            if at > Instant::now() || self.server_restart.is_some() {
                self.hub_restarts.push((at, number));
                continue;
            }
            fleet.set_disk_full(ClusterNode::Hub(number), false)?;
            let point = self.random_failpoint("hub.");
            if !fleet.start_hub(number, point).await? {
                self.handle_hub_death(fleet, number).await?;
            }
        }
        Ok(())
    }

    async fn handle_hub_death(
        &mut self,
        fleet: &mut Cluster,
        number: usize,
    ) -> Result<(), ChaosError> {
        let power_fails = self.random.bool();
        let lost = fleet.kill_hub(number, power_fails).await?;
        self.count("hub lost unsynced writes", u64::from(power_fails));
        self.count("writes lost with a hub", lost);
        let pause = self.random_ttl_fraction(0.0, 0.4);
        self.hub_restarts.push((Instant::now() + pause, number));
        Ok(())
    }

    /// Ends all faults and restarts all dead nodes. Running processes are not restarted: they must
    /// recover from whatever faults left in their memory.
    pub(super) async fn heal_all(&mut self, fleet: &mut Cluster) -> Result<(), ChaosError> {
        let distant_future = Instant::now() + Duration::from_hours(1);
        self.end_expired_faults(fleet, distant_future)?;
        fleet.disarm_failpoints()?;
        if self.server_restart.take().is_some() {
            fleet.start_server().await?;
        }
        let (hubs_died, workers_died) = fleet.reap_dead()?;
        for number in hubs_died {
            fleet.kill_hub(number, false).await?;
        }
        for number in workers_died {
            fleet.kill_worker(number, false).await?;
        }
        let hubs = (0..fleet.hubs.len()).map(ClusterNode::Hub);
        for of in hubs.chain((0..fleet.workers.len()).map(ClusterNode::Worker)) {
            fleet.set_disk_full(of, false)?;
            fleet.set_clock(of, 0)?;
        }
        for number in 0..fleet.hubs.len() {
            if fleet.hubs[number].process.is_none() {
                fleet.start_hub(number, None).await?;
            }
        }
        for number in 0..fleet.workers.len() {
            let applied = fleet.workers[number].proxy.reset();
            self.count("messages dropped, duplicated or delayed", applied);
            if fleet.workers[number].process.is_none() {
                fleet.start_worker(number, None)?;
            }
        }
        for (point, times) in &fleet.failpoint_deaths {
            self.counts.insert(format!("died at {point}"), *times);
        }
        Ok(())
    }
}
