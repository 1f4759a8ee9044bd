//! A worker's `verified` counts only with a passing report of the last attempt, within the task's attempts.

use selvedge_core::model::Outcome;
use selvedge_protocol::{HubMessage, LeaseToken, RefusalCode, Scope, TaskResult, WorkerMessage};
use serde_json::{Value, json};

use crate::harness::{
    TestDatabase, TestHub, TestWorker, begin_run, complete, entry, hello, submit_report,
};

/// A step of a worker: an attempt that begins, or its report.
enum Step {
    Begin(u32),
    Report(u32, Value),
}

fn verified() -> TaskResult {
    TaskResult::without_run(Outcome::Verified, "all checks pass")
}

/// Sends the steps and then the result.
async fn hand_in(worker: &mut TestWorker, lease: &LeaseToken, steps: &[Step], result: TaskResult) {
    let mut seq = 0;
    for step in steps {
        seq += 1;
        let message = match step {
            Step::Begin(attempt) => begin_run(entry(lease, seq), *attempt),
            Step::Report(attempt, report) => {
                submit_report(entry(lease, seq), *attempt, report.clone())
            }
        };
        worker.send_acknowledged(&message, seq).await;
    }
    let last = complete(entry(lease, seq + 1), "once", result);
    worker.send_acknowledged(&last, seq + 1).await;
}

pub(crate) async fn verified_without_a_passing_report_needs_review(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    // The name of the hub itself permits nothing.
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("the hub")).await;
    let pass = |number: u32| json!({"run_number": number, "status": "pass"});
    let no_report = "attempt 1 has no passing report";
    let cases = [
        (vec![], "without an attempt"),
        (vec![Step::Begin(1)], no_report),
        (
            vec![Step::Begin(1), Step::Report(1, json!({"status": "fail"}))],
            no_report,
        ),
        (vec![Step::Begin(1), Step::Report(1, pass(7))], no_report),
        (
            vec![Step::Begin(1), Step::Report(1, pass(1)), Step::Begin(2)],
            "attempt 2 has no passing report",
        ),
    ];
    for (steps, reason) in cases {
        let task = json!({"description": "x", "max_verification_retries": 1});
        let task = hub.submit(&submit, &task).await;
        let lease = worker.next_assignment().await.lease;
        hand_in(&mut worker, &lease, &steps, verified()).await;
        let row = hub.wait_for_state(&task, &submit, &["needs_review"]).await;
        assert_eq!(row["outcome"], "needs_review", "{row}");
        assert!(row["reason"].as_str().unwrap().contains(reason), "{row}");
        let path = format!("/api/v1/tasks/{task}/result");
        let result = hub.get(&path, &submit).await.json();
        assert_eq!(result["outcome"], "needs_review", "{result}");
        assert_eq!(result["verification_status"], "needs_review", "{result}");
        assert_eq!(result["reason"], row["reason"]);
    }
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    let steps = [Step::Begin(1), Step::Report(1, pass(1))];
    hand_in(&mut worker, &lease, &steps, verified()).await;
    hub.wait_for_state(&task, &submit, &["succeeded"]).await;
}

pub(crate) async fn attempts_beyond_the_limit_are_refused(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    let begin = begin_run(entry(&lease, 1), 1);
    worker.send_acknowledged(&begin, 1).await;
    let report = submit_report(entry(&lease, 2), 1, json!({"status": "fail"}));
    worker.send_acknowledged(&report, 2).await;
    let answer = worker.request(&begin_run(entry(&lease, 3), 2)).await;
    let HubMessage::Refused { code, detail, .. } = answer else {
        panic!("not refused: {answer:?}")
    };
    assert_eq!(code, RefusalCode::Invalid);
    assert_eq!(detail, "no attempt is left: 1 of 1 are used");
    let failed = TaskResult::without_run(Outcome::MaxRetriesExhausted, "");
    let failed = complete(entry(&lease, 3), "once", failed);
    worker.send_acknowledged(&failed, 3).await;

    // All at once, in the way of older workers: nothing is lost, and a person decides.
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    let report = |number: u32| json!({"run_number": number, "status": "pass"});
    let result = TaskResult {
        verification_history: vec![report(1), report(2), report(u32::MAX)],
        ..verified()
    };
    hand_in(&mut worker, &lease, &[], result).await;
    let row = hub.wait_for_state(&task, &submit, &["needs_review"]).await;
    assert_eq!(
        row["reason"],
        "its worker reported `verified` after 3 verified attempts; the task permits 1"
    );
    let path = format!("/api/v1/tasks/{task}/reports");
    let reports = hub.get(&path, &submit).await.json();
    assert_eq!(reports["reports"], json!([report(1)]));
    let late = hub.hub.store().late_reports(lease.task_id).await.unwrap();
    assert_eq!(late.len(), 2);
}

pub(crate) async fn reports_in_result_are_stored(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let report = |number: u32, status: &str| json!({"run_number": number, "status": status});
    let (fail, pass) = (report(1, "fail"), report(2, "pass"));
    let cases = [
        (
            json!({"verification_report": pass, "verification_history": [fail, pass]}),
            json!([fail, pass]),
            json!(["report", "report"]),
            "verified",
        ),
        (
            json!({"verification_report": {"status": "pass"}}),
            json!([{"status": "pass"}]),
            json!(["report"]),
            "verified",
        ),
        (
            json!({"verification_report": pass}),
            json!([pass]),
            json!(["interrupted", "report"]),
            "verified",
        ),
        (
            json!({"verification_report": {"status": "skip"}}),
            json!([{"status": "skip"}]),
            json!(["report"]),
            "unchecked",
        ),
    ];
    for (mut message, reports, closings, outcome) in cases {
        let task = json!({"description": "x", "max_verification_retries": 1});
        let task = hub.submit(&submit, &task).await;
        let lease = worker.next_assignment().await.lease;
        let common = json!({
            "type": "task_complete", "task_id": lease.task_id, "lease_epoch": lease.lease_epoch,
            "lease_token": lease.lease_token, "seq": 1, "completion_id": "once",
            "status": "completed", "outcome": "verified", "verification_status": "verified",
        });
        let fields = message.as_object_mut().unwrap();
        fields.extend(common.as_object().unwrap().clone());
        let message: WorkerMessage = serde_json::from_value(message).unwrap();
        for _ in 0..2 {
            worker.send_acknowledged(&message, 1).await;
        }
        let row = hub.wait_for_state(&task, &submit, &["succeeded"]).await;
        assert_eq!(row["outcome"], outcome, "{row}");
        let get = async |what: &str| {
            let path = format!("/api/v1/tasks/{task}/{what}");
            hub.get(&path, &submit).await.json()
        };
        assert_eq!(get("reports").await["reports"], reports);
        let runs = get("runs").await["runs"].take();
        let ends: Vec<&Value> = runs
            .as_array()
            .unwrap()
            .iter()
            .map(|run| &run["closing"])
            .collect();
        assert_eq!(json!(ends), closings);
    }
}
