//! Tests of plans: tasks that the hub holds itself and that are not assigned to workers.

use selvedge_core::model::ParentPlan;
use selvedge_protocol::lease::LeaseInput;
use selvedge_protocol::{PLAN_LABEL, TaskState};
use selvedge_store::hub::{Assignment, ChangeAnswer, ListFilter, TaskChange};

use super::fixture::{StoreFixture, apply_change, assert_log_replays, complete, entry, task, want};

pub(super) async fn plan_is_held_by_the_hub_until_it_ends(fixture: StoreFixture) {
    let store = fixture.open().await;
    let plan = task(1, 9, &[PLAN_LABEL]);
    let id = plan.task_id;
    store.submit(plan).await.unwrap();
    let mut part = task(2, 0, &[]);
    let part_of = ParentPlan {
        plan: id.into(),
        subtask: "api".to_owned(),
    };
    part.part_of = Some(part_of.clone());
    store.submit(part).await.unwrap();
    let listed = store.tasks(ListFilter::default(), 9).await.unwrap().tasks;
    let parts: Vec<_> = listed.into_iter().map(|view| view.part_of).collect();
    assert_eq!(parts, [Some(part_of), None], "the newest first");
    assert_eq!(store.plans().await.unwrap(), [id]);
    let granted = store
        .assign_tasks(vec![want("w", 5, &["linux"])])
        .await
        .unwrap();
    assert_eq!(granted.len(), 1, "the plan is no worker's");

    let take = |token: &str| TaskChange::AcquireForHub {
        holder: "the hub".to_owned(),
        token: token.to_owned(),
    };
    assert_eq!(
        apply_change(&*store, id, take("one")).await,
        ChangeAnswer::Applied
    );
    assert!(
        matches!(
            apply_change(&*store, id, take("two")).await,
            ChangeAnswer::Refused { .. }
        ),
        "another hub comes second"
    );
    let (view, body) = store.task(id).await.unwrap().unwrap();
    assert_eq!(view.row.lease.state, TaskState::Running);
    assert_eq!(
        view.row.lease.token.as_deref(),
        Some("one"),
        "any hub may renew it"
    );
    let renewal = TaskChange::Lease(LeaseInput::Renew(view.row.lease_token()));
    assert_eq!(
        apply_change(&*store, id, renewal).await,
        ChangeAnswer::Applied
    );
    let held = Assignment {
        worker: "the hub".to_owned(),
        row: view.row,
        body,
    };
    for _ in 0..2 {
        let TaskChange::Entry(done) = entry(&held, 1, complete("once")) else {
            unreachable!("an entry")
        };
        let done = TaskChange::EntryOfHub(done);
        assert_eq!(apply_change(&*store, id, done).await, ChangeAnswer::Applied);
    }
    assert_eq!(store.plans().await.unwrap(), []);
    assert_log_replays(&*store, id).await;

    let plan = task(3, 0, &[PLAN_LABEL]);
    let id = plan.task_id;
    store.submit(plan).await.unwrap();
    let cancel = TaskChange::Lease(LeaseInput::Cancel {
        by: "a person".to_owned(),
        reason: String::new(),
    });
    assert_eq!(
        apply_change(&*store, id, cancel).await,
        ChangeAnswer::Applied
    );
    assert_eq!(store.plans().await.unwrap(), []);
    store.expire_due(false).await.unwrap();
    assert_eq!(store.plans().await.unwrap(), []);
}
