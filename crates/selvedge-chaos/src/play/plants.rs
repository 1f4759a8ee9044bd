//! For each invariant the scene in which a planted bug breaks it, and it alone. Without the bug the same
//! scene breaks nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{finish, until};
use crate::check::Violation;
use crate::stage::{Fleet, Rule, Settings, Shim, Trouble, Wanted, What};

/// A bug, and the invariant that it breaks.
#[derive(Debug, Clone, Copy)]
pub struct Planted {
    /// By its name in `selvedge_store::fault::PLANTS`.
    pub bug: &'static str,
    /// 1 to 12.
    pub invariant: u8,
}

/// All of them.
pub const PLANTED: [Planted; 13] = [
    Planted {
        bug: "forget_keys",
        invariant: 1,
    },
    Planted {
        bug: "forget_requeued",
        invariant: 2,
    },
    Planted {
        bug: "double_grant",
        invariant: 3,
    },
    Planted {
        bug: "no_fence",
        invariant: 4,
    },
    Planted {
        bug: "stale_complete",
        invariant: 5,
    },
    Planted {
        bug: "reopen_ended",
        invariant: 6,
    },
    Planted {
        bug: "start_before_begin",
        invariant: 7,
    },
    Planted {
        bug: "alter_report",
        invariant: 8,
    },
    Planted {
        bug: "charge_crashes",
        invariant: 9,
    },
    Planted {
        bug: "count_twice",
        invariant: 10,
    },
    Planted {
        bug: "skip_log",
        invariant: 11,
    },
    Planted {
        bug: "begin_when_cancelled",
        invariant: 12,
    },
    Planted {
        bug: "no_sync",
        invariant: 1,
    },
];

/// How long a scene waits for what it waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// What became of a scene.
#[derive(Debug)]
pub struct Scene {
    /// What was violated.
    pub violations: Vec<Violation>,
    /// What is left of it, if that is not what had to be violated.
    pub kept: Option<PathBuf>,
}

/// Plays a bug's scene, with the bug or without.
pub async fn planted(
    of: Planted,
    with_bug: bool,
    mut settings: Settings,
    shim: Arc<Shim>,
) -> Result<Scene, Trouble> {
    settings.plant = with_bug.then_some(of.bug);
    (settings.workers, settings.longest_ms) = (2, 0);
    let mut fleet = Fleet::stage(settings, shim).await?;
    let played = play(of, with_bug, &mut fleet).await;
    let violations = match played {
        Ok(violations) => violations,
        Err(trouble) => {
            let kept = fleet.keep();
            return Err(format!(
                "{}: {trouble}\nwhat is left is in {}",
                of.bug,
                kept.display()
            )
            .into());
        }
    };
    let own = violations.iter().all(|it| it.invariant == of.invariant);
    let right = own && violations.is_empty() != with_bug;
    let kept = (!right).then(|| fleet.keep());
    Ok(Scene { violations, kept })
}

async fn play(of: Planted, with_bug: bool, fleet: &mut Fleet) -> Result<Vec<Violation>, Trouble> {
    let patience = if of.bug == "forget_requeued" && with_bug {
        Duration::from_secs(4)
    } else {
        Duration::from_secs(30)
    };
    match of.bug {
        "forget_keys" => {
            submit(fleet, "good", 0).await?;
            submit(fleet, "good", 0).await?;
        }
        "forget_requeued" | "double_grant" => taken_over(fleet, "good", 0).await?,
        "charge_crashes" => taken_over(fleet, "fails", 1).await?,
        "no_fence" => cut_off(fleet).await?,
        "stale_complete" => too_late(fleet).await?,
        "reopen_ended" => {
            let task = submit(fleet, "good", 0).await?;
            until(fleet, &task, &["succeeded"]).await?;
            fleet.client.cancel(&task).await;
        }
        "start_before_begin" => unheard_begin(fleet).await?,
        "begin_when_cancelled" => cancelled_between(fleet).await?,
        "no_sync" => {
            submit(fleet, "good", 0).await?;
            fleet.kill_hub(0, true).await?;
            if with_bug {
                // Its tokens are gone, too: nobody could ask it anything.
                return Ok(crate::check(&fleet.history().await?));
            }
            fleet.start_hub(0, None).await?;
        }
        _ => {
            submit(fleet, "good", 0).await?;
        }
    }
    finish(fleet, patience).await
}

async fn submit(fleet: &Fleet, kind: &'static str, retries: u32) -> Result<String, Trouble> {
    let wanted = Wanted {
        key: "only".to_owned(),
        kind,
        parts: Vec::new(),
        priority: 3,
        retries,
    };
    fleet
        .client
        .submit(&wanted)
        .await
        .ok_or_else(|| "the hub does not take it".into())
}

/// Waits for the n-th call of an agent: the number of the worker that it came from.
async fn caller(fleet: &Fleet, nth: usize) -> Result<usize, Trouble> {
    if !fleet.provider.calls(nth, PATIENCE).await {
        return Err(format!("call {nth} never came").into());
    }
    let ledger = fleet.provider.ledger();
    let call = ledger.get(nth - 1).ok_or("no such call")?;
    let worker = fleet.workers.iter().position(|it| it.name == call.worker);
    worker.ok_or_else(|| format!("{} is no worker", call.worker).into())
}

/// A worker is killed at work, and stays away until its lease is lost.
async fn taken_over(fleet: &mut Fleet, kind: &'static str, retries: u32) -> Result<(), Trouble> {
    fleet.provider.open(false);
    let task = submit(fleet, kind, retries).await?;
    let first = caller(fleet, 1).await?;
    fleet.kill_worker(first, false).await?;
    until(fleet, &task, &["backoff", "queued"]).await?;
    fleet.provider.open(true);
    fleet.start_worker(first, None)
}

/// A worker is cut off from its hub until another one is at its task.
async fn cut_off(fleet: &mut Fleet) -> Result<(), Trouble> {
    fleet.provider.open(false);
    submit(fleet, "good", 0).await?;
    let first = caller(fleet, 1).await?;
    fleet.workers[first].proxy.block(true, true);
    caller(fleet, 2).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    fleet.workers[first].proxy.heal();
    fleet.provider.open(true);
    Ok(())
}

/// A worker dies with its word of the end unsent, and comes back when another one is at the task.
async fn too_late(fleet: &mut Fleet) -> Result<(), Trouble> {
    fleet.kill_worker(1, false).await?;
    fleet.kill_worker(0, false).await?;
    fleet.start_worker(0, Some(("worker.complete.written", 1)))?;
    fleet.provider.open(false);
    let task = submit(fleet, "breaks", 0).await?;
    caller(fleet, 1).await?;
    fleet.workers[0].proxy.block(true, false);
    fleet.provider.open(true);
    while !fleet.reap()?.1.contains(&0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    fleet.provider.open(false);
    until(fleet, &task, &["backoff", "queued"]).await?;
    fleet.start_worker(1, None)?;
    caller(fleet, 2).await?;
    fleet.workers[0].proxy.cut();
    fleet.workers[0].proxy.heal();
    fleet.start_worker(0, None)?;
    // Its late words come with its first connection.
    tokio::time::sleep(Duration::from_millis(500)).await;
    fleet.provider.open(true);
    Ok(())
}

/// The hub never hears that an attempt begins, and the worker is killed.
async fn unheard_begin(fleet: &mut Fleet) -> Result<(), Trouble> {
    fleet.provider.open(false);
    for worker in &fleet.workers {
        worker.proxy.rule(Rule {
            message: "begin_run",
            what: What::Drop,
            times: 1_000,
        });
    }
    let task = submit(fleet, "good", 0).await?;
    until(fleet, &task, &["running"]).await?;
    // Only a worker that does not wait for the hub calls now.
    fleet.provider.calls(1, Duration::from_secs(2)).await;
    let first = fleet
        .provider
        .ledger()
        .first()
        .map(|call| call.worker.clone());
    let first = fleet
        .workers
        .iter()
        .position(|it| Some(&it.name) == first.as_ref())
        .unwrap_or(0);
    fleet.kill_worker(first, false).await?;
    for worker in &fleet.workers {
        worker.proxy.heal();
    }
    until(fleet, &task, &["backoff", "queued", "succeeded"]).await?;
    fleet.provider.open(true);
    // The other one takes it over.
    Ok(())
}

/// A task is cancelled while the hub's words do not reach its worker, which is about to begin again.
async fn cancelled_between(fleet: &mut Fleet) -> Result<(), Trouble> {
    fleet.provider.open(false);
    let task = submit(fleet, "learns", 1).await?;
    let first = caller(fleet, 1).await?;
    fleet.workers[first].proxy.block(false, true);
    if !fleet.client.cancel(&task).await {
        return Err("the hub does not cancel".into());
    }
    fleet.provider.open(true);
    tokio::time::sleep(Duration::from_millis(fleet.settings.ttl_ms / 2)).await;
    fleet.workers[first].proxy.heal();
    Ok(())
}
