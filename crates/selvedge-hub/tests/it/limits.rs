//! Tests of clients that ask for too much, are too slow, or never go away: each is disconnected without
//! affecting others.

use std::time::Duration;

use selvedge_core::protocol::{
    LeaseTiming, ProgressEvent, SESSION_PROTOCOL, Scope, WORKER_PATH, WorkerMessage,
};
use selvedge_hub::HubSettings;
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

/// Everything that a connection receives until the hub ends it.
async fn until_cut(mut socket: TcpStream) -> String {
    let mut told = Vec::new();
    // A reset connection has ended as well.
    let _ = timeout(TEST_TIMEOUT, socket.read_to_end(&mut told))
        .await
        .expect("the hub ends the connection");
    String::from_utf8_lossy(&told).into_owned()
}

async fn begun(hub: &TestHub, text: &str) -> TcpStream {
    let mut socket = TcpStream::connect(&hub.host).await.unwrap();
    socket.write_all(text.as_bytes()).await.unwrap();
    socket
}

#[tokio::test]
async fn whoever_is_slow_or_silent_is_cut_off() {
    let hub = hub(|_| {}).await;
    let token = hub.token(&[Scope::Submit]).await;
    let (host, get) = (&hub.host, "GET /healthz HTTP/1.1\r\n");
    let silent = begun(&hub, "").await;
    let half_a_head = begun(&hub, &format!("{get}Host: {host}\r\nX-Slow: 1")).await;
    let idle = begun(&hub, &format!("{get}Host: {host}\r\n\r\n")).await;
    let half_a_body = begun(
        &hub,
        &format!(
            "POST /api/v1/tasks HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: 100\r\n\r\n{{\"descr"
        ),
    )
    .await;
    let (silent, half_a_head, idle, half_a_body) = tokio::join!(
        until_cut(silent),
        until_cut(half_a_head),
        until_cut(idle),
        until_cut(half_a_body)
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
async fn a_worker_that_never_says_who_it_is_is_cut_off() {
    let hub = hub(|_| {}).await;
    let token = hub.token(&[Scope::Worker]).await;
    let upgrade = format!(
        "GET {WORKER_PATH} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: {SESSION_PROTOCOL}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        hub.host
    );
    let told = until_cut(begun(&hub, &upgrade).await).await;
    assert!(told.starts_with("HTTP/1.1 101"), "{told}");
}

#[tokio::test]
async fn more_connections_than_there_may_be_wait_for_room() {
    let hub = hub(|settings| settings.connections = 2).await;
    let token = hub.token(&[Scope::Read]).await;
    let silent = [begun(&hub, "").await, begun(&hub, "").await];
    // Answered once those two are disconnected.
    assert_eq!(hub.get("/healthz", &token).await.status, 200);
    drop(silent);
}

#[tokio::test]
async fn heads_and_rates_have_limits() {
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
    let known = hub.token(&[Scope::Read]).await;
    let answer = hub.get("/api/v1/tasks?limit=1", &known).await;
    assert_eq!(answer.status, 200, "others at that address are let in");
}

/// A watcher that reads nothing uses one of two connections, and a worker the other one: the worker is never
/// blocked, and the watcher is disconnected in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_stops_reading_slows_nobody_and_is_cut_off() {
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
    let watcher = begun(&hub, &watch).await;
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
