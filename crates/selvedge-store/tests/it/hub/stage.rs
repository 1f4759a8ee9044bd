//! A store of either kind for a test, and what a test asks of it.

use std::sync::Arc;

use selvedge_core::fleet::{CostEntry, Entry as Header, Lease as Wire};
use selvedge_core::lease::{Lease, LeaseEvent, Rules, evolve};
use selvedge_core::model::{Closing, Cost, CostSource, MicroUsd, Outcome, TaskId, Usage};
use selvedge_store::hub::{
    Answer, Change, Entry, Granted, HubStore, NewTask, PostgresHub, Settings, SqliteHub, Step, Want,
};
use selvedge_testkit::Postgres;
use tempfile::TempDir;
use uuid::Uuid;

/// Where a store is kept for as long as a test lasts.
pub(super) enum Stage {
    Sqlite(TempDir),
    Postgres(String),
}

impl Stage {
    pub(super) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(super) fn postgres() -> Self {
        Self::Postgres(Postgres::shared().database())
    }

    /// A handle on it. On PostgreSQL there may be several at a time.
    pub(super) async fn open(&self) -> Arc<dyn HubStore> {
        self.open_with(Rules::default()).await
    }

    pub(super) async fn open_with(&self, rules: Rules) -> Arc<dyn HubStore> {
        let settings = Settings { rules };
        match self {
            Self::Sqlite(directory) => {
                let path = directory.path().join("deep/hub.db");
                Arc::new(SqliteHub::open(&path, settings).unwrap())
            }
            Self::Postgres(url) => Arc::new(PostgresHub::open(url, None, settings).await.unwrap()),
        }
    }
}

pub(super) fn task(number: u128, priority: u8, labels: &[&str]) -> NewTask {
    NewTask {
        task_id: TaskId::new(Uuid::from_u128((1 << 120) + number)),
        tenant: "default".to_owned(),
        submitted_by: "me".to_owned(),
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

pub(super) fn want(worker: &str, slots: usize, labels: &[&str]) -> Want {
    Want {
        worker: worker.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        slots,
        not: Vec::new(),
    }
}

pub(super) fn entry(granted: &Granted, seq: u64, step: Step) -> Change {
    let lease = Wire {
        task_id: granted.row.task_id,
        lease_epoch: granted.fence.epoch,
        lease_token: granted.fence.token.clone(),
    };
    let mut header = Header::new(lease, seq);
    header.costs = vec![CostEntry {
        run_number: 1,
        call_id: "session".to_owned(),
        cost: Cost {
            micro_usd: Some(MicroUsd(7)),
            source: CostSource::Reported,
        },
        usage: Usage::default(),
        model: None,
    }];
    Change::Entry(Box::new(Entry { header, step }))
}

pub(super) fn report(run_number: u32, body: &str) -> Step {
    Step::Close {
        run_number,
        closing: Closing::Report,
        report: Some(body.to_owned()),
    }
}

pub(super) fn complete(id: &str) -> Step {
    Step::Complete {
        completion_id: id.to_owned(),
        outcome: Outcome::Verified,
        reason: String::new(),
        result: "{}".to_owned(),
    }
}

pub(super) async fn told(store: &dyn HubStore, task: TaskId, change: Change) -> Answer {
    store.change(task, change).await.unwrap().unwrap().answer
}

/// The table of tasks is the log, folded; tokens and deadlines are no history.
pub(super) async fn replays(store: &dyn HubStore, task: TaskId) {
    let (view, _) = store.task(task).await.unwrap().unwrap();
    let lines = store.log(task, 0, 1_000).await.unwrap();
    let numbers: Vec<u64> = lines.iter().map(|line| line.seq).collect();
    assert_eq!(numbers, (1..=view.row.log_seq).collect::<Vec<_>>());
    let mut folded = lines.iter().fold(Lease::default(), |lease, line| {
        let event: LeaseEvent = serde_json::from_str(&line.event).unwrap();
        evolve(lease, &event)
    });
    folded.token.clone_from(&view.row.lease.token);
    folded.due_at = view.row.lease.due_at;
    assert_eq!(folded, view.row.lease);
}

pub(super) async fn futures<T: Send>(
    all: impl Iterator<Item = selvedge_store::hub::Answered<'_, T>>,
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
