//! Rounds of random faults, and for each invariant a scenario in which a mutant violates it.

mod faults;
mod mutants;
mod round;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::check::{Violation, check};
use crate::cluster::{ChaosError, Cluster};

pub use mutants::{ScenarioResult, run_mutant_scenario};
pub use round::{RoundResult, run_round};

/// How long a scenario waits for anything that must happen: far longer than it takes on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_mins(2);

/// Number of occurrences of each event, by its description.
pub type EventCounts = BTreeMap<String, u64>;

/// Waits until all tasks are in a terminal state, at most for `patience`; then for as long
/// until no worker holds a task. Reads all tasks once more, kills all processes, and checks the
/// history.
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
    let mut holdings = fleet.client.worker_holdings().await?;
    let until = tokio::time::Instant::now() + patience;
    while tokio::time::Instant::now() < until {
        if holdings.iter().all(|(_, tasks)| tasks.is_empty()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        holdings = fleet.client.worker_holdings().await?;
    }
    for task in &tasks {
        fleet.client.read_task(task).await?;
    }
    let mut history = fleet.collect_history().await?;
    history.final_holdings = holdings;
    Ok(check(&history))
}

fn is_over(state: &str) -> bool {
    matches!(state, "succeeded" | "failed" | "cancelled" | "dead")
}

/// Waits until a task is in one of the states `wanted`.
async fn wait_for_state(fleet: &Cluster, task: &str, wanted: &[&str]) -> Result<(), ChaosError> {
    let mut last = String::new();
    let until = tokio::time::Instant::now() + STEP_TIMEOUT;
    while tokio::time::Instant::now() < until {
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
    Err(format!("{task} is {last} and never reached {wanted:?}").into())
}
