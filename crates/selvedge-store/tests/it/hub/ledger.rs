//! The ledger of costs: distinct calls, and what nobody knows.

use selvedge_core::fleet::TaskState;
use selvedge_core::lease::Rules;
use selvedge_store::hub::{Answer, Step};

use super::stage::{Stage, entry, report, task, told, want};

/// A fault test found that it looked known, and as if it had cost nothing.
pub(super) async fn a_run_that_the_hub_closes_alone_costs_what_nobody_knows(stage: Stage) {
    let rules = Rules {
        ttl_ms: 0,
        grace_ms: 0,
        max_losses: 0,
        ..Rules::default()
    };
    let store = stage.open_with(rules).await;
    let new = task(1, 0, &[]);
    let id = new.task_id;
    store.submit(new).await.unwrap();
    let granted = store
        .grant(vec![want("w", 1, &[])])
        .await
        .unwrap()
        .remove(0);
    let mut begin = entry(&granted, 1, Step::Begin(1));
    if let selvedge_store::hub::Change::Entry(entry) = &mut begin {
        entry.header.costs.clear();
    }
    assert_eq!(told(&*store, id, begin).await, Answer::Done);
    while store.task(id).await.unwrap().unwrap().0.row.lease.state != TaskState::Dead {
        store.sweep(false).await.unwrap();
    }
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!((view.cost.calls, view.cost.unknown), (1, 1));
    // What its worker tells too late counts besides, and once.
    for _ in 0..2 {
        let late = entry(&granted, 2, report(1, "{}"));
        assert!(matches!(
            told(&*store, id, late).await,
            Answer::Refused { .. }
        ));
    }
    let (view, _) = store.task(id).await.unwrap().unwrap();
    assert_eq!((view.cost.calls, view.cost.micro_usd.0), (2, 7));
}
