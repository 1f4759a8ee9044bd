//! A steady load for some minutes, as of a busy team, and the hub's memory meanwhile: tasks arrive one by one, each takes
//! its worker some seconds in which it sends events, and watchers follow tasks from their beginning to their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::http::HttpClient;
use crate::hub::HubProcess;
use crate::load::nothing;
use crate::worker::BenchWorker;

/// Number of connected workers, with one slot each.
const WORKERS: usize = 200;
/// Number of event streams that are open at the same time.
const STREAMS: usize = 20;
/// Tasks that are submitted in a minute: 10,000 in ten.
const TASKS_A_MINUTE: u32 = 1_000;
/// Entries with events that a worker sends for a task, and the pause before each.
const ENTRIES: u64 = 4;
const PAUSE: Duration = Duration::from_secs(2);
/// How long the last tasks may take.
const END_TIMEOUT: Duration = Duration::from_mins(1);

const MINUTE: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
struct Counters {
    done: AtomicUsize,
    streams: AtomicUsize,
}

/// Runs the load for some minutes, and prints a row for each.
#[expect(clippy::print_stdout, reason = "rows for people")]
pub(crate) async fn run(hub: &HubProcess, minutes: u32) {
    let counters = Arc::new(Counters::default());
    let mut others = JoinSet::new();
    let worker_token = hub.tokens("worker", 1).await.remove(0);
    for number in 0..WORKERS {
        let (host, token, counters) = (
            hub.host.clone(),
            worker_token.clone(),
            Arc::clone(&counters),
        );
        others.spawn(async move {
            let mut worker = BenchWorker::connect(&host, &token, &format!("w{number}"), 1).await;
            loop {
                worker.carry_out(ENTRIES, PAUSE).await;
                counters.done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let (latest, newest_task) = watch::channel(String::new());
    for token in hub.tokens("read", STREAMS).await {
        let (host, counters, mut newest_task) =
            (hub.host.clone(), Arc::clone(&counters), newest_task.clone());
        others.spawn(async move {
            let mut client = HttpClient::connect(&host, &token).await;
            while newest_task.changed().await.is_ok() {
                let task = newest_task.borrow_and_update().clone();
                client
                    .follow_to_end(&format!("/api/v1/tasks/{task}/events"))
                    .await;
                counters.streams.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    println!(
        "{WORKERS} workers, {STREAMS} streams, {TASKS_A_MINUTE} tasks a minute for {minutes} minutes"
    );
    println!("before the first task: {} MiB", hub.resident() >> 20);
    let submit = hub.tokens("submit", 1).await.remove(0);
    let tasks = usize::try_from(minutes * TASKS_A_MINUTE).unwrap();
    let host = hub.host.clone();
    let submitting = tokio::spawn(async move {
        let mut client = HttpClient::connect(&host, &submit).await;
        let mut ticks = interval(MINUTE / TASKS_A_MINUTE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for _ in 0..tasks {
            ticks.tick().await;
            let task = client.post("/api/v1/tasks", &nothing()).await;
            latest.send_replace(task["task_id"].as_str().unwrap().to_owned());
        }
    });
    let begun = Instant::now();
    let mut samples = Vec::new();
    println!("| minute | tasks done | streams that ended | resident, MiB: least | mean | most |");
    for minute in 1..=minutes {
        let first = samples.len();
        while begun.elapsed() < MINUTE * minute {
            sleep(Duration::from_secs(1)).await;
            samples.push((begun.elapsed().as_secs_f64() / 60.0, hub.resident_mib()));
        }
        let (least, mean, most) = range(&samples[first..]);
        let done = counters.done.load(Ordering::Relaxed);
        let streams = counters.streams.load(Ordering::Relaxed);
        println!("| {minute} | {done} | {streams} | {least:.1} | {mean:.1} | {most:.1} |");
    }
    submitting.await.unwrap();
    while counters.done.load(Ordering::Relaxed) < tasks {
        assert!(
            begun.elapsed() < MINUTE * minutes + END_TIMEOUT,
            "{counters:?}"
        );
        sleep(Duration::from_millis(100)).await;
    }
    println!(
        "all {tasks} tasks done after {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    // The first minute fills caches and connects.
    let steady: Vec<(f64, f64)> = samples.into_iter().filter(|(at, _)| *at > 1.0).collect();
    if steady.len() > 1 {
        println!(
            "after the first minute: {:+.2} MiB a minute",
            slope(&steady)
        );
    }
    others.shutdown().await;
}

/// The least, the mean and the highest value.
fn range(samples: &[(f64, f64)]) -> (f64, f64, f64) {
    let values = || samples.iter().map(|(_, value)| *value);
    let count = f64::from(u32::try_from(samples.len()).unwrap());
    (
        values().fold(f64::INFINITY, f64::min),
        values().sum::<f64>() / count,
        values().fold(0.0, f64::max),
    )
}

/// The slope of the line that fits the samples best.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = f64::from(u32::try_from(samples.len()).unwrap());
    let mean_at = samples.iter().map(|(at, _)| at).sum::<f64>() / count;
    let mean = samples.iter().map(|(_, value)| value).sum::<f64>() / count;
    let (mut both, mut square) = (0.0, 0.0);
    for (at, value) in samples {
        both += (at - mean_at) * (value - mean);
        square += (at - mean_at) * (at - mean_at);
    }
    both / square
}
