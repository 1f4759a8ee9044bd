//! What is played: rounds of faults from a seed, and for each invariant the scene in which a planted bug
//! breaks it.

mod faults;
mod mutants;
mod round;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::check::{Violation, check};
use crate::cluster::{ChaosError, Cluster};

pub use mutants::{INVARIANT_MUTANTS, Mutant, ScenarioResult, run_mutant_scenario};
pub use round::{RoundResult, run_round};

/// How often what was done.
pub type EventCounts = BTreeMap<String, u64>;

/// Waits until all tasks are over, or for so long; then until the hub says that nobody holds anything.
/// Reads everything once more, ends everything, and checks.
async fn drain_and_check(
    fleet: &mut Cluster,
    patience: Duration,
) -> Result<Vec<Violation>, ChaosError> {
    let until = tokio::time::Instant::now() + patience;
    let mut tasks = Vec::new();
    while tokio::time::Instant::now() < until {
        fleet.restart_dead().await?;
        if let Ok(states) = fleet.client.list_tasks().await {
            let open = states.iter().any(|(_, state)| !is_over(state));
            tasks = states.into_iter().map(|(task, _)| task).collect();
            if !open {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fleet.restart_dead().await?;
    let mut held = fleet.client.worker_holdings().await?;
    for _ in 0..60 {
        if held.iter().all(|(_, tasks)| tasks.is_empty()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        held = fleet.client.worker_holdings().await?;
    }
    for task in &tasks {
        fleet.client.read_task(task).await?;
    }
    let mut history = fleet.collect_history().await?;
    history.final_holdings = held;
    Ok(check(&history))
}

fn is_over(state: &str) -> bool {
    matches!(state, "succeeded" | "failed" | "cancelled" | "dead")
}

/// Waits until a task is in one of these states.
async fn wait_for_state(fleet: &Cluster, task: &str, wanted: &[&str]) -> Result<(), ChaosError> {
    let mut last = String::new();
    for _ in 0..600 {
        if let Ok(states) = fleet.client.list_tasks().await
            && let Some((_, state)) = states.into_iter().find(|(id, _)| id == task)
        {
            if wanted.contains(&state.as_str()) {
                return Ok(());
            }
            last = state;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Err(format!("{task} is {last}, and never came to {wanted:?}").into())
}
