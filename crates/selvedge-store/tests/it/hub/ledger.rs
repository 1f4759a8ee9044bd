//! Tests of the cost ledger: distinct calls and unknown costs.

use selvedge_protocol::TaskState;
use selvedge_protocol::lease::LeaseRules;
use selvedge_store::hub::ChangeAnswer;

use super::fixture::{StoreFixture, apply_change, begin, entry, report, task, want};

/// Regression test: a fault test found that the cost appeared to be known and zero.
pub(super) async fn cost_of_attempt_closed_by_the_hub_is_unknown(fixture: StoreFixture) {
    let rules = LeaseRules {
        ttl_ms: 0,
        grace_ms: 0,
        max_losses: 0,
        ..LeaseRules::default()
    };
    let store = fixture.open_with(rules).await;
    let new = task(1, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let granted = store
        .assign_tasks(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    let mut first = entry(&granted, 1, begin(1));
    if let selvedge_store::hub::TaskChange::Entry(entry) = &mut first {
        entry.header.costs.clear();
    }
    assert_eq!(
        apply_change(&*store, id, first).await,
        ChangeAnswer::Applied
    );
    while store.task(id).await.unwrap().unwrap().0.row.lease.state != TaskState::Dead {
        store.expire_due(false).await.unwrap();
    }
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!((view.cost.calls, view.cost.unknown), (1, 1));
    // The worker's late cost report is counted too, and only once.
    for _ in 0..2 {
        let late = entry(&granted, 2, report(1, "{}"));
        assert!(matches!(
            apply_change(&*store, id, late).await,
            ChangeAnswer::Refused { .. }
        ));
    }
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!((view.cost.calls, view.cost.micro_usd.0), (2, 7));
}
