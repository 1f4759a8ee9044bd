//! What statistics need of each run: made from its journal when the task ends, kept in the store, and
//! made anew only where the journal went on. The figures over all of them are the dashboard's.

use std::sync::Arc;

use selvedge_core::machine::{State, evolve};
use selvedge_core::model::{Envelope, TaskId};
use selvedge_face::stats::RunFacts;
use selvedge_store::hub::{FactLine, HubStoreError, NewFacts};
use tokio::sync::mpsc;

use crate::hub::Hub;

/// Events that are read at once.
const EVENTS: usize = 500;
/// Facts that are kept in one write.
const AT_ONCE: usize = 64;

/// A run as its journal tells it.
pub(crate) async fn state(hub: &Hub, task: TaskId) -> Result<State, HubStoreError> {
    let (mut state, mut after) = (State::default(), 0);
    loop {
        let lines = hub.store().journal(task, after, EVENTS).await?;
        let Some(last) = lines.last() else {
            return Ok(state);
        };
        after = last.seq;
        for line in &lines {
            let envelope: Envelope = serde_json::from_str(&line.event)
                .map_err(|error| HubStoreError::Damaged(error.to_string()))?;
            state = evolve(state, &envelope);
        }
    }
}

/// What is known of every run of a tenant.
pub(crate) async fn all(hub: &Hub, tenant: &str) -> Result<Vec<RunFacts>, HubStoreError> {
    let lines = hub.store().facts(tenant.to_owned()).await?;
    let mut facts = Vec::with_capacity(lines.len());
    let mut new: Vec<NewFacts> = Vec::new();
    for line in lines {
        if let Some(kept) = kept(&line) {
            facts.push(kept);
            continue;
        }
        let Some(made) = made(hub, line.task_id).await? else {
            continue;
        };
        new.extend(to_keep(&line, &made));
        facts.push(made);
        if new.len() >= AT_ONCE {
            keep(hub, std::mem::take(&mut new)).await;
        }
    }
    keep(hub, new).await;
    Ok(facts)
}

/// What is kept, if it is of the whole journal. What another release wrote may not be readable.
fn kept(line: &FactLine) -> Option<RunFacts> {
    let (seq, body) = line.kept.as_ref()?;
    (*seq == line.event_seq)
        .then(|| serde_json::from_str(body).ok())
        .flatten()
}

async fn made(hub: &Hub, task: TaskId) -> Result<Option<RunFacts>, HubStoreError> {
    let state = state(hub, task).await?;
    Ok(state.run.as_ref().map(RunFacts::of))
}

/// Of a run that goes on nothing is kept: it would be stale at once.
fn to_keep(line: &FactLine, facts: &RunFacts) -> Option<NewFacts> {
    facts.outcome?;
    let body = serde_json::to_string(facts).ok()?;
    Some((line.task_id, line.event_seq, body))
}

async fn keep(hub: &Hub, facts: Vec<NewFacts>) {
    if facts.is_empty() {
        return;
    }
    // They can be made again.
    if let Err(error) = hub.store().keep_facts(facts).await {
        tracing::warn!(%error, "cannot keep what statistics need");
    }
}

/// Makes and keeps the facts of tasks as they end, for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    let Some(mut ended) = hub.take_ended() else {
        return;
    };
    let mut tasks = Vec::new();
    while ended.recv_many(&mut tasks, AT_ONCE).await > 0 {
        let mut new = Vec::new();
        for (task_id, event_seq) in tasks.drain(..) {
            let line = FactLine {
                task_id,
                event_seq,
                kept: None,
            };
            // What cannot be made now is made when somebody looks.
            if let Ok(Some(facts)) = made(&hub, task_id).await {
                new.extend(to_keep(&line, &facts));
            }
        }
        keep(&hub, new).await;
    }
}

/// Tasks that ended, each with the last event of its journal.
pub(crate) type Ended = mpsc::Receiver<(TaskId, u64)>;
