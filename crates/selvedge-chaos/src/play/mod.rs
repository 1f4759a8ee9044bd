//! What is played: rounds of faults from a seed, and for each invariant the scene in which a planted bug
//! breaks it.

mod faults;
mod plants;
mod round;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::check::{Violation, check};
use crate::stage::{Fleet, Trouble};

pub use plants::{PLANTED, Planted, Scene, planted};
pub use round::{Round, round};

/// How often what was done.
pub type Tally = BTreeMap<String, u64>;

/// Waits until all tasks are over, or for so long; then until the hub says that nobody holds anything.
/// Reads everything once more, ends everything, and checks.
async fn finish(fleet: &mut Fleet, patience: Duration) -> Result<Vec<Violation>, Trouble> {
    let until = tokio::time::Instant::now() + patience;
    let mut tasks = Vec::new();
    while tokio::time::Instant::now() < until {
        fleet.revive().await?;
        if let Ok(states) = fleet.client.look().await {
            let open = states.iter().any(|(_, state)| !is_over(state));
            tasks = states.into_iter().map(|(task, _)| task).collect();
            if !open {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fleet.revive().await?;
    let mut held = fleet.client.held().await?;
    for _ in 0..60 {
        if held.iter().all(|(_, tasks)| tasks.is_empty()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        held = fleet.client.held().await?;
    }
    for task in &tasks {
        fleet.client.read(task).await?;
    }
    let mut history = fleet.history().await?;
    history.held_in_the_end = held;
    Ok(check(&history))
}

fn is_over(state: &str) -> bool {
    matches!(state, "succeeded" | "failed" | "cancelled" | "dead")
}

/// Waits until a task is in one of these states.
async fn until(fleet: &Fleet, task: &str, wanted: &[&str]) -> Result<(), Trouble> {
    let mut last = String::new();
    for _ in 0..600 {
        if let Ok(states) = fleet.client.look().await
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
