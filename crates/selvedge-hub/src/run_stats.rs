//! Statistics of runs: computed from the journal when a task ends, saved in the store, and recomputed only if
//! the journal has continued. The dashboard computes the figures over all runs.

use std::collections::HashMap;
use std::sync::Arc;

use selvedge_core::model::TaskId;
use selvedge_dashboard::stats::RunStats;
use selvedge_store::hub::{HubStoreError, NewRunStats, RunStatsRow};
use tokio::sync::mpsc;

use crate::hub::Hub;
use crate::journal_states::load_state;
use crate::task_rows::timestamp;

/// Number of runs whose statistics are saved in one write.
const WRITE_BATCH: usize = 64;
/// Maximum number of runs whose statistics are computed before a query of saved statistics.
const MAX_REFRESHED: usize = 500;

/// The statistics of every run of a project.
pub(crate) async fn load_all(hub: &Hub, project: &str) -> Result<Vec<RunStats>, HubStoreError> {
    let lines = hub.store().run_stats(project.to_owned()).await?;
    let mut stats = Vec::with_capacity(lines.len());
    let mut new: Vec<NewRunStats> = Vec::new();
    for line in lines {
        if let Some(saved) = saved_stats(&line) {
            stats.push(located(&line, saved));
            continue;
        }
        let Some(computed) = compute_readable_stats(hub, line.task_id).await? else {
            continue;
        };
        new.extend(stats_to_save(line.task_id, line.event_seq, &computed));
        stats.push(located(&line, computed));
        if new.len() >= WRITE_BATCH {
            save_stats(hub, std::mem::take(&mut new)).await;
        }
    }
    save_stats(hub, new).await;
    Ok(stats)
}

/// Saves the statistics of tasks whose journals have continued, so that queries of saved statistics find them.
pub(crate) async fn refresh(hub: &Hub, project: &str) -> Result<(), HubStoreError> {
    let stale = hub
        .store()
        .stale_run_stats(project.to_owned(), MAX_REFRESHED)
        .await?;
    let mut new = Vec::new();
    for (task_id, event_seq) in stale {
        let stats = compute_readable_stats(hub, task_id).await?;
        new.extend(stats.and_then(|stats| stats_to_save(task_id, event_seq, &stats)));
    }
    save_stats(hub, new).await;
    Ok(())
}

/// The statistics of a task; `None` if its journal is damaged, which must not hide the other tasks.
async fn compute_readable_stats(
    hub: &Hub,
    task_id: TaskId,
) -> Result<Option<RunStats>, HubStoreError> {
    match compute_stats(hub, task_id).await {
        Err(HubStoreError::Damaged(error)) => {
            tracing::warn!(%task_id, %error, "the statistics of a task cannot be read");
            Ok(None)
        }
        other => other,
    }
}

/// The statistics with the repository, the worker and the time of the submission. The workspace of the run is a
/// directory of the worker, and the run began when a worker took the task.
fn located(line: &RunStatsRow, stats: RunStats) -> RunStats {
    RunStats {
        workspace: line.place.clone().unwrap_or(stats.workspace),
        worker: line.worker.clone(),
        created_at: timestamp(line.created_at),
        ..stats
    }
}

/// The saved statistics of these tasks, as far as they are readable.
pub(crate) async fn load_saved(
    hub: &Hub,
    tasks: Vec<TaskId>,
) -> Result<HashMap<TaskId, RunStats>, HubStoreError> {
    let saved = hub.store().saved_run_stats(tasks).await?;
    let read = saved
        .into_iter()
        .filter_map(|(task, body)| Some((task, serde_json::from_str(&body).ok()?)));
    Ok(read.collect())
}

/// The saved statistics if they include the whole journal. Those of another release may not be readable.
fn saved_stats(line: &RunStatsRow) -> Option<RunStats> {
    let (seq, body) = line.saved.as_ref()?;
    (*seq == line.event_seq)
        .then(|| serde_json::from_str(body).ok())
        .flatten()
}

async fn compute_stats(hub: &Hub, task: TaskId) -> Result<Option<RunStats>, HubStoreError> {
    let state = load_state(hub, task).await?;
    Ok(state.run.as_ref().map(RunStats::from_run))
}

fn stats_to_save(task_id: TaskId, event_seq: u64, stats: &RunStats) -> Option<NewRunStats> {
    // Databases cannot store NUL in text, and some refuse it in JSON.
    let body = serde_json::to_string(stats)
        .ok()?
        .replace("\\u0000", "\\ufffd");
    Some((task_id, event_seq, body))
}

async fn save_stats(hub: &Hub, stats: Vec<NewRunStats>) {
    if stats.is_empty() {
        return;
    }
    // They can be recomputed.
    if let Err(error) = hub.store().save_run_stats(stats).await {
        tracing::warn!(%error, "cannot save run statistics");
    }
}

/// Computes and saves the statistics of tasks as they end, for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    let Some(mut ended) = hub.take_ended_tasks() else {
        return;
    };
    let mut tasks = Vec::new();
    while ended.recv_many(&mut tasks, WRITE_BATCH).await > 0 {
        let mut new = Vec::new();
        let with_journal = tasks.drain(..).filter(|(_, event_seq)| *event_seq > 0);
        for (task_id, event_seq) in with_journal {
            // After an error, the statistics are computed on demand.
            if let Ok(Some(stats)) = compute_stats(&hub, task_id).await {
                new.extend(stats_to_save(task_id, event_seq, &stats));
            }
        }
        save_stats(&hub, new).await;
    }
}

/// Tasks that ended, each with the last event of its journal.
pub(crate) type EndedTaskReceiver = mpsc::Receiver<(TaskId, u64)>;
