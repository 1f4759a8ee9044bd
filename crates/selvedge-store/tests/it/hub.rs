//! The hub's store: what was answered is there after a start, a task is one worker's at a time, and the
//! log tells again how everything came to stand as it does. Each property knows the traits only.

use std::path::Path;
use std::sync::Arc;

use selvedge_core::fleet::{CostEntry, Entry as Header, Lease as Wire, RefusalCode, TaskState};
use selvedge_core::lease::{Fence, Lease, LeaseEvent, Rules, evolve};
use selvedge_core::model::{Closing, Cost, CostSource, MicroUsd, Outcome, TaskId, Usage};
use selvedge_store::hub::{
    Answer, Change, Entry, Granted, HubStore, HubStoreError, NewTask, Settings, SqliteHub, Step,
    Submitted, Want,
};
use uuid::Uuid;

fn open(path: &Path) -> Arc<dyn HubStore> {
    Arc::new(SqliteHub::open(path, Settings::default()).unwrap())
}

fn task(number: u128, priority: u8, labels: &[&str]) -> NewTask {
    NewTask {
        task_id: TaskId::new(Uuid::from_u128((1 << 120) + number)),
        tenant: "default".to_owned(),
        submitted_by: "me".to_owned(),
        retry_of: None,
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

fn want(worker: &str, slots: usize, labels: &[&str]) -> Want {
    Want {
        worker: worker.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        slots,
        not: Vec::new(),
    }
}

fn entry(granted: &Granted, seq: u64, step: Step) -> Change {
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

fn report(run_number: u32, body: &str) -> Step {
    Step::Close {
        run_number,
        closing: Closing::Report,
        report: Some(body.to_owned()),
    }
}

fn complete(id: &str) -> Step {
    Step::Complete {
        completion_id: id.to_owned(),
        outcome: Outcome::Verified,
        reason: String::new(),
        result: "{}".to_owned(),
    }
}

async fn told(store: &dyn HubStore, task: TaskId, change: Change) -> Answer {
    store.change(task, change).await.unwrap().unwrap().answer
}

/// The table of tasks is the log, folded; tokens and deadlines are no history.
async fn replays(store: &dyn HubStore, task: TaskId) {
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

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_there_after_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/hub.db");
    let store = open(&path);
    let new = task(1, 0, &[]);
    let id = new.task_id;
    assert_eq!(store.submit(new.clone()).await.unwrap(), Submitted::New(id));
    assert_eq!(store.submit(new).await.unwrap(), Submitted::IdTaken);
    let granted = store
        .grant(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    let body = r#"{"z":1,"a":0.1}"#;
    for (seq, step) in [
        (1, Step::Begin(1)),
        (2, report(1, body)),
        (3, complete("once")),
    ] {
        for again in ["first", "again"] {
            let change = entry(&granted, seq, step.clone());
            assert_eq!(
                told(store.as_ref(), id, change).await,
                Answer::Done,
                "{seq} {again}"
            );
        }
    }
    let second = SqliteHub::open(&path, Settings::default());
    assert!(
        matches!(second, Err(HubStoreError::InUse(_))),
        "one hub at a time"
    );
    drop(store);
    let store = open(&path);
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!(view.row.lease.state, TaskState::Succeeded);
    assert_eq!(
        (view.cost.calls, view.cost.micro_usd),
        (1, MicroUsd(7)),
        "a call counts once"
    );
    assert_eq!(store.report(id, 1).await.unwrap().unwrap().body, body);
    replays(store.as_ref(), id).await;
    let other = entry(&granted, 2, report(1, "{}"));
    let Answer::Refused { code, .. } = told(store.as_ref(), id, other).await else {
        panic!("another report in the place of one that was acknowledged")
    };
    assert_eq!(code, RefusalCode::Conflict);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_highest_comes_first_and_labels_must_fit() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("hub.db"));
    for new in [task(1, 0, &[]), task(2, 9, &["gpu"]), task(3, 5, &[])] {
        store.submit(new).await.unwrap();
    }
    let titles = async |worker: Want| {
        let granted = store.grant(vec![worker]).await.unwrap();
        let mut titles = Vec::new();
        for granted in granted {
            let (view, _) = store.task(granted.row.task_id).await.unwrap().unwrap();
            titles.push(view.title);
        }
        titles
    };
    assert_eq!(titles(want("plain", 1, &["linux"])).await, ["task 3"]);
    assert_eq!(
        titles(want("strong", 5, &["gpu", "linux"])).await,
        ["task 2", "task 1"]
    );
    assert!(titles(want("late", 5, &["gpu"])).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_never_share_a_task() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("hub.db"));
    let submitted = (0..200).map(|number| store.submit(task(number, 0, &[])));
    futures(submitted).await;
    let grants = (0..20).map(|worker| store.grant(vec![want(&format!("w{worker}"), 10, &[])]));
    let granted: Vec<Granted> = futures(grants).await.into_iter().flatten().collect();
    let mut ids: Vec<TaskId> = granted.iter().map(|granted| granted.row.task_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((granted.len(), ids.len()), (200, 200));
    for id in ids.iter().take(5) {
        replays(store.as_ref(), *id).await;
    }
}

async fn futures<T: Send>(
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

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_over_leaves_evidence_and_costs_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hub.db");
    // Nothing is waited for: every period is over at once.
    let rules = Rules {
        ttl_ms: 0,
        grace_ms: 0,
        offer_ms: 0,
        backoff_ms: 0,
        max_losses: 2,
    };
    let store: Arc<dyn HubStore> = Arc::new(SqliteHub::open(&path, Settings { rules }).unwrap());
    let new = task(1, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let first = store
        .grant(vec![want("first", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        told(store.as_ref(), id, entry(&first, 1, Step::Begin(1))).await,
        Answer::Done
    );
    assert!(
        store.sweep(true).await.unwrap().is_empty(),
        "quiet: no lease ends"
    );
    while store.task(id).await.unwrap().unwrap().0.row.lease.state != TaskState::Queued {
        store.sweep(false).await.unwrap();
    }
    let second = store
        .grant(vec![want("second", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    assert_eq!(second.fence.epoch, first.fence.epoch + 1);
    let before = store.task(id).await.unwrap().unwrap().0.row;
    for step in [report(1, "{}"), Step::Begin(2), complete("late")] {
        let answer = told(store.as_ref(), id, entry(&first, 2, step)).await;
        assert!(
            matches!(
                answer,
                Answer::Refused {
                    code: RefusalCode::Stale,
                    ..
                }
            ),
            "{answer:?}"
        );
    }
    let wrong = Fence {
        epoch: second.fence.epoch,
        token: "guessed".to_owned(),
    };
    let answer = told(store.as_ref(), id, Change::Accept(wrong)).await;
    assert!(
        matches!(answer, Answer::Refused { .. }),
        "an epoch alone is no fence"
    );
    let (after, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!(after.row, before);
    assert_eq!(after.cost.calls, 1);
    assert!(store.reports(id).await.unwrap().is_empty());
    assert_eq!(store.late_reports(id).await.unwrap().len(), 1);
    assert!(store.result(id).await.unwrap().is_none());
    assert_eq!(
        store.runs(id).await.unwrap()[0].closing,
        Some(Closing::Interrupted)
    );
    replays(store.as_ref(), id).await;
}
