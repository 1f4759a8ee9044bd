//! Benchmark of a hub in its own process, through HTTP and WebSocket: durable no-op tasks per second, the
//! time from a submission to its assignment, the cost of idle workers, and events to a watcher. Each task
//! writes everything that a real one does: begin_run, report, ledger, result, log. Prints a table and asserts
//! nothing about time.
//!
//! `cargo bench --package selvedge-hub --bench hub -- PROGRAM [DATABASE] [--tasks N]`
//!
//! With `--load MINUTES` it runs a steady load instead, and shows whether the hub's memory grows.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a program for people at a desk"
)]

mod http;
mod hub;
mod load;
mod soak;
mod worker;

use std::time::Duration;

use crate::hub::HubProcess;

/// Number of concurrent submitting clients, and of concurrent workers.
const CLIENTS: usize = 64;
/// Slots of a worker.
const SLOTS: u32 = 50;
/// Number of idle connected workers.
const IDLE: usize = 1_000;

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let program = words
        .next()
        .expect("the program: target/optimized/selvedge");
    let mut database = None;
    let mut tasks = 20_000;
    let mut load_minutes = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--tasks" => {
                let count = words.next().and_then(|it| it.parse().ok());
                tasks = count.expect("a number");
            }
            "--load" => {
                let minutes = words.next().and_then(|it| it.parse().ok());
                load_minutes = Some(minutes.expect("a number of minutes"));
            }
            _ => database = Some(word),
        }
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load before: {}", load.trim());
    let hub = HubProcess::start(&program, database.as_deref()).await;
    if let Some(minutes) = load_minutes {
        soak::run(&hub, minutes).await;
        return;
    }
    println!("{CLIENTS} clients, {CLIENTS} workers of {SLOTS} slots, {tasks} tasks");

    let took = load::submit(&hub, CLIENTS, tasks).await;
    rate("enqueue over HTTP", tasks, took);
    let took = load::carry_out(&hub, CLIENTS, SLOTS, tasks).await;
    rate("claim to done over WebSocket", tasks, took);
    let took = load::both(&hub, CLIENTS, SLOTS, tasks).await;
    rate("submit to done, both at once", tasks, took);

    let waits = load::assignments(&hub, 500).await;
    let at = |share: usize| millis(waits[(waits.len() - 1) * share / 100]);
    println!("submit to assignment, idle: p50 {}, p99 {}", at(50), at(99));

    let (events, took) = load::events(&hub, 50_000).await;
    rate("events through to a watcher", events, took);

    let before = hub.resident();
    let idle = load::idle(&hub, IDLE).await;
    let more = hub.resident().saturating_sub(before);
    println!(
        "{IDLE} idle workers: {} MiB more, {} MiB in all",
        more >> 20,
        (before + more) >> 20
    );
    drop(idle);
}

fn rate(what: &str, count: usize, took: Duration) {
    let millis = took.as_millis().max(1);
    let rate = u128::try_from(count).unwrap_or(0) * 1_000 / millis;
    println!("{what:32} {rate:>8}/s  ({count} in {millis} ms)");
}

fn millis(took: Duration) -> String {
    format!("{:.2} ms", took.as_secs_f64() * 1_000.0)
}
