//! A store of either kind for a test, and helpers to use it.

use std::sync::Arc;

use selvedge_core::model::{Cost, CostSource, MicroUsd, Outcome, TaskId, Usage};
use selvedge_protocol::lease::{LeaseEvent, LeaseRules, LeaseState, evolve};
use selvedge_protocol::{
    AttemptReport, AttemptStart, CostEntry, EntryHeader, EntryKind, StreamEntry, TaskCompletion,
    TaskResult,
};
use selvedge_store::hub::{
    Assignment, ChangeAnswer, HubStore, NewTask, PollRequest, PostgresHub, SqliteHub,
    StoreSettings, TaskChange,
};
use selvedge_testkit::Postgres;
use tempfile::TempDir;
use uuid::Uuid;

/// The database of a store during a test.
pub(super) enum StoreFixture {
    Sqlite(TempDir),
    Postgres(String),
}

impl StoreFixture {
    pub(super) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(super) fn postgres() -> Self {
        Self::Postgres(Postgres::shared().create_database())
    }

    /// Opens a handle. On PostgreSQL there may be several at a time.
    pub(super) async fn open(&self) -> Arc<dyn HubStore> {
        self.open_with(LeaseRules::default()).await
    }

    pub(super) async fn open_with(&self, rules: LeaseRules) -> Arc<dyn HubStore> {
        let settings = StoreSettings { rules };
        match self {
            Self::Sqlite(directory) => {
                let path = directory.path().join("deep/hub.db");
                Arc::new(SqliteHub::open(&path, settings).unwrap())
            }
            Self::Postgres(url) => Arc::new(PostgresHub::open(url, None, settings).await.unwrap()),
        }
    }

    /// Executes a statement on a connection other than the store's.
    pub(super) async fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(directory) => {
                let db = rusqlite::Connection::open(directory.path().join("deep/hub.db"));
                db.unwrap().execute_batch(sql).unwrap();
            }
            Self::Postgres(url) => {
                let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
                let (client, connection) = connected.unwrap();
                let driven = tokio::spawn(connection);
                client.batch_execute(sql).await.unwrap();
                drop(client);
                driven.await.unwrap().unwrap();
            }
        }
    }
}

pub(super) fn task(number: u128, priority: u8, labels: &[&str]) -> NewTask {
    NewTask {
        task_id: TaskId::new(Uuid::from_u128((1 << 120) + number)),
        project: "default".to_owned(),
        submitted_by: "me".to_owned(),
        person: None,
        actor: None,
        retry_of: None,
        part_of: None,
        title: format!("task {number}"),
        agent: None,
        place: None,
        priority,
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        max_attempts: 1,
        body: "{}".to_owned(),
        idempotency: None,
    }
}

pub(super) fn want(worker: &str, slots: usize, labels: &[&str]) -> PollRequest {
    PollRequest {
        worker: worker.to_owned(),
        project: None,
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        agents: None,
        folders: None,
        slots,
        excluded: Vec::new(),
    }
}

pub(super) fn entry(granted: &Assignment, seq: u64, kind: EntryKind) -> TaskChange {
    let mut header = EntryHeader::new(granted.row.lease_token(), seq);
    header.costs = vec![CostEntry {
        attempt_number: 1,
        call_id: "session".to_owned(),
        cost: Cost {
            micro_usd: Some(MicroUsd(7)),
            source: CostSource::Reported,
        },
        usage: Usage::default(),
        model: None,
    }];
    TaskChange::Entry(Box::new(StreamEntry { header, kind }))
}

pub(super) fn begin(attempt_number: u32) -> EntryKind {
    EntryKind::BeginAttempt(AttemptStart {
        attempt_number,
        from_tree: None,
    })
}

pub(super) fn report(attempt_number: u32, body: &str) -> EntryKind {
    EntryKind::SubmitReport(AttemptReport {
        attempt_number,
        report: serde_json::from_str(body).unwrap(),
    })
}

/// A report that passes.
pub(super) const PASSES: &str = r#"{"status":"pass"}"#;

pub(super) fn complete(id: &str) -> EntryKind {
    EntryKind::Complete(TaskCompletion {
        completion_id: id.to_owned(),
        result: Box::new(TaskResult::without_run(Outcome::Verified, "")),
    })
}

pub(super) async fn apply_change(
    store: &dyn HubStore,
    task: TaskId,
    change: TaskChange,
) -> ChangeAnswer {
    store.change(task, change).await.unwrap().unwrap().answer
}

/// Checks that folding the log results in the task's row, except tokens and deadlines, which the log does not
/// contain.
pub(super) async fn assert_log_replays(store: &dyn HubStore, task: TaskId) {
    let (view, _) = store.task(task).await.unwrap().unwrap();
    let lines = store.log(task, 0, 1_000).await.unwrap();
    let numbers: Vec<u64> = lines.iter().map(|line| line.seq).collect();
    assert_eq!(numbers, (1..=view.row.log_seq).collect::<Vec<_>>());
    let mut folded = lines.iter().fold(LeaseState::default(), |lease, line| {
        let event: LeaseEvent = serde_json::from_str(&line.event).unwrap();
        evolve(lease, &event)
    });
    folded.token.clone_from(&view.row.lease.token);
    folded.due_at = view.row.lease.due_at;
    assert_eq!(folded, view.row.lease);
}

pub(super) async fn poll_in_order<T: Send>(
    all: impl Iterator<Item = selvedge_store::hub::StoreFuture<'_, T>>,
) -> Vec<T> {
    let mut waiting: Vec<_> = all.collect();
    let mut answers: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, answer) in waiting.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *answer = Some(done.unwrap()),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}
