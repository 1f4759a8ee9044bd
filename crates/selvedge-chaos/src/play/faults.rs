//! The faults of a round, drawn from its seed: which one, on whom, and when it is over.

use std::time::Duration;

use fastrand::Rng;
use selvedge_store::fault::POINTS;
use tokio::time::Instant;

use super::Tally;
use crate::stage::{Fleet, Rule, Settings, Trouble, What, Whose};

/// Messages that may be lost, doubled or late.
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
/// Points that are passed many times in a round.
const OFTEN: [&str; 8] = [
    "hub.commit.before",
    "hub.commit.after",
    "hub.answer.before",
    "hub.answer.sent",
    "hub.renew.committed",
    "worker.entry.written",
    "worker.entry.sent",
    "worker.entry.acknowledged",
];

/// A fault that ends by itself.
#[derive(Debug, Clone, Copy)]
enum Lasting {
    Standstill(usize),
    Partition(usize),
    FullDisk(Whose),
}

/// What is going on.
pub(super) struct Faults {
    random: Rng,
    ttl: Duration,
    points_only: bool,
    lasting: Vec<(Instant, Lasting)>,
    hubs_back: Vec<(Instant, usize)>,
    server_back: Option<Instant>,
    workers_back: Vec<(Instant, usize)>,
    pub(super) tally: Tally,
}

impl Faults {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            random: Rng::with_seed(settings.seed),
            ttl: Duration::from_millis(settings.ttl_ms),
            points_only: settings.points_only,
            lasting: Vec::new(),
            hubs_back: Vec::new(),
            server_back: None,
            workers_back: Vec::new(),
            tally: Tally::new(),
        }
    }

    fn count(&mut self, fault: &str, times: u64) {
        if times > 0 {
            *self.tally.entry(fault.to_owned()).or_default() += times;
        }
    }

    /// A point at which the hub, or a worker, is to die.
    fn point(&mut self, of: &str) -> Option<(&'static str, u64)> {
        let points: Vec<&'static str> = POINTS
            .iter()
            .copied()
            .filter(|it| it.starts_with(of))
            .collect();
        let point = self.random.choice(points)?;
        let most = match (OFTEN.contains(&point), self.points_only) {
            (true, false) => 25,
            (true, true) => 8,
            (false, _) => 2,
        };
        Some((point, self.random.u64(1..=most)))
    }

    fn share(&mut self, from: f64, to: f64) -> Duration {
        let share = from + (to - from) * self.random.f64();
        self.ttl.mul_f64(share)
    }

    /// Arms everyone who is there: they are killed, and come again.
    pub(super) async fn begin(&mut self, fleet: &mut Fleet) -> Result<(), Trouble> {
        for number in 0..fleet.workers.len() {
            fleet.kill_worker(number, false).await?;
            let point = self.point("worker.");
            fleet.start_worker(number, point)?;
        }
        for number in 0..fleet.hubs.len() {
            fleet.kill_hub(number, false).await?;
            self.hubs_back.push((Instant::now(), number));
        }
        Ok(())
    }

    /// One step: what is over ends, who died comes again, and something new happens.
    pub(super) async fn step(&mut self, fleet: &mut Fleet) -> Result<(), Trouble> {
        self.end_what_is_over(fleet, Instant::now())?;
        self.bring_back(fleet).await?;
        if self.points_only {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return Ok(());
        }
        let hub = self.random.usize(0..fleet.hubs.len());
        let number = self.random.usize(0..fleet.workers.len());
        match self.random.u32(0..100) {
            0..4 => self.kill_hub(fleet, hub).await?,
            4..10 => self.kill_worker(fleet, number).await?,
            10..18 => {
                let over = self.share(0.4, 2.2);
                fleet.stop(number);
                self.count("worker stopped (SIGSTOP), then let go on", 1);
                self.lasting
                    .push((Instant::now() + over, Lasting::Standstill(number)));
            }
            18..58 => self.rule(fleet, number),
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
                let over = self.share(0.3, 2.2);
                self.lasting
                    .push((Instant::now() + over, Lasting::Partition(number)));
            }
            66..70 => {
                fleet.workers[number].proxy.cut();
                self.count("connections cut", 1);
            }
            70..76 => {
                let of = self.whose(hub, number);
                let hours = self.random.i64(-1..=1);
                fleet.set_clock(of, hours * 3_600)?;
                self.count("clock jumps by an hour", 1);
            }
            76..84 => {
                let of = self.whose(hub, number);
                fleet.set_disk_full(of, true)?;
                let what = match of {
                    Whose::Hub(_) => "disk full, hub",
                    Whose::Worker(_) => "disk full, worker",
                };
                self.count(what, 1);
                let over = self.share(0.1, 0.8);
                self.lasting
                    .push((Instant::now() + over, Lasting::FullDisk(of)));
            }
            84..88 if fleet.has_server() && self.server_back.is_none() => {
                fleet.stop_server().await?;
                self.count("database server stopped at once", 1);
                self.server_back = Some(Instant::now() + self.share(0.0, 0.8));
            }
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(self.random.u64(20..160))).await;
        Ok(())
    }

    fn whose(&mut self, hub: usize, worker: usize) -> Whose {
        if self.random.bool() {
            Whose::Worker(worker)
        } else {
            Whose::Hub(hub)
        }
    }

    async fn kill_hub(&mut self, fleet: &mut Fleet, number: usize) -> Result<(), Trouble> {
        if fleet.hubs[number].process.is_none() {
            return Ok(());
        }
        let power_fails = self.random.bool();
        let lost = fleet.kill_hub(number, power_fails).await?;
        self.killed("hub", power_fails, lost);
        let pause = self.share(0.0, 0.6);
        self.hubs_back.push((Instant::now() + pause, number));
        Ok(())
    }

    fn killed(&mut self, who: &str, power_fails: bool, lost: u64) {
        self.count(&format!("{who} killed at a random moment"), 1);
        if power_fails {
            self.count(&format!("{who} lost what was not synced"), 1);
            self.count(&format!("writes lost with a {who}"), lost);
        }
    }

    async fn kill_worker(&mut self, fleet: &mut Fleet, number: usize) -> Result<(), Trouble> {
        if fleet.workers[number].process.is_none() {
            return Ok(());
        }
        let power_fails = self.random.bool();
        let lost = fleet.kill_worker(number, power_fails).await?;
        self.killed("worker", power_fails, lost);
        self.comes_again(number);
        Ok(())
    }

    fn comes_again(&mut self, number: usize) {
        let pause = if self.random.u32(0..4) == 0 {
            self.share(1.5, 2.5)
        } else {
            self.share(0.0, 0.5)
        };
        self.workers_back.push((Instant::now() + pause, number));
    }

    fn rule(&mut self, fleet: &Fleet, number: usize) {
        let message = MESSAGES[self.random.usize(0..MESSAGES.len())];
        let what = match self.random.u32(0..3) {
            0 => What::Drop,
            1 => What::Double,
            _ => What::Delay(self.share(0.05, 0.6)),
        };
        fleet.workers[number].proxy.rule(Rule {
            message,
            what,
            times: 1,
        });
    }

    fn end_what_is_over(&mut self, fleet: &mut Fleet, now: Instant) -> Result<(), Trouble> {
        for (until, what) in std::mem::take(&mut self.lasting) {
            if until > now {
                self.lasting.push((until, what));
                continue;
            }
            match what {
                Lasting::Standstill(number) => fleet.wake(number),
                Lasting::Partition(number) => {
                    let proxy = &fleet.workers[number].proxy;
                    proxy.block(false, false);
                    if self.random.bool() {
                        proxy.cut();
                    }
                }
                Lasting::FullDisk(of) => fleet.set_disk_full(of, false)?,
            }
        }
        Ok(())
    }

    async fn bring_back(&mut self, fleet: &mut Fleet) -> Result<(), Trouble> {
        let (hubs_died, workers_died) = fleet.reap()?;
        for number in hubs_died {
            self.after_hub_died(fleet, number).await?;
        }
        for number in workers_died {
            let power_fails = self.random.bool();
            let lost = fleet.kill_worker(number, power_fails).await?;
            self.count("worker lost what was not synced", u64::from(power_fails));
            self.count("writes lost with a worker", lost);
            self.comes_again(number);
        }
        if self.server_back.is_some_and(|at| at <= Instant::now()) {
            fleet.start_server().await?;
            self.server_back = None;
        }
        self.bring_back_hubs(fleet).await?;
        for (at, number) in std::mem::take(&mut self.workers_back) {
            if at > Instant::now() {
                self.workers_back.push((at, number));
                continue;
            }
            fleet.set_disk_full(Whose::Worker(number), false)?;
            if self.random.u32(0..6) == 0 {
                fleet.lose_disk(number);
                self.count("worker back under its name with an empty disk", 1);
            } else {
                self.count("worker back under its name", 1);
            }
            let point = self.point("worker.");
            fleet.start_worker(number, point)?;
        }
        Ok(())
    }

    async fn bring_back_hubs(&mut self, fleet: &mut Fleet) -> Result<(), Trouble> {
        for (at, number) in std::mem::take(&mut self.hubs_back) {
            // A hub without its server does not start.
            if at > Instant::now() || self.server_back.is_some() {
                self.hubs_back.push((at, number));
                continue;
            }
            fleet.set_disk_full(Whose::Hub(number), false)?;
            let point = self.point("hub.");
            if !fleet.start_hub(number, point).await? {
                self.after_hub_died(fleet, number).await?;
            }
        }
        Ok(())
    }

    async fn after_hub_died(&mut self, fleet: &mut Fleet, number: usize) -> Result<(), Trouble> {
        let power_fails = self.random.bool();
        let lost = fleet.kill_hub(number, power_fails).await?;
        self.count("hub lost what was not synced", u64::from(power_fails));
        self.count("writes lost with a hub", lost);
        let pause = self.share(0.0, 0.4);
        self.hubs_back.push((Instant::now() + pause, number));
        Ok(())
    }

    /// No more faults: all is healed, and who is away comes back. Who is there goes on as it stands: what
    /// faults left in its memory must mend itself.
    pub(super) async fn end(&mut self, fleet: &mut Fleet) -> Result<(), Trouble> {
        let far = Instant::now() + Duration::from_hours(1);
        self.end_what_is_over(fleet, far)?;
        fleet.calm()?;
        if self.server_back.take().is_some() {
            fleet.start_server().await?;
        }
        let (hubs_died, workers_died) = fleet.reap()?;
        for number in hubs_died {
            fleet.kill_hub(number, false).await?;
        }
        for number in workers_died {
            fleet.kill_worker(number, false).await?;
        }
        let hubs = (0..fleet.hubs.len()).map(Whose::Hub);
        for of in hubs.chain((0..fleet.workers.len()).map(Whose::Worker)) {
            fleet.set_disk_full(of, false)?;
            fleet.set_clock(of, 0)?;
        }
        for number in 0..fleet.hubs.len() {
            if fleet.hubs[number].process.is_none() {
                fleet.start_hub(number, None).await?;
            }
        }
        for number in 0..fleet.workers.len() {
            let applied = fleet.workers[number].proxy.heal();
            self.count("messages dropped, doubled or delayed", applied);
            if fleet.workers[number].process.is_none() {
                fleet.start_worker(number, None)?;
            }
        }
        for (point, times) in &fleet.died_at {
            self.tally.insert(format!("died at {point}"), *times);
        }
        Ok(())
    }
}
