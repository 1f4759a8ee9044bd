//! The load on the hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use selvedge_protocol::{EntryHeader, HubMessage, WorkerMessage};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::http::HttpClient;
use crate::hub::HubProcess;
use crate::worker::BenchWorker;

/// Number of events in one entry of a worker.
const BATCH: usize = 100;

pub(crate) fn nothing() -> Value {
    json!({"description": "nothing", "skip_verification": true})
}

/// Submits tasks from several clients.
pub(crate) async fn submit(hub: &HubProcess, clients: usize, tasks: usize) -> Duration {
    let tokens = hub.tokens("submit", clients).await;
    let begun = Instant::now();
    submitting(hub, &tokens, tasks).join_all().await;
    begun.elapsed()
}

fn submitting(hub: &HubProcess, tokens: &[String], tasks: usize) -> JoinSet<()> {
    let mut set = JoinSet::new();
    for (number, token) in tokens.iter().enumerate() {
        let (host, token) = (hub.host.clone(), token.clone());
        let own = tasks / tokens.len() + usize::from(number < tasks % tokens.len());
        set.spawn(async move {
            let mut client = HttpClient::connect(&host, &token).await;
            for _ in 0..own {
                client.post("/api/v1/tasks", &nothing()).await;
            }
        });
    }
    set
}

/// Carries out tasks, both queued and new ones.
pub(crate) async fn carry_out(
    hub: &HubProcess,
    workers: usize,
    slots: u32,
    tasks: usize,
) -> Duration {
    let token = hub.tokens("worker", 1).await.remove(0);
    let begun = Instant::now();
    let (left, over) = (Arc::new(AtomicUsize::new(tasks)), Arc::new(Notify::new()));
    let mut set = JoinSet::new();
    for number in 0..workers {
        let (host, token) = (hub.host.clone(), token.clone());
        let (left, over) = (Arc::clone(&left), Arc::clone(&over));
        set.spawn(async move {
            let mut worker =
                BenchWorker::connect(&host, &token, &format!("w{number}"), slots).await;
            loop {
                if worker.step().await && left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    over.notify_one();
                }
            }
        });
    }
    over.notified().await;
    let took = begun.elapsed();
    set.shutdown().await;
    took
}

/// Submits and carries out tasks at the same time.
pub(crate) async fn both(hub: &HubProcess, clients: usize, slots: u32, tasks: usize) -> Duration {
    let tokens = hub.tokens("submit", clients).await;
    let begun = Instant::now();
    let submitting = submitting(hub, &tokens, tasks);
    carry_out(hub, clients, slots, tasks).await;
    let took = begun.elapsed();
    submitting.join_all().await;
    took
}

/// Times from sending a submission until an idle worker has the task, sorted.
pub(crate) async fn assignments(hub: &HubProcess, times: usize) -> Vec<Duration> {
    let submit = hub.tokens("submit", 1).await.remove(0);
    let token = hub.tokens("worker", 1).await.remove(0);
    let mut client = HttpClient::connect(&hub.host, &submit).await;
    let slots = u32::try_from(times).unwrap();
    let mut worker = BenchWorker::connect(&hub.host, &token, "latency", slots).await;
    let mut waits = Vec::with_capacity(times);
    for _ in 0..times {
        let begun = Instant::now();
        let task = nothing();
        let (_, lease) = tokio::join!(client.post("/api/v1/tasks", &task), worker.assigned());
        waits.push(begun.elapsed());
        worker.send(&WorkerMessage::TaskAccept { lease }).await;
    }
    waits.sort();
    waits
}

/// Events from one worker to one watcher.
pub(crate) async fn events(hub: &HubProcess, count: usize) -> (usize, Duration) {
    let submit = hub.tokens("submit", 1).await.remove(0);
    let read = hub.tokens("read", 1).await.remove(0);
    let token = hub.tokens("worker", 1).await.remove(0);
    let mut worker = BenchWorker::connect(&hub.host, &token, "events", 1).await;
    let mut client = HttpClient::connect(&hub.host, &submit).await;
    let task = client.post("/api/v1/tasks", &nothing()).await;
    let task = task["task_id"].as_str().unwrap().to_owned();
    let lease = worker.assigned().await;
    worker
        .send(&WorkerMessage::TaskAccept {
            lease: lease.clone(),
        })
        .await;
    let mut watcher = HttpClient::connect(&hub.host, &read).await;
    let begun = Instant::now();
    let entries = count / BATCH;
    let telling = async {
        for number in 0..entries {
            let first = number * BATCH + 1;
            let mut entry = EntryHeader::new(lease.clone(), u64::try_from(number + 1).unwrap());
            entry.events = (first..first + BATCH)
                .map(|seq| event(&task, seq))
                .collect();
            worker.send(&WorkerMessage::TaskProgress(entry)).await;
        }
        for _ in 0..=entries {
            let answer = worker.next().await;
            assert!(matches!(answer, HubMessage::Ack { .. }), "{answer:?}");
        }
    };
    let path = format!("/api/v1/tasks/{task}/events");
    tokio::join!(telling, watcher.follow(&path, "journal", entries * BATCH));
    (entries * BATCH, begun.elapsed())
}

pub(crate) fn event(task: &str, seq: usize) -> Value {
    json!({
        "v": 1, "run_id": task, "seq": seq, "at": "2026-01-01T00:00:00Z",
        "type": "agent_message", "data": {"text": "some words of an agent that is at work"},
    })
}

/// Connects idle workers; they stay connected while the result lives.
pub(crate) async fn idle(hub: &HubProcess, count: usize) -> Vec<BenchWorker> {
    let token = hub.tokens("worker", 1).await.remove(0);
    let mut workers = Vec::with_capacity(count);
    for number in 0..count {
        workers.push(BenchWorker::connect(&hub.host, &token, &format!("idle{number}"), 1).await);
    }
    workers
}
