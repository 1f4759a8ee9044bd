//! Tests of the probes: readiness, and metrics.

use selvedge_core::model::Outcome;
use selvedge_protocol::{Scope, TaskResult};
use selvedge_testkit::Polling;
use serde_json::json;

use crate::harness::{
    TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, begin_run, complete, entry, hello,
    submit_report,
};

#[tokio::test(flavor = "multi_thread")]
async fn readiness_fails_when_the_database_is_gone() {
    let database = TestDatabase::sqlite();
    let hub = TestHub::with_database(database.clone()).await;
    let ready = async || {
        // A probe uses the address, whatever the hub's name is.
        let request = "GET /readyz HTTP/1.1\r\nHost: 10.0.0.9\r\nConnection: close\r\n\r\n";
        hub.raw(request, b"").await
    };
    assert_eq!(ready().await.status, 200);
    let TestDatabase::File(directory) = &database else {
        unreachable!("a file")
    };
    std::fs::remove_file(directory.path().join("hub.db")).unwrap();
    // A result is reused for a moment.
    let mut polling = Polling::new(TEST_TIMEOUT);
    loop {
        let answer = ready().await;
        if answer.status == 503 {
            assert!(answer.body.contains("cannot write"), "{answer:?}");
            assert!(!answer.body.contains("hub.db"), "{answer:?}");
            return;
        }
        assert!(polling.pause_async().await, "never 503");
    }
}

pub(crate) async fn counters_never_decrease_and_separate_accepted_work(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let counters = async || {
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: 10.0.0.9\r\nConnection: close\r\nAuthorization: Bearer {submit}\r\n\r\n"
        );
        let text = hub.raw(&request, b"").await.body;
        let lines = text.lines().filter(|line| line.contains("_total"));
        let lines = lines.filter(|line| !line.starts_with('#'));
        let pairs = lines.map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse::<u64>().unwrap())
        });
        pairs.collect::<std::collections::BTreeMap<_, _>>()
    };
    // Alerts compare with series that exist before anything happened.
    let first = counters().await;
    for outcome in Outcome::ALL {
        let series = format!(
            "selvedge_task_outcomes_total{{outcome=\"{}\"}}",
            outcome.as_str()
        );
        assert_eq!(first.get(&series), Some(&0), "{series}");
    }
    let mut seen = vec![first];
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let new = json!({"description": "x", "max_verification_retries": 2});
    let task = hub.submit(&submit, &new).await;
    let lease = worker.next_assignment().await.lease;
    for (attempt, seq) in [(1, 1), (2, 3)] {
        worker
            .send_acknowledged(&begin_run(entry(&lease, seq), attempt), seq)
            .await;
        seen.push(counters().await);
        let status = if attempt == 1 { "fail" } else { "pass" };
        let report = json!({"run_number": attempt, "status": status});
        let report = submit_report(entry(&lease, seq + 1), attempt, report);
        worker.send_acknowledged(&report, seq + 1).await;
        seen.push(counters().await);
    }
    let result = TaskResult::without_run(Outcome::NeedsReview, "look at it");
    worker
        .send_acknowledged(&complete(entry(&lease, 5), "done", result), 5)
        .await;
    seen.push(counters().await);
    let accept = json!({"decision": "accept", "attempt": 2});
    let path = format!("/api/v1/tasks/{task}/review");
    assert_eq!(hub.post(&path, &submit, &accept).await.status, 200);
    seen.push(counters().await);
    for pair in seen.windows(2) {
        for (name, before) in &pair[0] {
            let after = pair[1].get(name).copied().unwrap_or_default();
            assert!(after >= *before, "{name}: {before}, then {after}");
        }
    }
    let last = seen.last().unwrap();
    let value = |name: &str| last.get(name).copied();
    assert_eq!(
        value("selvedge_retries_total{reason=\"verification\"}"),
        Some(1)
    );
    assert_eq!(
        value("selvedge_task_outcomes_total{outcome=\"accepted\"}"),
        Some(1)
    );
    assert_eq!(
        value("selvedge_task_outcomes_total{outcome=\"verified\"}"),
        Some(0)
    );
}
