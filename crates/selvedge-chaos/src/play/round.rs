//! One round: tasks come in while faults happen; then the faults stop, everything must come to its end,
//! and the checker is asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::faults::Faults;
use super::{Tally, finish, is_over};
use crate::check::Violation;
use crate::stage::{Client, Fleet, Settings, Shim, Trouble, Wanted};

/// How long everything may take to come to its end once faults have stopped.
const PATIENCE: Duration = Duration::from_secs(90);

/// Tasks that are open at a time.
const AT_WORK: usize = 10;

/// What became of a round.
#[derive(Debug)]
pub struct Round {
    /// What was violated.
    pub violations: Vec<Violation>,
    /// What happened how often.
    pub tally: Tally,
    /// What is left of it, if something was violated.
    pub kept: Option<PathBuf>,
}

/// Plays a round with so much time for faults.
pub async fn round(
    settings: Settings,
    shim: Arc<Shim>,
    length: Duration,
) -> Result<Round, Trouble> {
    let seed = settings.seed;
    let mut fleet = Fleet::stage(settings.clone(), shim).await?;
    let mut faults = Faults::new(&settings);
    let played = play(&mut fleet, &mut faults, seed, length).await;
    let violations = match played {
        Ok(violations) => violations,
        Err(trouble) => {
            let kept = fleet.keep();
            return Err(format!("{trouble}\nwhat is left is in {}", kept.display()).into());
        }
    };
    let mut tally = faults.tally;
    for (_, state) in fleet.client.look_back() {
        *tally.entry(format!("tasks {state}")).or_default() += 1;
    }
    *tally.entry("agents started".to_owned()).or_default() += fleet.provider.ledger().len() as u64;
    let kept = (!violations.is_empty()).then(|| fleet.keep());
    Ok(Round {
        violations,
        tally,
        kept,
    })
}

async fn play(
    fleet: &mut Fleet,
    faults: &mut Faults,
    seed: u64,
    length: Duration,
) -> Result<Vec<Violation>, Trouble> {
    let until = Instant::now() + length;
    let clients = tokio::spawn(submit_all(fleet.client.clone(), seed, until));
    let watcher = tokio::spawn(watch(fleet.client.clone(), seed));
    faults.begin(fleet).await?;
    while Instant::now() < until {
        faults.step(fleet).await?;
    }
    faults.end(fleet).await?;
    let calm_since = Instant::now();
    clients.await?;
    let violations = finish(fleet, PATIENCE).await;
    let took = calm_since.elapsed().as_secs();
    faults
        .tally
        .insert("seconds to come to rest".to_owned(), took);
    watcher.abort();
    violations
}

/// Submits tasks until the time is over, each until an answer comes; some twice, some to be cancelled.
async fn submit_all(client: Client, seed: u64, until: Instant) {
    let mut random = Rng::with_seed(seed ^ 1);
    let mut open: Vec<Wanted> = Vec::new();
    let mut number = 0;
    while Instant::now() < until || !open.is_empty() {
        for _ in 0..random.u32(0..4) {
            let at_work = client
                .look_back()
                .iter()
                .filter(|(_, state)| !is_over(state))
                .count();
            if Instant::now() > until || open.len() + at_work > AT_WORK {
                break;
            }
            number += 1;
            open.push(wanted(format!("{seed}-{number}"), &mut random));
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

/// A task, or now and then a plan.
fn wanted(key: String, random: &mut Rng) -> Wanted {
    const KINDS: [&str; 6] = ["good", "good", "learns", "learns", "fails", "breaks"];
    let parts = match random.u32(0..5) {
        0 => random.usize(2..=3),
        _ => 0,
    };
    let parts: Vec<_> = (0..parts)
        .map(|_| KINDS[random.usize(0..KINDS.len())])
        .collect();
    Wanted {
        key,
        kind: if parts.is_empty() {
            KINDS[random.usize(0..KINDS.len())]
        } else {
            "plan"
        },
        parts,
        priority: random.u8(0..=9),
        retries: random.u32(0..=2),
    }
}

/// Looks at everything now and then, and reads one task.
async fn watch(client: Client, seed: u64) {
    let mut random = Rng::with_seed(seed ^ 2);
    loop {
        // A hub that is down is asked again.
        if let Ok(states) = client.look().await
            && let Some((task, _)) = random.choice(states)
        {
            let _ = client.read(&task).await;
        }
        tokio::time::sleep(Duration::from_millis(random.u64(100..400))).await;
    }
}
