//! Tests of tasks, their leases, and the entries of workers.

use selvedge_core::model::{AttemptEnd, MicroUsd, TaskId};
use selvedge_protocol::lease::{LeaseInput, LeaseRules};
use selvedge_protocol::{CostEntry, EntryKind, LeaseToken, RefusalCode, TaskState};
use selvedge_store::hub::{
    Assignment, ChangeAnswer, ListFilter, PollRequest, SubmitOutcome, TaskChange,
};
use serde_json::json;

use super::fixture::{
    StoreFixture, apply_change, assert_log_replays, begin, complete, entry, poll_in_order, report,
    task, want,
};

pub(super) async fn acknowledged_writes_survive_restart(fixture: StoreFixture) {
    let store = fixture.open().await;
    let new = task(1, 0, &[]);
    let id = new.task_id;
    assert_eq!(
        store.submit(new.clone()).await.unwrap(),
        SubmitOutcome::New(id)
    );
    assert_eq!(store.submit(new).await.unwrap(), SubmitOutcome::IdTaken);
    let granted = store
        .assign_tasks(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    let body = r#"{"z":1,"status":"pass","a":0.1}"#;
    for (seq, step) in [(1, begin(1)), (2, report(1, body)), (3, complete("once"))] {
        for again in ["first", "again"] {
            let change = entry(&granted, seq, step.clone());
            assert_eq!(
                apply_change(store.as_ref(), id, change).await,
                ChangeAnswer::Applied,
                "{seq} {again}"
            );
        }
    }
    drop(store);
    let store = fixture.open().await;
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!(view.row.lease.state, TaskState::Succeeded);
    assert_eq!(
        (view.cost.calls, view.cost.micro_usd),
        (1, MicroUsd(7)),
        "a call counts once"
    );
    assert_eq!(store.report(id, 1).await.unwrap().unwrap().body, body);
    assert_log_replays(store.as_ref(), id).await;
    let other = entry(&granted, 2, report(1, "{}"));
    let ChangeAnswer::Refused { code, .. } = apply_change(store.as_ref(), id, other).await else {
        panic!("another report in the place of one that was acknowledged")
    };
    assert_eq!(code, RefusalCode::Conflict);
}

pub(super) async fn assign_prefers_priority_and_matches_labels(fixture: StoreFixture) {
    let store = fixture.open().await;
    for new in [task(1, 0, &[]), task(2, 9, &["gpu"]), task(3, 5, &[])] {
        store.submit(new).await.unwrap();
    }
    let titles = async |worker: PollRequest| {
        let granted = store.assign_tasks(vec![worker]).await.unwrap();
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

pub(super) async fn assign_never_gives_a_task_twice(fixture: StoreFixture) {
    let store = fixture.open().await;
    let submitted = (0..200).map(|number| store.submit(task(number, 0, &[])));
    poll_in_order(submitted).await;
    let grants =
        (0..20).map(|worker| store.assign_tasks(vec![want(&format!("w{worker}"), 10, &[])]));
    let granted: Vec<Assignment> = poll_in_order(grants).await.into_iter().flatten().collect();
    let mut ids: Vec<TaskId> = granted.iter().map(|granted| granted.row.task_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((granted.len(), ids.len()), (200, 200));
    for id in ids.iter().take(5) {
        assert_log_replays(store.as_ref(), *id).await;
    }
}

pub(super) async fn ended_lease_accepts_only_evidence_and_costs(fixture: StoreFixture) {
    // Without waiting: every period ends at once.
    let rules = LeaseRules {
        ttl_ms: 0,
        grace_ms: 0,
        offer_ms: 0,
        expiry_backoff_ms: 0,
        backoff_ms: 0,
        max_losses: 2,
    };
    let store = fixture.open_with(rules).await;
    let new = task(1, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let first = store
        .assign_tasks(vec![want("first", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        apply_change(store.as_ref(), id, entry(&first, 1, begin(1))).await,
        ChangeAnswer::Applied
    );
    assert!(
        store.expire_due(true).await.unwrap().is_empty(),
        "quiet: no lease ends"
    );
    while store.task(id).await.unwrap().unwrap().0.row.lease.state != TaskState::Queued {
        store.expire_due(false).await.unwrap();
    }
    let second = store
        .assign_tasks(vec![want("second", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    assert_eq!(second.row.lease.epoch, first.row.lease.epoch + 1);
    let before = store.task(id).await.unwrap().unwrap().0.row;
    for step in [report(1, "{}"), begin(2), complete("late")] {
        let answer = apply_change(store.as_ref(), id, entry(&first, 2, step)).await;
        assert!(
            matches!(
                answer,
                ChangeAnswer::Refused {
                    code: RefusalCode::Stale,
                    ..
                }
            ),
            "{answer:?}"
        );
    }
    // An attempt that was about to begin when the lease expired: the hub does not know it, and it had no agent.
    let mut unheard = entry(&first, 3, EntryKind::Progress);
    if let TaskChange::Entry(entry) = &mut unheard {
        entry.header.costs = vec![CostEntry::lost(2)];
    }
    apply_change(store.as_ref(), id, unheard).await;
    let wrong = LeaseToken {
        lease_token: "guessed".to_owned(),
        ..second.row.lease_token()
    };
    let wrong = TaskChange::Lease(LeaseInput::Accept(wrong));
    let answer = apply_change(store.as_ref(), id, wrong).await;
    assert!(
        matches!(answer, ChangeAnswer::Refused { .. }),
        "an epoch alone is not a credential"
    );
    let (after, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!(after.row, before);
    assert_eq!(after.cost.calls, 1);
    assert!(store.reports(id).await.unwrap().is_empty());
    assert_eq!(store.late_reports(id).await.unwrap().len(), 1);
    assert!(store.result(id).await.unwrap().is_none());
    assert_eq!(
        store.runs(id).await.unwrap()[0].end,
        Some(AttemptEnd::Interrupted)
    );
    assert_log_replays(store.as_ref(), id).await;
}

pub(super) async fn submit_with_the_same_key_is_one_task(fixture: StoreFixture) {
    let store = fixture.open().await;
    let keyed = |number: u128, hash: u8| {
        let mut new = task(number, 0, &[]);
        new.idempotency = Some(("key".to_owned(), [hash; 32]));
        new
    };
    let all = (0..50).map(|number| store.submit(keyed(number, 1)));
    let answers = poll_in_order(all).await;
    let mut new = answers.iter().filter_map(|answer| match answer {
        SubmitOutcome::New(task) => Some(*task),
        _ => None,
    });
    let first = new.next().unwrap();
    assert_eq!(new.next(), None, "one of them is taken in");
    let again = answers
        .iter()
        .filter(|answer| **answer == SubmitOutcome::Duplicate(first));
    assert_eq!(again.count(), 49);
    let other = store.submit(keyed(99, 2)).await.unwrap();
    assert_eq!(other, SubmitOutcome::IdempotencyConflict(first));
    assert!(
        store
            .task(task(99, 0, &[]).task_id)
            .await
            .unwrap()
            .is_none()
    );
    // A submission whose id is taken does not store its key.
    let mut taken = task(0, 0, &[]);
    taken.task_id = first;
    taken.idempotency = Some(("another".to_owned(), [1; 32]));
    assert_eq!(store.submit(taken).await.unwrap(), SubmitOutcome::IdTaken);
    let mut free = task(100, 0, &[]);
    free.idempotency = Some(("another".to_owned(), [2; 32]));
    let id = free.task_id;
    assert_eq!(store.submit(free).await.unwrap(), SubmitOutcome::New(id));
    assert_eq!(
        store
            .tasks(ListFilter::default(), 10)
            .await
            .unwrap()
            .tasks
            .len(),
        2
    );
}

/// A worker sends its entries without waiting: even in a shared transaction, each is decided on the result of
/// the one before.
pub(super) async fn entries_of_one_task_keep_their_order(fixture: StoreFixture) {
    let store = fixture.open().await;
    let mut new = task(1, 0, &[]);
    new.max_attempts = 20;
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let granted = store
        .assign_tasks(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    let mut seq = 0;
    let mut next = |step: EntryKind| {
        seq += 1;
        store.change(id, entry(&granted, seq, step))
    };
    let mut all = Vec::new();
    for run in 1..=20 {
        all.push(next(begin(run)));
        all.push(next(report(
            run,
            &format!(r#"{{"run":{run},"status":"pass"}}"#),
        )));
        all.push(next(EntryKind::Progress));
    }
    all.push(next(complete("once")));
    let answers = poll_in_order(all.into_iter()).await;
    for verdict in answers {
        assert_eq!(verdict.unwrap().answer, ChangeAnswer::Applied);
    }
    let numbers: Vec<u32> = store
        .runs(id)
        .await
        .unwrap()
        .iter()
        .map(|run| run.attempt_number)
        .collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    assert_eq!(store.reports(id).await.unwrap().len(), 20);
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!((view.row.lease.reports, view.row.entry_seq), (20, 61));
    assert_log_replays(store.as_ref(), id).await;
}

/// The files of a run are looked up by what its journal contains.
pub(super) async fn events_of_another_run_are_refused(fixture: StoreFixture) {
    let store = fixture.open().await;
    let (own, other) = (task(1, 0, &[]).task_id, task(2, 0, &[]).task_id);
    store.submit(task(1, 0, &[])).await.unwrap();
    store.submit(task(2, 0, &[])).await.unwrap();
    let first = want("w", 1, &[]);
    let granted = store.assign_tasks(vec![first]).await.unwrap().remove(0);
    assert_eq!(granted.row.task_id, own);
    let with_events = |seq, events| {
        let TaskChange::Entry(mut change) = entry(&granted, seq, EntryKind::Progress) else {
            unreachable!("an entry")
        };
        change.header.events = events;
        TaskChange::Entry(change)
    };
    for forged in [json!(other), json!("x"), json!(null), json!([own])] {
        let events = vec![
            json!({"seq": 1, "run_id": own}),
            json!({"seq": 2, "run_id": forged}),
        ];
        let answer = apply_change(store.as_ref(), own, with_events(1, events)).await;
        let ChangeAnswer::Refused { code, detail } = answer else {
            panic!("{forged} was accepted");
        };
        assert_eq!(code, RefusalCode::Invalid, "{detail}");
        assert_eq!(detail, "event 2 is not of the task's run");
    }
    assert!(store.journal(own, 0, 10).await.unwrap().is_empty());
    let events = vec![json!({"seq": 1, "run_id": own}), json!({"seq": 2})];
    let answer = apply_change(store.as_ref(), own, with_events(1, events)).await;
    assert_eq!(answer, ChangeAnswer::Applied);
}

/// Repeating the same report is allowed, a different one in its place is not.
pub(super) async fn report_is_stored_once(fixture: StoreFixture) {
    let store = fixture.open().await;
    let new = task(1, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let granted = store
        .assign_tasks(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    apply_change(store.as_ref(), id, entry(&granted, 1, begin(1))).await;
    let all = [
        store.change(id, entry(&granted, 2, report(1, "{}"))),
        store.change(id, entry(&granted, 2, report(1, "{}"))),
        store.change(id, entry(&granted, 2, report(1, "[]"))),
    ];
    let answers: Vec<ChangeAnswer> = poll_in_order(all.into_iter())
        .await
        .into_iter()
        .map(|verdict| verdict.unwrap().answer)
        .collect();
    assert_eq!(answers[..2], [ChangeAnswer::Applied, ChangeAnswer::Applied]);
    let conflict = |answer: &ChangeAnswer| {
        matches!(
            answer,
            ChangeAnswer::Refused {
                code: RefusalCode::Conflict,
                ..
            }
        )
    };
    assert!(conflict(&answers[2]), "{answers:?}");
    assert_eq!(store.report(id, 1).await.unwrap().unwrap().body, "{}");
    let unknown = task(2, 0, &[]).task_id;
    assert!(
        store
            .change(unknown, TaskChange::Lease(LeaseInput::Tick))
            .await
            .unwrap()
            .is_none()
    );
}

pub(super) async fn list_is_filtered_paged_and_counted(fixture: StoreFixture) {
    let store = fixture.open().await;
    for number in 0..5 {
        let mut new = task(
            number,
            0,
            if number % 2 == 0 {
                &["gpu", "linux"]
            } else {
                &[]
            },
        );
        new.agent = (number == 3).then(|| "codex".to_owned());
        new.place = (number == 4).then(|| "Some/Where".to_owned());
        store.submit(new).await.unwrap();
    }
    store.assign_tasks(vec![want("w", 1, &[])]).await.unwrap();
    let titles = async |filter: ListFilter, limit: usize| {
        let page = store.tasks(filter, limit).await.unwrap();
        let titles: Vec<String> = page.tasks.iter().map(|view| view.title.clone()).collect();
        (titles, page.more)
    };
    let all = ListFilter::default();
    assert_eq!(
        titles(all.clone(), 2).await,
        (vec!["task 4".to_owned(), "task 3".to_owned()], true)
    );
    let before = Some(task(3, 0, &[]).task_id);
    let filter = ListFilter {
        before,
        ..all.clone()
    };
    assert_eq!(titles(filter, 9).await.0, ["task 2", "task 1", "task 0"]);
    for (filter, expected) in [
        (
            ListFilter {
                states: vec![TaskState::Offered],
                ..all.clone()
            },
            vec!["task 1"],
        ),
        (
            ListFilter {
                worker: Some("w".to_owned()),
                ..all.clone()
            },
            vec!["task 1"],
        ),
        (
            ListFilter {
                label: Some("gpu".to_owned()),
                ..all.clone()
            },
            vec!["task 4", "task 2", "task 0"],
        ),
        (
            ListFilter {
                agent: Some("codex".to_owned()),
                ..all.clone()
            },
            vec!["task 3"],
        ),
        (
            ListFilter {
                text: Some("me/wh".to_owned()),
                ..all.clone()
            },
            vec!["task 4"],
        ),
        (
            ListFilter {
                project: Some("other".to_owned()),
                ..all.clone()
            },
            vec![],
        ),
    ] {
        assert_eq!(titles(filter.clone(), 9).await.0, expected, "{filter:?}");
    }
    let overview = store.overview(None).await.unwrap();
    let count = |state| {
        overview
            .states
            .iter()
            .find(|(other, _)| *other == state)
            .map(|found| found.1)
    };
    assert_eq!(
        (count(TaskState::Queued), count(TaskState::Offered)),
        (Some(4), Some(1))
    );
    let mut waiting: Vec<_> = overview
        .waiting
        .iter()
        .map(|it| (it.labels.len(), it.waiting))
        .collect();
    waiting.sort_unstable();
    assert_eq!(waiting, [(0, 1), (2, 3)]);
}

pub(super) async fn offers_to_a_worker_are_those_it_has_not_accepted(fixture: StoreFixture) {
    let store = fixture.open().await;
    for number in 1..=3 {
        store.submit(task(number, 0, &[])).await.unwrap();
    }
    let wants = vec![want("w", 2, &[]), want("other", 1, &[])];
    let assigned = store.assign_tasks(wants).await.unwrap();
    let mut own = assigned.iter().filter(|it| it.worker == "w");
    let (accepted, offered) = (own.next().unwrap(), own.next().unwrap());
    let accept = TaskChange::Lease(LeaseInput::Accept(accepted.row.lease_token()));
    store.change(accepted.row.task_id, accept).await.unwrap();
    let offers = store.offers_to("w".to_owned()).await.unwrap();
    assert_eq!(offers.as_slice(), std::slice::from_ref(&offered.row));
    drop(store);
    let store = fixture.open().await;
    let offers = store.offers_to("w".to_owned()).await.unwrap();
    assert_eq!(offers.len(), 1);
    assert_eq!(offers[0].lease_token(), offered.row.lease_token());
    assert!(
        store
            .offers_to("nobody".to_owned())
            .await
            .unwrap()
            .is_empty()
    );
}
