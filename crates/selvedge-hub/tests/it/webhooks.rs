//! Tests of webhooks: signatures, repetition, filters, addresses, and two hubs on one database.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use selvedge_core::model::Outcome;
use selvedge_hub::HubSettings;
use selvedge_protocol::{Scope, TaskResult};
use selvedge_testkit::{HttpReceiver, Polling, Postgres, ReceivedRequest};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::harness::{TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, complete, entry, hello};

fn settings() -> HubSettings {
    HubSettings {
        webhooks_allow_private: true,
        webhook_retry: Duration::from_millis(20),
        requests_per_second: 1_000_000,
        ..HubSettings::default()
    }
}

/// Creates a webhook; returns its id and its secret.
async fn add(hub: &TestHub, token: &str, webhook: &Value) -> (String, Vec<u8>) {
    let answer = hub.post("/api/v1/webhooks", token, webhook).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let issued = answer.json();
    let secret = issued["secret"].as_str().unwrap();
    let secret = STANDARD.decode(secret.strip_prefix("whsec_").unwrap());
    (issued["id"].as_str().unwrap().to_owned(), secret.unwrap())
}

async fn cancel(hub: &TestHub, token: &str, task: &str) {
    let path = format!("/api/v1/tasks/{task}/cancel");
    let answer = hub.post(&path, token, &json!({"reason": "enough"})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// Waits for the webhook's deliveries to be as expected.
async fn wait_for_deliveries(
    hub: &TestHub,
    token: &str,
    webhook: &str,
    expected: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let mut polling = Polling::new(TEST_TIMEOUT);
    let path = format!("/api/v1/webhooks/{webhook}/deliveries?limit=500");
    loop {
        let page = hub.get(&path, token).await.json();
        let deliveries = page["deliveries"].as_array().unwrap();
        if expected(deliveries) {
            return deliveries.clone();
        }
        assert!(polling.pause_async().await, "never so: {page}");
    }
}

fn next(receiver: &HttpReceiver) -> ReceivedRequest {
    tokio::task::block_in_place(|| receiver.next_request())
}

fn assert_signed(request: &ReceivedRequest, secret: &[u8]) {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    let (id, time) = (
        request.header("webhook-id"),
        request.header("webhook-timestamp"),
    );
    mac.update(format!("{id}.{time}.{}", request.body).as_bytes());
    let signature = request.header("webhook-signature");
    let code = STANDARD.decode(signature.strip_prefix("v1,").unwrap());
    mac.verify_slice(&code.unwrap()).expect("a valid signature");
}

pub(crate) async fn webhook_is_signed_and_repeated_until_accepted(database: TestDatabase) {
    let receiver = HttpReceiver::start();
    let hub = TestHub::with_settings(settings(), database).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let url = format!("{}/hook", receiver.url());
    let (webhook, secret) = add(&hub, &admin, &json!({"name": "ci", "url": url})).await;

    let worker_token = hub.token(&[Scope::Worker]).await;
    let description = "fix <!channel> & more";
    let task = hub
        .submit(&admin, &json!({"description": description}))
        .await;
    let (mut worker, _) = TestWorker::connect(&hub, &worker_token, &hello("one")).await;
    let lease = worker.next_assignment().await.lease;
    let result = TaskResult::without_run(Outcome::Failed, "it broke");
    let done = complete(entry(&lease, 1), "c", result);
    worker.send_acknowledged(&done, 1).await;
    drop(worker);

    let first = next(&receiver);
    assert_signed(&first, &secret);
    let id = first.header("webhook-id").to_owned();
    let message: Value = serde_json::from_str(&first.body).unwrap();
    assert_eq!(message["type"], "task.finished");
    let data = &message["data"];
    assert_eq!(data["task_id"], task.as_str());
    assert_eq!(
        (&data["state"], &data["outcome"], &data["reason"]),
        (
            &json!("failed"),
            &json!(Outcome::Failed.as_str()),
            &json!("it broke")
        )
    );
    assert_eq!(data["description"], description);
    assert_eq!(data["url"], format!("http://{}/tasks/{task}", hub.host));
    first.respond(500);
    // A redirect is a failure: it is not followed.
    let second = next(&receiver);
    assert_signed(&second, &secret);
    assert_eq!(second.header("webhook-id"), id);
    second.respond(302);
    let third = next(&receiver);
    assert_signed(&third, &secret);
    assert_eq!(third.header("webhook-id"), id);
    third.respond(204);

    let delivered = wait_for_deliveries(&hub, &admin, &webhook, |all| {
        all.len() == 1 && all[0]["state"] == "delivered"
    })
    .await;
    let tries = delivered[0]["tries"].as_array().unwrap();
    let statuses: Vec<_> = tries.iter().map(|it| it["status"].as_u64()).collect();
    assert_eq!(statuses, [Some(500), Some(302), Some(204)]);
    assert_eq!(delivered[0]["id"], id);

    // A hub that stops while a request is open, and one that continues.
    let task = hub.submit(&admin, &json!({"description": "x"})).await;
    cancel(&hub, &admin, &task).await;
    let open = next(&receiver);
    let hub = hub.restart().await;
    let again = if matches!(hub.database(), TestDatabase::File(_)) {
        let again = next(&receiver);
        assert_eq!(again.header("webhook-id"), open.header("webhook-id"));
        Some(again)
    } else {
        // Another hub may send it only after the claim has ended.
        None
    };
    drop(open);
    if let Some(again) = again {
        again.respond(200);
        wait_for_deliveries(&hub, &admin, &webhook, |all| {
            all.len() == 2 && all[0]["state"] == "delivered"
        })
        .await;
    }
}

pub(crate) async fn webhook_filters_events_and_gives_up_on_410(database: TestDatabase) {
    let receiver = HttpReceiver::start();
    let hub = TestHub::with_settings(settings(), database).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let webhook = |name: &str, events: Value, format: &str| json!({"name": name, "url": format!("{}/{name}", receiver.url()), "events": events, "format": format});
    let dead = webhook("dead", json!(["task.dead"]), "json");
    let (dead, _) = add(&hub, &admin, &dead).await;
    let slack = webhook("slack", json!(["task.finished"]), "slack");
    let (slack, _) = add(&hub, &admin, &slack).await;
    let foreign = hub.token_of("other", &[Scope::Admin]).await;
    let other = webhook("other", json!([]), "json");
    let (other, _) = add(&hub, &foreign, &other).await;
    let task = hub
        .submit(&admin, &json!({"description": "<!channel> *x*"}))
        .await;
    cancel(&hub, &admin, &task).await;

    let request = next(&receiver);
    let message: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(message["text"], "Task cancelled: &lt;!channel&gt; *x*");
    assert_eq!(message["blocks"][1]["text"]["type"], "plain_text");
    assert_eq!(message["blocks"][1]["text"]["text"], "<!channel> *x*");
    request.respond(410);
    let failed = wait_for_deliveries(&hub, &admin, &slack, |all| {
        all.len() == 1 && all[0]["state"] == "failed"
    })
    .await;
    assert_eq!(failed[0]["tries"].as_array().unwrap().len(), 1);
    let none = wait_for_deliveries(&hub, &admin, &dead, <[Value]>::is_empty).await;
    assert!(none.is_empty());
    wait_for_deliveries(&hub, &foreign, &other, <[Value]>::is_empty).await;

    // The path of such a URL is a secret; another project sees nothing at all.
    let listed = hub.get("/api/v1/webhooks", &admin).await;
    let webhooks = listed.json()["webhooks"].as_array().unwrap().clone();
    assert_eq!(webhooks.len(), 2, "{listed:?}");
    assert_eq!(webhooks[1]["url"], format!("{}/…", receiver.url()));
    assert!(!listed.body.contains("whsec_"));
    let path = format!("/api/v1/webhooks/{slack}");
    let refused = hub.request("DELETE", &path, Some(&foreign), "", b"").await;
    assert_eq!(refused.status, 404);
    let removed = hub.request("DELETE", &path, Some(&admin), "", b"").await;
    assert_eq!(removed.status, 204);
    let gone = hub.get(&format!("{path}/deliveries"), &admin).await;
    assert_eq!(gone.status, 404);
    let recorded = hub
        .audit_entries(&format!("subject={slack}"), &admin, 2)
        .await;
    let actions: Vec<_> = recorded.iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["webhook.create", "webhook.delete"]);
    assert_eq!(recorded[0]["detail"], "slack");
}

pub(crate) async fn slow_receiver_does_not_delay_other_webhooks(database: TestDatabase) {
    let (slow, fast) = (HttpReceiver::start(), HttpReceiver::start());
    let hub = TestHub::with_settings(settings(), database).await;
    let admin = hub.token(&[Scope::Admin]).await;
    add(&hub, &admin, &json!({"name": "slow", "url": slow.url()})).await;
    let other = hub.token_of("other", &[Scope::Admin]).await;
    add(&hub, &other, &json!({"name": "fast", "url": fast.url()})).await;
    for _ in 0..40 {
        let task = hub.submit(&admin, &json!({"description": "x"})).await;
        cancel(&hub, &admin, &task).await;
    }
    let mut open = vec![next(&slow)];
    let task = hub.submit(&other, &json!({"description": "x"})).await;
    cancel(&hub, &other, &task).await;
    next(&fast).respond(200);
    open.extend(std::iter::from_fn(|| slow.try_next_request()));
    assert!(open.len() <= 8, "{} requests are open", open.len());
    for request in open {
        request.respond(200);
    }
    // As soon as requests have ended, the next ones begin.
    for _ in 0..20 {
        next(&slow).respond(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn message_names_a_task_without_a_description() {
    let receiver = HttpReceiver::start();
    let hub = TestHub::with_settings(settings(), TestDatabase::sqlite()).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let slack = json!({"name": "slack", "url": receiver.url(), "format": "slack"});
    add(&hub, &admin, &slack).await;
    let plan = json!({"subtasks": [{"id": "a", "description": "the first step"}]});
    let invisible = json!({"description": "\u{200b}"});
    for (task, title) in [(plan, Some("the first step")), (invisible, None)] {
        let task = hub.submit(&admin, &task).await;
        cancel(&hub, &admin, &task).await;
        // The plan's subtask is cancelled, too.
        let (request, message) = loop {
            let request = next(&receiver);
            let message: Value = serde_json::from_str(&request.body).unwrap();
            let url = message["blocks"][1]["accessory"]["url"].as_str().unwrap();
            if url.ends_with(&task) {
                break (request, message);
            }
            request.respond(200);
        };
        let title = title.map_or_else(|| format!("Task {task}"), str::to_owned);
        assert_eq!(message["blocks"][1]["text"]["text"], title, "{message}");
        request.respond(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_to_private_address_needs_permission_of_the_operator() {
    let database = TestDatabase::sqlite();
    let hub = TestHub::with_database(database.clone()).await;
    let admin = hub.token(&[Scope::Admin]).await;
    for url in [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:10.0.0.1]/",
        "file:///etc/passwd",
    ] {
        let answer = hub
            .post(
                "/api/v1/webhooks",
                &admin,
                &json!({"name": "x", "url": url}),
            )
            .await;
        assert_eq!(answer.status, 422, "{url}: {answer:?}");
        assert!(answer.body.contains("\"url\""), "{answer:?}");
    }
    // A name is checked when it is resolved.
    let name = json!({"name": "x", "url": "https://localhost:9/"});
    let (webhook, _) = add(&hub, &admin, &name).await;
    let task = hub.submit(&admin, &json!({"description": "x"})).await;
    cancel(&hub, &admin, &task).await;
    let tried = wait_for_deliveries(&hub, &admin, &webhook, |all| {
        all.len() == 1 && all[0]["tries"].as_array().unwrap().len() == 1
    })
    .await;
    let error = tried[0]["tries"][0]["error"].as_str().unwrap();
    assert!(error.contains("localhost has no public address"), "{error}");
    assert_eq!(tried[0]["state"], "pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_of_two_hubs_is_sent_once() {
    const TASKS: usize = 40;
    if !Postgres::is_available() {
        return;
    }
    let receiver = HttpReceiver::start();
    let database = TestDatabase::postgres();
    let one = TestHub::with_settings(settings(), database.clone()).await;
    let two = TestHub::with_settings(settings(), database).await;
    let admin = one.token(&[Scope::Admin]).await;
    let webhook = json!({"name": "x", "url": receiver.url()});
    let (webhook, _) = add(&one, &admin, &webhook).await;
    for number in 0..TASKS {
        let hub = if number % 2 == 0 { &one } else { &two };
        let task = hub.submit(&admin, &json!({"description": "x"})).await;
        cancel(hub, &admin, &task).await;
    }
    let mut received: BTreeMap<String, usize> = BTreeMap::new();
    while received.len() < TASKS {
        let request = next(&receiver);
        *received
            .entry(request.header("webhook-id").to_owned())
            .or_default() += 1;
        request.respond(200);
    }
    let delivered = wait_for_deliveries(&two, &admin, &webhook, |all| {
        all.len() == TASKS && all.iter().all(|it| it["state"] == "delivered")
    })
    .await;
    let tries: usize = delivered
        .iter()
        .map(|it| it["tries"].as_array().unwrap().len())
        .sum();
    assert_eq!(tries, TASKS);
    assert!(receiver.try_next_request().is_none());
    assert!(received.values().all(|count| *count == 1), "{received:?}");
}
