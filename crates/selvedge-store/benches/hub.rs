//! Throughput of a hub's store in durable no-op tasks per second: submitting them, and carrying them out from
//! claim to completion with all their rows (begin_run, report, ledger, result, log), and assigning single tasks
//! while 10,000 of three projects are queued; in an SQLite file, and
//! on a dedicated PostgreSQL server that syncs its disk. Prints a table and asserts nothing.
//!
//! `cargo bench --bench hub -- [CLIENTS] [TASKS]`, and `sqlite` or `postgres` for one of them
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people at a desk"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use selvedge_core::model::{Cost, CostSource, MicroUsd, Outcome, TaskId, Usage};
use selvedge_protocol::{
    AttemptReport, AttemptStart, CostEntry, EntryHeader, EntryKind, StreamEntry, TaskCompletion,
    TaskResult,
};
use selvedge_store::hub::{
    Assignment, AuditActor, AuditChannel, ChangeAnswer, HubStore, NewTask, PollRequest,
    PostgresHub, SqliteHub, StoreSettings, TaskChange,
};
use selvedge_testkit::Postgres;
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

/// Maximum number of tasks per claim.
const BATCH: usize = 50;
/// Tasks in the queue, and those of them that are assigned one by one.
const QUEUED: usize = 10_000;
const ASSIGNED: usize = 500;

#[tokio::main]
async fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let clients: usize = numbers.next().unwrap_or(64);
    let tasks: usize = numbers.next().unwrap_or(50_000);
    let only = |name: &str| !std::env::args().any(|word| word == name);
    if only("postgres") {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("hub.db");
        println!("SQLite, synchronous=FULL, {clients} clients, {tasks} tasks");
        let store = Arc::new(SqliteHub::open(&path, StoreSettings::default()).unwrap());
        measured(store, clients, tasks).await;
    }
    if only("sqlite") {
        let server = Postgres::durable_in(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let url = server.create_database();
        println!("PostgreSQL, fsync=on, {clients} clients, {tasks} tasks");
        let store = PostgresHub::open(&url, None, StoreSettings::default()).await;
        measured(Arc::new(store.unwrap()), clients, tasks).await;
    }
}

async fn measured(store: Arc<dyn HubStore>, clients: usize, tasks: usize) {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load before: {}", load.trim());

    let begun = Instant::now();
    let mut set = JoinSet::new();
    for client in 0..clients {
        let store = Arc::clone(&store);
        set.spawn(async move {
            for number in (client..tasks).step_by(clients) {
                store.submit(task(number)).await.unwrap();
            }
        });
    }
    set.join_all().await;
    print_rate("enqueue", tasks, begun.elapsed());

    let begun = Instant::now();
    let mut set = JoinSet::new();
    for client in 0..clients {
        let store = Arc::clone(&store);
        set.spawn(async move { work(store.as_ref(), &format!("w{client}")).await });
    }
    let done: usize = set.join_all().await.into_iter().sum();
    print_rate("claim + begin + report + complete", done, begun.elapsed());
    measure_assignment(&store).await;
}

/// Assignment of single tasks while the queue is long: three projects with five submitters each.
async fn measure_assignment(store: &Arc<dyn HubStore>) {
    let mut set = JoinSet::new();
    for number in 0..QUEUED {
        let store = Arc::clone(store);
        set.spawn(async move {
            let new = NewTask {
                project: format!("project {}", number % 3),
                submitted_by: format!("person {}", number % 5),
                ..task(number)
            };
            store.submit(new).await.unwrap();
        });
    }
    set.join_all().await;
    let begun = Instant::now();
    for _ in 0..ASSIGNED {
        let granted = store.assign_tasks(vec![poll("one", 1)]).await.unwrap();
        assert_eq!(granted.len(), 1);
    }
    print_rate(&format!("assign 1 of {QUEUED}"), ASSIGNED, begun.elapsed());
}

fn poll(worker: &str, slots: usize) -> PollRequest {
    PollRequest {
        worker: worker.to_owned(),
        project: None,
        labels: Vec::new(),
        agents: None,
        folders: None,
        slots,
        excluded: Vec::new(),
    }
}

async fn work(store: &dyn HubStore, worker: &str) -> usize {
    let mut done = 0;
    loop {
        let granted = store.assign_tasks(vec![poll(worker, BATCH)]).await.unwrap();
        if granted.is_empty() {
            return done;
        }
        // The worker has slots for all of them: they run concurrently.
        join_all(granted.iter().map(|granted| carry_out(store, granted))).await;
        done += granted.len();
    }
}

/// Carries out one task; each step waits for the answer to the previous one.
async fn carry_out(store: &dyn HubStore, granted: &Assignment) {
    for (seq, step) in (1..).zip(steps()) {
        let change = entry(granted, seq, step);
        let verdict = store.change(granted.row.task_id, change).await;
        assert_eq!(verdict.unwrap().unwrap().answer, ChangeAnswer::Applied);
    }
}

fn steps() -> [EntryKind; 3] {
    [
        EntryKind::BeginAttempt(AttemptStart {
            attempt_number: 1,
            from_tree: None,
        }),
        EntryKind::SubmitReport(AttemptReport {
            attempt_number: 1,
            report: json!({"status": "pass", "summary": {"total": 1, "passed": 1}}),
        }),
        EntryKind::Complete(TaskCompletion {
            completion_id: "once".to_owned(),
            result: Box::new(TaskResult::without_run(Outcome::Verified, "")),
        }),
    ]
}

fn entry(granted: &Assignment, seq: u64, kind: EntryKind) -> TaskChange {
    let mut header = EntryHeader::new(granted.row.lease_token(), seq);
    if seq == 2 {
        header.costs = vec![CostEntry {
            attempt_number: 1,
            call_id: "session".to_owned(),
            cost: Cost {
                micro_usd: Some(MicroUsd(1)),
                source: CostSource::Reported,
            },
            usage: Usage::default(),
            model: None,
        }];
    }
    TaskChange::Entry(Box::new(StreamEntry { header, kind }))
}

fn task(number: usize) -> NewTask {
    NewTask {
        task_id: TaskId::new(Uuid::now_v7()),
        project: "default".to_owned(),
        submitted_by: "bench".to_owned(),
        person: None,
        actor: Some(AuditActor {
            name: "bench".to_owned(),
            token_id: Some(Uuid::from_u128(1)),
            person: None,
            channel: AuditChannel::Api,
        }),
        retry_of: None,
        part_of: None,
        title: format!("task {number}"),
        agent: None,
        place: None,
        priority: 0,
        labels: Vec::new(),
        max_attempts: 1,
        body: r#"{"description":"nothing"}"#.to_owned(),
        idempotency: None,
    }
}

fn print_rate(what: &str, count: usize, took: Duration) {
    let millis = took.as_millis().max(1);
    let rate = u128::try_from(count).unwrap_or(0) * 1_000 / millis;
    println!("{what:40} {rate:>8}/s  ({count} in {millis} ms)");
}
