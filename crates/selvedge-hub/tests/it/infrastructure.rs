//! Infrastructure failures: delays, dead tasks, and workers that fail again and again.

use std::time::Duration;

use selvedge_core::model::{Outcome, RunId, TaskId, Timestamp};
use selvedge_hub::{HubSettings, QuarantineRules};
use selvedge_protocol::{LeaseTiming, Scope, TaskAssign, TaskRelease, TaskResult, WorkerMessage};
use selvedge_store::hub::NewTask;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, complete, entry, hello};

async fn hub(database: TestDatabase, change: impl FnOnce(&mut HubSettings)) -> TestHub {
    let mut settings = HubSettings {
        timing: LeaseTiming::of_ttl(TEST_TIMEOUT * 10),
        requests_per_second: 1_000_000,
        ..HubSettings::default()
    };
    change(&mut settings);
    TestHub::with_settings(settings, database).await
}

/// The worker's infrastructure fails before the task has begun.
async fn fail(worker: &mut TestWorker, assign: &TaskAssign) {
    let release = WorkerMessage::TaskRelease {
        entry: entry(&assign.lease, 1),
        effect: TaskRelease {
            reason: "no space left on device".to_owned(),
            charged: true,
            declined: false,
        },
    };
    worker.send_acknowledged(&release, 1).await;
}

pub(crate) async fn failing_worker_is_quarantined(database: TestDatabase) {
    let hub = hub(database, |settings| {
        settings.infra_retries = 0;
        settings.quarantine = QuarantineRules {
            failures: 2,
            pause: Duration::from_hours(1),
            max_pause: Duration::from_hours(1),
        };
    })
    .await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    for _ in 0..2 {
        hub.submit(&submit, &json!({"description": "x"})).await;
        let assign = worker.next_assignment().await;
        fail(&mut worker, &assign).await;
    }
    let workers = hub.get("/api/v1/workers", &submit).await.json();
    let quarantine = &workers["workers"][0]["quarantine"];
    let reason =
        "infrastructure failures in 2 tasks in a row; the last one: no space left on device";
    assert_eq!(quarantine["reason"], reason, "{workers}");
    assert!(quarantine["until"].is_string());
    // Readers of another project do not see the text of a task.
    let admin = hub.token(&[Scope::Admin]).await;
    let web = json!({"name": "web"});
    assert_eq!(hub.post("/api/v1/projects", &admin, &web).await.status, 201);
    let web = hub.token_of("web", &[Scope::Submit]).await;
    let task = hub.submit(&web, &json!({"description": "x"})).await;
    let cookie = crate::access::sign_in(&hub, &web).await;
    let headers = format!("Cookie: {cookie}\r\n");
    for page in [
        hub.get("/api/v1/workers", &web).await,
        hub.get(&format!("/api/v1/tasks/{task}"), &web).await,
        hub.request("GET", "/fleet", None, &headers, b"").await,
    ] {
        let (shown, hidden) = ("in 2 tasks in a row", "no space left on device");
        assert!(page.body.contains(shown), "{page:?}");
        assert!(!page.body.contains(hidden), "{page:?}");
    }
    hub.post(&format!("/api/v1/tasks/{task}/cancel"), &web, &json!({}))
        .await;
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let path = format!("/api/v1/tasks/{task}");
    let waiting = hub.get(&path, &submit).await.json();
    let why = waiting["unplaceable"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("every suitable worker is quarantined; worker `first` until"),
        "{waiting}"
    );
    // It stays quarantined after it has connected again; the task goes to another worker.
    drop(worker);
    let (_again, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    let (mut second, _) = TestWorker::connect(&hub, &token, &hello("second")).await;
    let assign = second.next_assignment().await;
    assert_eq!(assign.lease.task_id.to_string(), task);
}

pub(crate) async fn failed_runs_in_one_repository_blame_no_worker(database: TestDatabase) {
    let hub = hub(database, |_| {}).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    let mut fail_in = async |repository: &str, run_id: Option<RunId>| {
        let task = json!({"description": "x", "repository": repository});
        hub.submit(&submit, &task).await;
        let lease = worker.next_assignment().await.lease;
        let result = TaskResult {
            run_id,
            ..TaskResult::without_run(Outcome::InfraFailed, "the setup failed")
        };
        let done = complete(entry(&lease, 1), "c", result);
        worker.send_acknowledged(&done, 1).await;
        hub.get("/api/v1/workers", &submit).await.json()
    };
    let run = Some(RunId::new(Uuid::from_u128(1)));
    for number in 0..4 {
        // Without a run, the task can succeed on no worker.
        fail_in(&format!("https://example.org/missing-{number}"), None).await;
        let workers = fail_in("https://example.org/broken", run).await;
        assert_eq!(workers["workers"][0].get("quarantine"), None, "{workers}");
    }
    fail_in("https://example.org/second", run).await;
    let workers = fail_in("https://example.org/third", run).await;
    let reason = workers["workers"][0]["quarantine"]["reason"].as_str();
    let reason = reason.unwrap_or_else(|| panic!("no quarantine: {workers}"));
    assert!(reason.ends_with("the setup failed"), "{reason}");
}

pub(crate) async fn retry_follows_the_current_rules(database: TestDatabase) {
    let hub = hub(database, |_| {}).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let allowed = hub.submit(&submit, &json!({"description": "x"})).await;
    // Another hub accepted the task, or this one before it was restarted with `--agents`.
    let refused = TaskId::new(Uuid::now_v7());
    let body = json!({"task_id": refused, "description": "x", "agent": "removed"});
    let new = NewTask {
        task_id: refused,
        project: "default".to_owned(),
        submitted_by: "test".to_owned(),
        person: None,
        actor: None,
        retry_of: None,
        part_of: None,
        title: "x".to_owned(),
        agent: Some("removed".to_owned()),
        place: None,
        priority: 0,
        labels: Vec::new(),
        max_attempts: 1,
        body: body.to_string(),
        idempotency: None,
    };
    hub.hub.store().submit(new).await.unwrap();
    for task in [&allowed, &refused.to_string()] {
        let path = format!("/api/v1/tasks/{task}/cancel");
        assert_eq!(hub.post(&path, &submit, &json!({})).await.status, 202);
    }
    let path = format!("/api/v1/tasks/{refused}/retry");
    let single = hub.post(&path, &submit, &json!({})).await;
    assert_eq!(single.status, 422, "{single:?}");
    assert_eq!(single.json()["errors"][0]["field"], "agent");
    let body = json!({"states": ["cancelled"]});
    let bulk = hub.post("/api/v1/tasks/retry", &submit, &body).await.json();
    let error = bulk["tasks"][0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("agent: unknown agent `removed`"),
        "{error}"
    );
    assert_eq!(bulk["tasks"][1]["task_id"], allowed.as_str());
    assert!(bulk["tasks"][1]["new_task_id"].is_string(), "{bulk}");
}

pub(crate) async fn infrastructure_failure_delays_the_task(database: TestDatabase) {
    let hub = hub(database, |_| {}).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    let task = hub.submit(&submit, &json!({"description": "x"})).await;
    let assign = worker.next_assignment().await;
    fail(&mut worker, &assign).await;
    let row = hub.wait_for_state(&task, &submit, &["backoff"]).await;
    assert_eq!(
        row["reason"],
        "worker `first`: infrastructure failure: no space left on device"
    );
    let time = |field: &str| -> Timestamp { row[field].as_str().unwrap().parse().unwrap() };
    let delay = time("resumes_at").duration_since(time("updated_at"));
    assert!((60..=72).contains(&delay.as_secs()), "{row}");
    assert_eq!(row["infra_losses"], 1);
}

pub(crate) async fn dead_tasks_are_retried_in_bulk_once(database: TestDatabase) {
    let hub = hub(database, |settings| settings.infra_retries = 0).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("first")).await;
    let mut dead = Vec::new();
    for label in ["linux", "linux", ""] {
        let labels: Vec<&str> = Some(label)
            .filter(|label| !label.is_empty())
            .into_iter()
            .collect();
        let task = json!({"description": "x", "labels": labels});
        let task = hub.submit(&submit, &task).await;
        let assign = worker.next_assignment().await;
        fail(&mut worker, &assign).await;
        let row = hub.wait_for_state(&task, &submit, &["dead"]).await;
        let worker_name = row["worker"].as_str().unwrap();
        let reason = format!(
            "given up after 1 infrastructure failure; the last one: worker `{worker_name}`: \
             infrastructure failure: no space left on device"
        );
        assert_eq!(row["reason"], reason);
        dead.push(task);
        if dead.len() == 2 {
            // The next failure would be the third in a row.
            let (again, _) = TestWorker::connect(&hub, &token, &hello("other")).await;
            worker = again;
        }
    }
    let retry = async |body: Value| hub.post("/api/v1/tasks/retry", &submit, &body).await;
    let open = retry(json!({"states": ["running"]})).await;
    assert_eq!(open.status, 422, "{open:?}");
    let unknown = retry(json!({"state": "dead"})).await;
    assert_eq!(
        unknown.status, 422,
        "a misspelt filter must not select everything"
    );
    let some = retry(json!({"label": "linux"})).await.json();
    assert_eq!(some["tasks"].as_array().unwrap().len(), 2, "{some}");
    let new = some["tasks"][0]["new_task_id"].as_str().unwrap();
    let row = hub
        .get(&format!("/api/v1/tasks/{new}"), &submit)
        .await
        .json();
    assert_eq!(row["retry_of"], dead[1].as_str());
    // Tasks that were retried singly are not retried again; nor are, after the retention, tasks that were retried in
    // bulk.
    let path = format!("/api/v1/tasks/{}/retry", dead[2]);
    assert_eq!(hub.post(&path, &submit, &json!({})).await.status, 201);
    let store = hub.hub.store();
    while store.purge_expired(-1_000, 1_000).await.unwrap() > 0 {}
    let none = retry(json!({})).await.json();
    assert_eq!(none["tasks"], json!([]));
}
