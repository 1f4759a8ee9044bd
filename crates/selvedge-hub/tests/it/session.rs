//! Tests of a worker's session from the offer to the end, including failures.

use selvedge_core::model::{Cost, CostSource, MicroUsd, Outcome, Usage};
use selvedge_protocol::{
    CostEntry, HeldLease, HubMessage, RefusalCode, RenewalResult, Scope, TaskResult, WorkerMessage,
};
use serde_json::json;

use crate::harness::{
    TestDatabase, TestHub, TestWorker, begin_run, complete, entry, hello, submit_report,
};

fn refusal(message: &HubMessage) -> Option<RefusalCode> {
    match message {
        HubMessage::Refused { code, .. } => Some(*code),
        _ => None,
    }
}

pub(crate) async fn entries_sent_at_once_are_written_in_order(database: TestDatabase) {
    const ENTRIES: u64 = 3_000;
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    for seq in 1..=ENTRIES {
        let progress = WorkerMessage::TaskProgress(entry(&lease, seq));
        worker.send(&progress).await;
    }
    let mut acknowledged = 0;
    while acknowledged < ENTRIES {
        match worker.next().await {
            HubMessage::Renewed { .. } => {}
            HubMessage::Ack { seq, .. } if seq == acknowledged + 1 => acknowledged = seq,
            answer => panic!("after entry {acknowledged}: {answer:?}"),
        }
    }
}

pub(crate) async fn task_is_assigned_reported_and_completed_once(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let task = hub
        .submit(&submit, &json!({"description": "x", "labels": ["linux"]}))
        .await;
    let assign = worker.next_assignment().await;
    let lease = assign.lease;
    assert_eq!(lease.task_id.to_string(), task);

    let begin = begin_run(entry(&lease, 1), 1);
    worker.send_acknowledged(&begin, 1).await;
    // Repeating it is harmless.
    worker.send_acknowledged(&begin, 1).await;
    let mut costs = entry(&lease, 2);
    costs.events = vec![
        json!({"v": 1, "run_id": lease.task_id, "seq": 1, "at": "2026-01-01T00:00:00Z", "type": "later", "data": {"b": 0.1, "a": 1}}),
    ];
    costs.costs = vec![CostEntry {
        attempt_number: 1,
        call_id: "session".to_owned(),
        cost: Cost {
            micro_usd: Some(MicroUsd(42)),
            source: CostSource::Reported,
        },
        usage: Usage::default(),
        model: None,
    }];
    let report = submit_report(costs, 1, json!({"z": 1, "status": "pass", "a": [0.1, 2]}));
    worker.send_acknowledged(&report, 2).await;
    worker.send_acknowledged(&report, 2).await;
    let mut other = report.clone();
    if let WorkerMessage::SubmitReport { effect, .. } = &mut other {
        effect.report = json!({"status": "fail"});
    }
    assert_eq!(
        refusal(&worker.request(&other).await),
        Some(RefusalCode::Conflict)
    );
    let gap = WorkerMessage::TaskProgress(entry(&lease, 9));
    assert_eq!(refusal(&worker.request(&gap).await), Some(RefusalCode::Gap));
    let complete = complete(
        entry(&lease, 3),
        "once",
        TaskResult::without_run(Outcome::Verified, "all good"),
    );
    worker.send_acknowledged(&complete, 3).await;
    // The same id gets the same answer.
    worker.send_acknowledged(&complete, 3).await;

    let row = hub.wait_for_state(&task, &submit, &["succeeded"]).await;
    assert_eq!(
        (&row["cost"]["micro_usd"], &row["attempts"]),
        (&json!(42), &json!(1))
    );
    let stored = hub
        .get(&format!("/api/v1/tasks/{task}/reports/1"), &submit)
        .await;
    assert_eq!(
        stored.body, r#"{"z":1,"status":"pass","a":[0.1,2]}"#,
        "byte for byte"
    );
    let latest = hub
        .get(&format!("/api/v1/tasks/{task}/reports/latest"), &submit)
        .await;
    assert_eq!(latest.body, stored.body);
    let result = hub
        .get(&format!("/api/v1/tasks/{task}/result"), &submit)
        .await
        .json();
    assert_eq!(result["outcome"], "verified");
    let stream = hub
        .get(&format!("/api/v1/tasks/{task}/events"), &submit)
        .await
        .body;
    assert!(
        stream.contains("event: journal") && stream.contains("id: 1"),
        "{stream}"
    );
    assert!(stream.contains(r#""data":{"b":0.1,"a":1}"#), "{stream}");
    assert!(stream.contains("event: state"), "{stream}");
    let path = format!("/api/v1/tasks/{task}/events");
    let after = "Last-Event-ID: 1\r\n";
    let resumed = hub.request("GET", &path, Some(&submit), after, b"").await;
    assert!(!resumed.body.contains("event: journal"));
    let log = hub
        .get(&format!("/api/v1/tasks/{task}/log"), &submit)
        .await
        .json();
    let kinds: Vec<_> = log["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["event"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "submitted",
            "granted",
            "accepted",
            "run_begun",
            "run_closed",
            "completed",
            "ended"
        ]
    );
}

pub(crate) async fn lost_lease_goes_to_another_worker_and_rejects_the_first(
    database: TestDatabase,
) {
    let hub = TestHub::with_short_leases(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut first, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = first.next_assignment().await.lease;
    let begin = begin_run(entry(&lease, 1), 1);
    first.send_acknowledged(&begin, 1).await;
    // The worker disconnects; the hub waits for the TTL and a third before it assigns the task to another one.
    drop(first);
    let (mut second, _) = TestWorker::connect(&hub, &token, &hello("second")).await;
    let assign = second.next_assignment().await;
    assert_eq!(
        (
            assign.lease.lease_epoch,
            assign.last_attempt_number,
            assign.infra_losses
        ),
        (2, 1, 1)
    );
    let begin = begin_run(entry(&assign.lease, 1), 2);
    second.send_acknowledged(&begin, 1).await;
    let report = submit_report(entry(&lease, 2), 1, json!({"status": "pass"}));
    let (mut first, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    assert_eq!(
        refusal(&first.request(&report).await),
        Some(RefusalCode::Stale)
    );
    let none = hub
        .get(&format!("/api/v1/tasks/{task}/reports"), &submit)
        .await
        .json();
    assert_eq!(none["reports"], json!([]), "late evidence is no state");
    let runs = hub
        .get(&format!("/api/v1/tasks/{task}/runs"), &submit)
        .await
        .json();
    assert_eq!(runs["runs"][0]["closing"], "interrupted");
}

pub(crate) async fn hub_restart_keeps_leases_and_delivers_cancellation(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    let begin = begin_run(entry(&lease, 1), 1);
    worker.send_acknowledged(&begin, 1).await;
    drop(worker);
    let hub = hub.restart().await;
    let path = format!("/api/v1/tasks/{task}/cancel");
    let cancelling = hub
        .post(&path, &submit, &json!({"reason": "enough"}))
        .await
        .json();
    assert_eq!(cancelling["state"], "cancelling");
    let mut back = hello("one");
    back.held = vec![HeldLease {
        lease: lease.clone(),
        attempt_number: 1,
        last_seq: 1,
    }];
    let (mut worker, welcome) = TestWorker::connect(&hub, &token, &back).await;
    let HubMessage::Welcome { answers, .. } = welcome else {
        panic!("no welcome: {welcome:?}")
    };
    let RenewalResult::Keep {
        next_seq, cancel, ..
    } = &answers[0].verdict
    else {
        panic!("not kept: {answers:?}")
    };
    assert_eq!((*next_seq, cancel.as_deref()), (2, Some("enough")));
    let complete = complete(
        entry(&lease, 2),
        "once",
        TaskResult::without_run(Outcome::Cancelled, "as was wished"),
    );
    worker.send_acknowledged(&complete, 2).await;
    hub.wait_for_state(&task, &submit, &["cancelled"]).await;
}

pub(crate) async fn lease_that_is_not_kept_uses_no_slot(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    let complete = complete(
        entry(&lease, 1),
        "once",
        TaskResult::without_run(Outcome::Failed, "it did not work"),
    );
    worker.send_acknowledged(&complete, 1).await;
    drop(worker);
    // The worker did not receive the acknowledgement, and still believes that it holds the task.
    let mut back = hello("one");
    back.held = vec![HeldLease {
        lease,
        attempt_number: 0,
        last_seq: 1,
    }];
    let (_worker, _) = TestWorker::connect(&hub, &token, &back).await;
    let workers = hub.get("/api/v1/workers", &submit).await.json();
    assert_eq!(workers["workers"][0]["tasks"], json!([]));
}

pub(crate) async fn silent_worker_does_not_block_tasks(database: TestDatabase) {
    let hub = TestHub::with_short_leases(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    // They differ only in their names, by which the silent one comes first.
    let (_silent, _) = TestWorker::connect(&hub, &token, &hello("a")).await;
    let (mut other, _) = TestWorker::connect(&hub, &token, &hello("b")).await;
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let assign = other.next_assignment().await;
    assert_eq!(assign.lease.task_id.to_string(), task);
}
