//! One round: tasks are submitted while faults are injected; then the faults stop, all tasks must end,
//! and the history is checked.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::faults::FaultInjector;
use super::{EventCounts, drain_and_check, is_over};
use crate::check::Violation;
use crate::cluster::{
    ChaosError, Cluster, FsyncShim, RecordingClient, RoundSettings, TaskTemplate,
};

/// How long the tasks may take to end once the faults have stopped.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(90);

/// Maximum number of open tasks.
const MAX_OPEN_TASKS: usize = 10;

/// The result of a round.
#[derive(Debug)]
pub struct RoundResult {
    /// The violations found.
    pub violations: Vec<Violation>,
    /// Number of faults and other events, by description.
    pub tally: EventCounts,
    /// The folder of the round's files; kept if an invariant was violated.
    pub kept_files: Option<PathBuf>,
}

/// Runs a round that injects faults for the given time.
pub async fn run_round(
    settings: RoundSettings,
    shim: Arc<FsyncShim>,
    length: Duration,
) -> Result<RoundResult, ChaosError> {
    let seed = settings.seed;
    let mut fleet = Cluster::start(settings.clone(), shim).await?;
    let mut faults = FaultInjector::new(&settings);
    let played = inject_faults(&mut fleet, &mut faults, seed, length).await;
    let violations = match played {
        Ok(violations) => violations,
        Err(error) => {
            let kept_files = fleet.keep_files();
            return Err(format!("{error}\nfiles kept in {}", kept_files.display()).into());
        }
    };
    let mut tally = faults.counts;
    for (_, state) in fleet.client.last_seen_states() {
        *tally.entry(format!("tasks {state}")).or_default() += 1;
    }
    *tally.entry("agents started".to_owned()).or_default() += fleet.provider.ledger().len() as u64;
    let kept_files = (!violations.is_empty()).then(|| fleet.keep_files());
    Ok(RoundResult {
        violations,
        tally,
        kept_files,
    })
}

async fn inject_faults(
    fleet: &mut Cluster,
    faults: &mut FaultInjector,
    seed: u64,
    length: Duration,
) -> Result<Vec<Violation>, ChaosError> {
    let until = Instant::now() + length;
    let clients = tokio::spawn(submit_all(fleet.client.clone(), seed, until));
    let watcher = tokio::spawn(observe_tasks(fleet.client.clone(), seed));
    faults.arm_all(fleet).await?;
    while Instant::now() < until {
        faults.inject_next(fleet).await?;
    }
    faults.heal_all(fleet).await?;
    let faults_ended_at = Instant::now();
    clients.await?;
    let violations = drain_and_check(fleet, DRAIN_TIMEOUT).await;
    let took = faults_ended_at.elapsed().as_secs();
    faults.counts.insert("seconds to settle".to_owned(), took);
    watcher.abort();
    violations
}

/// Submits tasks until the time is over, each until a response arrives. Some are submitted twice, some
/// are cancelled.
async fn submit_all(client: RecordingClient, seed: u64, until: Instant) {
    let mut random = Rng::with_seed(seed ^ 1);
    let mut open: Vec<TaskTemplate> = Vec::new();
    let mut number = 0;
    while Instant::now() < until || !open.is_empty() {
        for _ in 0..random.u32(0..4) {
            let held_tasks = client
                .last_seen_states()
                .iter()
                .filter(|(_, state)| !is_over(state))
                .count();
            if Instant::now() > until || open.len() + held_tasks > MAX_OPEN_TASKS {
                break;
            }
            number += 1;
            open.push(random_task(format!("{seed}-{number}"), &mut random));
        }
        let mut still = Vec::new();
        for wanted in open {
            match client.submit(&wanted).await {
                None => still.push(wanted),
                Some(task) => {
                    if random.u32(0..4) == 0 {
                        client.submit(&wanted).await;
                    }
                    if random.u32(0..5) == 0 {
                        tokio::time::sleep(Duration::from_millis(random.u64(0..400))).await;
                        client.cancel(&task).await;
                    }
                }
            }
        }
        open = still;
        tokio::time::sleep(Duration::from_millis(random.u64(100..400))).await;
    }
}

/// Returns a random task, now and then a plan.
fn random_task(key: String, random: &mut Rng) -> TaskTemplate {
    const KINDS: [&str; 6] = ["good", "good", "learns", "learns", "fails", "breaks"];
    let parts = match random.u32(0..5) {
        0 => random.usize(2..=3),
        _ => 0,
    };
    let parts: Vec<_> = (0..parts)
        .map(|_| KINDS[random.usize(0..KINDS.len())])
        .collect();
    TaskTemplate {
        key,
        kind: if parts.is_empty() {
            KINDS[random.usize(0..KINDS.len())]
        } else {
            "plan"
        },
        subtask_kinds: parts,
        priority: random.u8(0..=9),
        retries: random.u32(0..=2),
    }
}

/// Now and then lists all tasks and reads one of them.
async fn observe_tasks(client: RecordingClient, seed: u64) {
    let mut random = Rng::with_seed(seed ^ 2);
    loop {
        // A failed request is ignored: the hub may be down.
        if let Ok(states) = client.list_tasks().await
            && let Some((task, _)) = random.choice(states)
        {
            let _ = client.read_task(&task).await;
        }
        tokio::time::sleep(Duration::from_millis(random.u64(100..400))).await;
    }
}
