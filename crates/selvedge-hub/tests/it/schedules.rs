//! Tests of schedules: missed times, several hubs, and decisions about them.

use selvedge_protocol::Scope;
use selvedge_store::hub::{AuditActor, NewSchedule, ScheduleStore};
use selvedge_testkit::Polling;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{TEST_TIMEOUT, TestDatabase, TestHub};

/// The token that created the schedules.
const PLANNER: Uuid = Uuid::from_u128(7);

/// A schedule that was due long ago, and many times since.
fn missed(name: &str, body: &Value) -> NewSchedule {
    NewSchedule {
        schedule_id: Uuid::now_v7(),
        project: "default".to_owned(),
        name: name.to_owned(),
        cron: "0 0 1 1 *".to_owned(),
        body: body.to_string(),
        created_by: AuditActor {
            token_id: Some(PLANNER),
            ..AuditActor::on_database("planner")
        },
        next_at: 1_000_000,
    }
}

async fn list(hub: &TestHub, token: &str) -> Vec<Value> {
    let page = hub.get("/api/v1/schedules", token).await.json();
    page["schedules"].as_array().unwrap().clone()
}

pub(crate) async fn schedule_submits_one_task_for_all_missed_times(database: TestDatabase) {
    const SCHEDULES: usize = 10;
    let hub = TestHub::with_database(database.clone()).await;
    let other = match &database {
        TestDatabase::File(_) => None,
        TestDatabase::Server(_) => Some(TestHub::with_database(database).await),
    };
    let token = hub.token(&[Scope::Submit]).await;
    let store: &dyn ScheduleStore = hub.hub.store().as_ref();
    let task = json!({"description": "x", "labels": ["nowhere"]});
    for number in 0..SCHEDULES {
        let schedule = missed(&format!("{number}"), &task);
        store.insert_schedule(schedule).await.unwrap();
    }
    let refused = missed("refused", &json!({"description": "x", "agent": "nobody"}));
    store.insert_schedule(refused).await.unwrap();
    let mut unreadable = missed("unreadable", &task);
    "every night".clone_into(&mut unreadable.cron);
    store.insert_schedule(unreadable).await.unwrap();

    let mut polling = Polling::new(TEST_TIMEOUT);
    let schedules = loop {
        let schedules = list(&hub, &token).await;
        if schedules.iter().all(|it| it["last"].is_object()) {
            break schedules;
        }
        assert!(polling.pause_async().await, "{schedules:?}");
    };
    drop(other);
    let page = hub.get("/api/v1/tasks?limit=100", &token).await.json();
    let tasks = page["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), SCHEDULES, "{page}");
    let admin = hub.token(&[Scope::Admin]).await;
    let path = "/api/v1/audit?action=task.submit&actor=planner";
    let submitted = hub.get(path, &admin).await.json();
    assert_eq!(submitted["entries"].as_array().unwrap().len(), SCHEDULES);
    let by = &submitted["entries"][0];
    assert_eq!(
        (&by["token_id"], &by["channel"]),
        (&json!(PLANNER), &json!("schedule"))
    );
    let now = jiff::Timestamp::now();
    for schedule in &schedules {
        if schedule["name"] == "unreadable" {
            let error = schedule["last"]["error"].as_str().unwrap();
            assert!(
                error.starts_with("paused: invalid cron expression"),
                "{error}"
            );
            assert_eq!(schedule.get("next_at"), None);
            continue;
        }
        let next: jiff::Timestamp = schedule["next_at"].as_str().unwrap().parse().unwrap();
        assert!(next > now, "{schedule}");
        if schedule["name"] == "refused" {
            let error = schedule["last"]["error"].as_str().unwrap();
            assert!(error.contains("nobody"), "{error}");
        } else {
            let id = &schedule["last"]["task_id"];
            assert!(tasks.iter().any(|task| task["task_id"] == *id));
        }
    }
}

pub(crate) async fn schedule_is_validated_paused_resumed_and_removed(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let token = hub.token(&[Scope::Submit]).await;
    let task = json!({"description": "x", "labels": ["nowhere"]});
    for (cron, task, field) in [
        ("61 * * * *", task.clone(), "cron"),
        ("0 3 * * * Nowhere/Town", task.clone(), "cron"),
        ("0 3 * * *", json!({"description": 1}), "description"),
    ] {
        let body = json!({"name": "x", "cron": cron, "task": task});
        let answer = hub.post("/api/v1/schedules", &token, &body).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert_eq!(answer.json()["errors"][0]["field"], field);
    }
    let misspelt = json!({"description": "x", "labels": ["nowhere"], "priorty": 9});
    let body = json!({"name": "nightly", "cron": "0 3 * * * Europe/Berlin", "task": misspelt});
    let created = hub.post("/api/v1/schedules", &token, &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let created = created.json();
    assert_eq!(created["task"], misspelt);
    assert_eq!(
        created["warnings"],
        json!(["priorty: unknown field, ignored"])
    );
    let path = format!("/api/v1/schedules/{}", created["id"].as_str().unwrap());

    hub.post(&format!("{path}/pause"), &token, &json!({})).await;
    // Nothing changes, so nothing is recorded.
    let paused = hub.post(&format!("{path}/pause"), &token, &json!({})).await;
    assert_eq!(paused.json().get("next_at"), None);
    assert_eq!(list(&hub, &token).await[0].get("next_at"), None);
    let resumed = hub
        .post(&format!("{path}/resume"), &token, &json!({}))
        .await;
    assert_eq!(resumed.json()["next_at"], created["next_at"]);
    let foreign = hub.token_of("other", &[Scope::Submit]).await;
    let hidden = hub.request("DELETE", &path, Some(&foreign), "", b"").await;
    assert_eq!(hidden.status, 404);
    let removed = hub.request("DELETE", &path, Some(&token), "", b"").await;
    assert_eq!(removed.status, 204);
    assert!(list(&hub, &token).await.is_empty());
    let admin = hub.token(&[Scope::Admin]).await;
    let about = format!("subject={}", created["id"].as_str().unwrap());
    let recorded = hub.audit_entries(&about, &admin, 4).await;
    let actions: Vec<_> = recorded.iter().map(|entry| &entry["action"]).collect();
    assert_eq!(
        actions,
        [
            "schedule.create",
            "schedule.pause",
            "schedule.resume",
            "schedule.delete"
        ]
    );
    assert!(recorded.iter().all(|entry| entry["detail"] == "nightly"));
}
