//! For each invariant, scenarios in which a mutant violates it and no other invariant. Without the
//! mutant, the same scenario violates nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{STEP_TIMEOUT, drain_and_check, wait_for_state};
use crate::check::Violation;
use crate::cluster::{
    ChaosError, Cluster, ClusterNode, Database, FsyncShim, RoundSettings, TaskTemplate,
};
use crate::mutant::Mutant;

/// The result of a scenario.
#[derive(Debug)]
pub struct ScenarioResult {
    /// The violations found.
    pub violations: Vec<Violation>,
    /// The folder of the scenario's files; kept if the violations are not the expected ones.
    pub kept_files: Option<PathBuf>,
}

/// Runs a mutant's scenario, with or without the bug. With it, the database is SQLite.
pub async fn run_mutant_scenario(
    of: Mutant,
    has_mutant: bool,
    mut settings: RoundSettings,
    shim: Arc<FsyncShim>,
) -> Result<ScenarioResult, ChaosError> {
    (settings.workers, settings.max_session_ms) = (2, 0);
    if has_mutant {
        (settings.mutant, settings.database) = (Some(of), Database::Sqlite);
        if of == Mutant::ReassignEarly {
            // However slow the machine is, another worker begins before the first one stops.
            settings.ttl_ms = 120_000;
        }
    }
    let mut fleet = Cluster::start(settings, shim).await?;
    let played = run_scenario(of, has_mutant, &mut fleet).await;
    let violations = match played {
        Ok(violations) => violations,
        Err(error) => {
            let kept_folder = fleet.keep_files();
            let (name, kept_folder) = (of.name(), kept_folder.display());
            return Err(format!("{name}: {error}\nfiles kept in {kept_folder}").into());
        }
    };
    let own = violations.iter().all(|it| it.invariant == of.invariant());
    let right = own && violations.is_empty() != has_mutant;
    let kept_folder = (!right).then(|| fleet.keep_files());
    Ok(ScenarioResult {
        violations,
        kept_files: kept_folder,
    })
}

async fn run_scenario(
    of: Mutant,
    has_mutant: bool,
    fleet: &mut Cluster,
) -> Result<Vec<Violation>, ChaosError> {
    let patience = if of == Mutant::ForgetRequeued && has_mutant {
        Duration::from_secs(4)
    } else {
        STEP_TIMEOUT
    };
    match of {
        Mutant::ForgetKeys => {
            submit_only_task(fleet, "good", 0).await?;
            submit_only_task(fleet, "good", 0).await?;
        }
        Mutant::ForgetRequeued | Mutant::DoubleGrant | Mutant::LoseBegin => {
            kill_until_lease_lost(fleet, "good", 0).await?;
        }
        Mutant::ChargeCrashes => kill_until_lease_lost(fleet, "fails", 1).await?,
        Mutant::ReassignEarly => partition_until_takeover(fleet).await?,
        Mutant::StaleComplete => deliver_late_completion(fleet).await?,
        Mutant::ReopenEnded => {
            let task = submit_only_task(fleet, "good", 0).await?;
            wait_for_state(fleet, &task, &["succeeded"]).await?;
            fleet.client.cancel(&task).await;
        }
        Mutant::LoseCancel => cancel_during_partition(fleet).await?,
        Mutant::NoSync => {
            if has_mutant {
                fleet.ignore_syncs(ClusterNode::Hub(0))?;
            }
            submit_only_task(fleet, "good", 0).await?;
            fleet.kill_hub(0, true).await?;
            fleet.start_hub(0, None).await?;
        }
        Mutant::AlterReport | Mutant::CountTwice | Mutant::SkipLog => {
            submit_only_task(fleet, "good", 0).await?;
        }
    }
    drain_and_check(fleet, patience).await
}

async fn submit_only_task(
    fleet: &Cluster,
    kind: &'static str,
    retries: u32,
) -> Result<String, ChaosError> {
    let template = TaskTemplate {
        key: "only".to_owned(),
        kind,
        subtask_kinds: Vec::new(),
        priority: 3,
        retries,
    };
    fleet
        .client
        .submit(&template)
        .await
        .ok_or_else(|| "the hub did not accept the task".into())
}

/// Waits for the n-th call to the provider; returns the index of the worker that it came from.
async fn wait_for_call(fleet: &Cluster, nth: usize) -> Result<usize, ChaosError> {
    if !fleet.provider.wait_for_calls(nth, STEP_TIMEOUT).await {
        return Err(format!("call {nth} never came").into());
    }
    let ledger = fleet.provider.ledger();
    let call = ledger.get(nth - 1).ok_or("no such call")?;
    let worker = fleet.workers.iter().position(|it| it.name == call.worker);
    worker.ok_or_else(|| format!("{} is not a worker", call.worker).into())
}

/// Kills a worker while it works on a task. The other one takes the task over.
async fn kill_until_lease_lost(
    fleet: &mut Cluster,
    kind: &'static str,
    retries: u32,
) -> Result<(), ChaosError> {
    fleet.provider.set_open(false);
    let task = submit_only_task(fleet, kind, retries).await?;
    let first = wait_for_call(fleet, 1).await?;
    fleet.kill_worker(first, false).await?;
    wait_for_state(fleet, &task, &["backoff", "queued"]).await?;
    fleet.provider.set_open(true);
    Ok(())
}

/// Cuts a worker off from its hub until another worker has started on its task.
async fn partition_until_takeover(fleet: &mut Cluster) -> Result<(), ChaosError> {
    fleet.provider.set_open(false);
    submit_only_task(fleet, "good", 0).await?;
    let first = wait_for_call(fleet, 1).await?;
    fleet.workers[first].proxy.block(true, true);
    fleet.mark_partition()?;
    wait_for_call(fleet, 2).await?;
    fleet.workers[first].proxy.reset();
    fleet.provider.set_open(true);
    Ok(())
}

/// Kills a worker before it sends its completion; restarts it when another worker has started on the
/// task.
async fn deliver_late_completion(fleet: &mut Cluster) -> Result<(), ChaosError> {
    fleet.kill_worker(1, false).await?;
    fleet.kill_worker(0, false).await?;
    fleet.start_worker(0, Some(("worker.complete.written", 1)))?;
    fleet.provider.set_open(false);
    let task = submit_only_task(fleet, "breaks", 0).await?;
    wait_for_call(fleet, 1).await?;
    fleet.workers[0].proxy.block(true, false);
    fleet.provider.set_open(true);
    while !fleet.reap_dead()?.1.contains(&0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    fleet.provider.set_open(false);
    wait_for_state(fleet, &task, &["backoff", "queued"]).await?;
    fleet.start_worker(1, None)?;
    wait_for_call(fleet, 2).await?;
    fleet.workers[0].proxy.drop_connections();
    fleet.workers[0].proxy.reset();
    fleet.start_worker(0, None)?;
    // The worker sends its late completion when it first connects.
    tokio::time::sleep(Duration::from_millis(500)).await;
    fleet.provider.set_open(true);
    Ok(())
}

/// Cancels a task while the hub's messages do not reach its worker, which is about to begin another
/// attempt.
async fn cancel_during_partition(fleet: &mut Cluster) -> Result<(), ChaosError> {
    fleet.provider.set_open(false);
    let task = submit_only_task(fleet, "learns", 1).await?;
    let first = wait_for_call(fleet, 1).await?;
    fleet.workers[first].proxy.block(false, true);
    if !fleet.client.cancel(&task).await {
        return Err("the hub did not accept the cancel".into());
    }
    fleet.provider.set_open(true);
    tokio::time::sleep(Duration::from_millis(fleet.settings.ttl_ms / 2)).await;
    fleet.workers[first].proxy.reset();
    Ok(())
}
