//! Tests of clients that request too much, are too slow, or never disconnect: each is disconnected without
//! affecting others.

use std::time::Duration;

use selvedge_hub::HubSettings;
use selvedge_protocol::{
    LeaseTiming, ProgressEvent, SESSION_PROTOCOL, Scope, WORKER_PATH, WorkerMessage,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, entry, hello};

async fn hub(change: impl FnOnce(&mut HubSettings)) -> TestHub {
    let mut settings = HubSettings {
        timing: LeaseTiming::of_ttl(Duration::from_mins(1)),
        patience: Duration::from_millis(500),
        ..HubSettings::default()
    };
    change(&mut settings);
    TestHub::with_settings(settings, TestDatabase::sqlite()).await
}

/// Returns everything that a connection receives until the hub ends it.
async fn read_until_closed(mut socket: TcpStream) -> String {
    let mut received = Vec::new();
    // A reset connection has ended as well.
    let _ = timeout(TEST_TIMEOUT, socket.read_to_end(&mut received))
        .await
        .expect("the hub ends the connection");
    String::from_utf8_lossy(&received).into_owned()
}

async fn open_connection(hub: &TestHub, text: &str) -> TcpStream {
    let mut socket = TcpStream::connect(&hub.host).await.unwrap();
    socket.write_all(text.as_bytes()).await.unwrap();
    socket
}

#[tokio::test]
async fn slow_or_silent_client_is_disconnected() {
    let hub = hub(|_| {}).await;
    let token = hub.token(&[Scope::Submit]).await;
    let (host, get) = (&hub.host, "GET /healthz HTTP/1.1\r\n");
    let silent = open_connection(&hub, "").await;
    let half_a_head = open_connection(&hub, &format!("{get}Host: {host}\r\nX-Slow: 1")).await;
    let idle = open_connection(&hub, &format!("{get}Host: {host}\r\n\r\n")).await;
    let half_a_body = open_connection(
        &hub,
        &format!(
            "POST /api/v1/tasks HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: 100\r\n\r\n{{\"descr"
        ),
    )
    .await;
    let (silent, half_a_head, idle, half_a_body) = tokio::join!(
        read_until_closed(silent),
        read_until_closed(half_a_head),
        read_until_closed(idle),
        read_until_closed(half_a_body)
    );
    assert!(!silent.contains("200"), "{silent}");
    assert!(!half_a_head.contains("200"), "{half_a_head}");
    assert!(
        idle.contains("200"),
        "answered, and cut for asking nothing more: {idle}"
    );
    assert!(half_a_body.contains("408"), "{half_a_body}");
    assert_eq!(hub.get("/healthz", &token).await.status, 200);
}

#[tokio::test]
async fn worker_without_hello_is_disconnected() {
    let hub = hub(|_| {}).await;
    let token = hub.token(&[Scope::Worker]).await;
    let upgrade = format!(
        "GET {WORKER_PATH} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: {SESSION_PROTOCOL}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        hub.host
    );
    let received = read_until_closed(open_connection(&hub, &upgrade).await).await;
    assert!(received.starts_with("HTTP/1.1 101"), "{received}");
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let hub = hub(|settings| settings.connections = 2).await;
    let token = hub.token(&[Scope::Read]).await;
    let silent = [
        open_connection(&hub, "").await,
        open_connection(&hub, "").await,
    ];
    // Answered once those two are disconnected.
    assert_eq!(hub.get("/healthz", &token).await.status, 200);
    drop(silent);
}

#[tokio::test]
async fn headers_and_request_rates_are_limited() {
    let hub = hub(|settings| settings.requests_per_second = 1).await;
    let token = hub.token(&[Scope::Read]).await;
    let many = "X-One: 1\r\n".repeat(100);
    let large = format!("X-Large: {}\r\n", "x".repeat(64 * 1024));
    for headers in [many, large] {
        let answer = hub.request("GET", "/healthz", None, &headers, b"").await;
        assert_eq!(answer.status, 431, "{}", answer.head);
    }
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(hub.get("/api/v1/tasks?limit=1", &token).await.status);
    }
    assert_eq!(answers[..2], [200, 200], "a burst of two: {answers:?}");
    assert!(answers.contains(&429), "{answers:?}");
    let mut guesses = Vec::new();
    for number in 0..40 {
        let token = format!("slv_wrong{number}");
        guesses.push(hub.get("/api/v1/tasks", &token).await.status);
    }
    assert_eq!(guesses[..30], [401; 30]);
    assert!(guesses.contains(&429), "{guesses:?}");
    let valid_token = hub.token(&[Scope::Read]).await;
    let answer = hub.get("/api/v1/tasks?limit=1", &valid_token).await;
    assert_eq!(answer.status, 200, "others at that address are let in");
}

/// A watcher that reads nothing uses one of two connections, and a worker the other one: the worker is never
/// blocked, and the watcher is disconnected in the end.
#[tokio::test(flavor = "multi_thread")]
async fn watcher_that_stops_reading_is_disconnected() {
    let hub = hub(|settings| settings.connections = 2).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let task = hub
        .submit(&submit, &json!({"description": "x", "labels": ["linux"]}))
        .await;
    let watch = format!(
        "GET /api/v1/tasks/{task}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {submit}\r\n\r\n",
        hub.host
    );
    let watcher = open_connection(&hub, &watch).await;
    let mut first = [0];
    watcher.peek(&mut first).await.unwrap();

    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let lease = worker.next_assignment().await.lease;
    let accept = WorkerMessage::TaskAccept {
        lease: lease.clone(),
    };
    worker.send_acknowledged(&accept, 0).await;
    let text = "x".repeat(256 * 1024);
    for number in 1..=64 {
        let mut flood = entry(&lease, number);
        flood.activity = vec![ProgressEvent::Status {
            message: text.clone(),
        }];
        // Journal events are never dropped.
        flood.events = vec![json!({"v": 1, "run_id": lease.task_id, "seq": number,
            "at": "2026-01-01T00:00:00Z", "type": "later", "data": {"text": text}})];
        worker
            .send_acknowledged(&WorkerMessage::TaskProgress(flood), number)
            .await;
    }
    // Its connection is free for another client, although it never disconnected itself.
    assert_eq!(hub.get("/healthz", &submit).await.status, 200);
    drop(watcher);
}
