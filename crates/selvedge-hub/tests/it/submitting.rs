//! Tests of submitting: accepted, rejected and repeated requests.

use selvedge_protocol::Scope;
use serde_json::json;

use crate::harness::{TestDatabase, TestHub};

#[tokio::test(flavor = "multi_thread")]
async fn submit_rejects_invalid_fields_and_large_bodies() {
    let hub = TestHub::start().await;
    let token = hub.token(&[Scope::Submit]).await;
    let task = json!({"description": "x", "max_verification_retries": "many"});
    let answer = hub.post("/api/v1/tasks", &token, &task).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    assert!(answer.head.contains("application/problem+json"));
    assert_eq!(
        answer.json()["errors"][0]["field"],
        "max_verification_retries"
    );

    let huge = vec![b'x'; 20 * 1024 * 1024];
    let answer = hub
        .request("POST", "/api/v1/tasks", Some(&token), "", &huge)
        .await;
    assert_eq!(answer.status, 413, "{answer:?}");
    let answer = hub
        .request("POST", "/api/v1/tasks", Some(&token), "", b"{\"a\":")
        .await;
    assert_eq!(answer.status, 400, "{answer:?}");

    let task = json!({"description": "x", "repository": "https://ada:hunter2@git.example/shop"});
    let answer = hub.post("/api/v1/tasks", &token, &task).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_eq!(answer.json()["errors"][0]["field"], "repository");
    assert!(!answer.body.contains("hunter2"), "{answer:?}");

    let task = json!({"description": "x", "max_verification_retries": 99});
    let answer = hub.post("/api/v1/tasks", &token, &task).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert!(
        answer.body.contains("exceeds the maximum; 5 is used"),
        "{answer:?}"
    );
    assert!(answer.body.contains("no worker is connected"), "{answer:?}");
    let row = hub
        .get(
            &format!(
                "/api/v1/tasks/{}",
                answer.json()["task_id"].as_str().unwrap()
            ),
            &token,
        )
        .await;
    assert_eq!(row.json()["max_attempts"], 6, "{row:?}");
}

pub(crate) async fn submit_with_the_same_key_is_one_task(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let token = hub.token(&[Scope::Submit]).await;
    let submit = async |body: &str| {
        let key = "Idempotency-Key: build-1\r\n";
        hub.request("POST", "/api/v1/tasks", Some(&token), key, body.as_bytes())
            .await
    };
    let first = submit(r#"{"description": "x"}"#).await.json();
    let again = submit(r#"{"description": "x"}"#).await.json();
    assert_eq!(first["task_id"], again["task_id"]);
    assert_eq!(
        (&first["repeated"], &again["repeated"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(submit(r#"{"description": "y"}"#).await.status, 409);
    let page = hub.get("/api/v1/tasks", &token).await.json();
    assert_eq!(page["tasks"].as_array().unwrap().len(), 1);
}

pub(crate) async fn list_is_filtered_and_paged_and_cancel_is_immediate(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let token = hub.token(&[Scope::Submit]).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let task = json!({"description": format!("task {number}"), "labels": ["gpu"]});
        ids.push(hub.submit(&token, &task).await);
    }
    let first = hub.get("/api/v1/tasks?limit=3", &token).await.json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = hub
        .get(&format!("/api/v1/tasks?limit=3&cursor={cursor}"), &token)
        .await
        .json();
    let shown: Vec<_> = [&first, &rest]
        .into_iter()
        .flat_map(|page| page["tasks"].as_array().unwrap())
        .collect();
    let shown: Vec<_> = shown
        .iter()
        .map(|row| row["task_id"].as_str().unwrap())
        .collect();
    ids.reverse();
    assert_eq!(shown, ids);
    assert!(rest.get("next_cursor").is_none());

    let path = format!("/api/v1/tasks/{}/cancel", ids[0]);
    let answer = hub
        .post(&path, &token, &json!({"reason": "changed my mind"}))
        .await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.json()["state"], "cancelled");
    let remaining = hub
        .get("/api/v1/tasks?state=queued&q=TASK&label=gpu", &token)
        .await
        .json();
    assert_eq!(remaining["tasks"].as_array().unwrap().len(), 4);
    assert_eq!(
        hub.get("/api/v1/tasks?state=asleep", &token).await.status,
        422
    );
    let again = hub
        .post(
            &format!("/api/v1/tasks/{}/retry", ids[0]),
            &token,
            &json!({}),
        )
        .await;
    assert_eq!(again.status, 201, "{again:?}");
    let metrics = hub.get("/metrics", &token).await.body;
    assert!(
        metrics.contains("selvedge_tasks{state=\"queued\"} 5"),
        "{metrics}"
    );
}

pub(crate) async fn blob_upload_is_resumed_and_verified(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let token = hub.token(&[Scope::Worker]).await;
    // SHA-256 of "hello world".
    let hash = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    let path = format!("/api/v1/blobs/{hash}");
    let put = async |range: &str, body: &[u8]| {
        let range = format!("Content-Range: bytes {range}\r\n");
        hub.request("PUT", &path, Some(&token), &range, body).await
    };
    assert_eq!(put("0-5/11", b"hello ").await.status, 204);
    let head = hub.request("HEAD", &path, Some(&token), "", b"").await;
    assert_eq!(head.status, 404);
    assert!(head.head.contains("upload-offset: 6"), "{head:?}");
    assert_eq!(put("3-7/11", b"lo wo").await.status, 409);
    assert_eq!(
        put("6-10/11", b"WORLD").await.status,
        422,
        "other bytes than the name says"
    );
    assert_eq!(put("0-5/11", b"hello ").await.status, 204);
    assert_eq!(put("6-10/11", b"world").await.status, 204);
    let answer = hub.get(&path, &token).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "hello world"));
}
