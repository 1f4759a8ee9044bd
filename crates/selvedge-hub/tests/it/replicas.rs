//! Tests of two hubs on one database: a worker is connected to one of them, people use the other.

use std::time::Duration;

use selvedge_core::model::Outcome;
use selvedge_protocol::{HubMessage, Scope, TaskResult};
use selvedge_testkit::{Polling, Postgres};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::harness::{
    TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, begin_run, complete, entry, hello,
    submit_report,
};

async fn two_hubs() -> (TestHub, TestHub) {
    let database = TestDatabase::postgres();
    (
        TestHub::with_database(database.clone()).await,
        TestHub::with_database(database).await,
    )
}

/// Polls until the condition holds.
async fn poll_until(
    hub: &TestHub,
    path: &str,
    token: &str,
    condition: impl Fn(&Value) -> bool,
) -> Value {
    let mut polling = Polling::new(TEST_TIMEOUT);
    loop {
        let answer = hub.get(path, token).await.json();
        if condition(&answer) {
            return answer;
        }
        assert!(polling.pause_async().await, "never so: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_tasks_and_workers() {
    if !Postgres::is_available() {
        return;
    }
    let (one, two) = two_hubs().await;
    let submit = two.token(&[Scope::Submit]).await;
    let token = one.token(&[Scope::Worker]).await;
    let first = two
        .submit(&submit, &json!({"description": "x", "labels": ["linux"]}))
        .await;
    let path = format!("/api/v1/tasks/{first}");
    let row = two.get(&path, &submit).await.json();
    assert_eq!(row["unplaceable"], "no worker is connected");
    let (mut worker, _) = TestWorker::connect(&one, &token, &hello("far")).await;
    let lease = worker.next_assignment().await.lease;
    let workers = poll_until(&two, "/api/v1/workers", &submit, |answer| {
        answer["workers"][0]["worker"] == "far"
    })
    .await;
    assert_eq!(workers["workers"][0]["worker"], "far");
    assert_eq!(workers["workers"][0]["connected"], true);
    let second = two
        .submit(&submit, &json!({"description": "x", "labels": ["linux"]}))
        .await;
    let row = two
        .get(&format!("/api/v1/tasks/{second}"), &submit)
        .await
        .json();
    assert_eq!(row.get("unplaceable"), None, "{row}");
    let third = two
        .submit(&submit, &json!({"description": "x", "labels": ["gpu"]}))
        .await;
    let row = two
        .get(&format!("/api/v1/tasks/{third}"), &submit)
        .await
        .json();
    assert_eq!(
        row["unplaceable"],
        "no connected worker has all labels: gpu"
    );
    let mut header = entry(&lease, 1);
    header.events = vec![json!({"seq": 1, "type": "first"})];
    let begin = begin_run(header, 1);
    let mut watched = EventStreamReader::begin(&two, &first, &submit).await;
    worker.send_acknowledged(&begin, 1).await;
    watched.wait_for("event: journal").await;
    let report = submit_report(entry(&lease, 2), 1, json!({"status": "pass"}));
    worker.send_acknowledged(&report, 2).await;
    let complete = complete(
        entry(&lease, 3),
        "once",
        TaskResult::without_run(Outcome::Verified, ""),
    );
    worker.send_acknowledged(&complete, 3).await;
    watched.wait_for("\"state\":\"succeeded\"").await;
    let next = worker.next_assignment().await;
    assert_eq!(next.lease.task_id.to_string(), second);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_forward_cancellation_to_the_worker() {
    if !Postgres::is_available() {
        return;
    }
    let (one, two) = two_hubs().await;
    let submit = two.token(&[Scope::Submit]).await;
    let token = one.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&one, &token, &hello("far")).await;
    let task = two.submit(&submit, &json!({"description": "x"})).await;
    let lease = worker.next_assignment().await.lease;
    let begin = begin_run(entry(&lease, 1), 1);
    worker.send_acknowledged(&begin, 1).await;
    let path = format!("/api/v1/tasks/{task}/cancel");
    let answer = two.post(&path, &submit, &json!({"reason": "enough"})).await;
    assert_eq!(answer.json()["state"], "cancelling");
    // Sent without a request: the worker renewed nothing meanwhile.
    let HubMessage::Cancel { key, reason } = worker.next().await else {
        panic!("not told")
    };
    assert_eq!((key, reason.as_str()), (lease.id(), "enough"));
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_end_the_session_of_a_moved_worker() {
    if !Postgres::is_available() {
        return;
    }
    let (one, two) = two_hubs().await;
    let admin = two.token(&[Scope::Admin]).await;
    let token = one.token(&[Scope::Worker]).await;
    let (mut before, _) = TestWorker::connect(&one, &token, &hello("mover")).await;
    let (_after, _) = TestWorker::connect(&two, &token, &hello("mover")).await;
    // The first hub had not noticed that the worker has left.
    assert!(timeout(TEST_TIMEOUT, before.wait_for_end()).await.is_ok());
    let tokens = two.get("/api/v1/tokens", &admin).await.json();
    let workers = tokens["tokens"].as_array().unwrap().iter();
    let mut workers = workers.filter(|row| row["scopes"] == json!(["worker"]));
    let id = workers.next().unwrap()["id"].as_str().unwrap().to_owned();
    let (mut third, _) = TestWorker::connect(&two, &token, &hello("third")).await;
    let revoked = one
        .request(
            "DELETE",
            &format!("/api/v1/tokens/{id}"),
            Some(&admin),
            "",
            b"",
        )
        .await;
    assert!(revoked.status < 300, "{revoked:?}");
    assert!(timeout(TEST_TIMEOUT, third.wait_for_end()).await.is_ok());
}

/// The event stream of a task.
struct EventStreamReader {
    socket: TcpStream,
    received: String,
}

impl EventStreamReader {
    async fn begin(hub: &TestHub, task: &str, token: &str) -> Self {
        let mut socket = TcpStream::connect(&hub.host).await.unwrap();
        let request = format!(
            "GET /api/v1/tasks/{task}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
            hub.host
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut watched = Self {
            socket,
            received: String::new(),
        };
        watched.wait_for("event: state").await;
        watched
    }

    async fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + TEST_TIMEOUT;
        let mut bytes = [0; 4096];
        while !self.received.contains(text) {
            assert!(Instant::now() < end, "never {text}: {}", self.received);
            let read = timeout(Duration::from_secs(1), self.socket.read(&mut bytes)).await;
            if let Ok(read) = read {
                let read = read.unwrap();
                assert!(read > 0, "ended without {text}: {}", self.received);
                self.received
                    .push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        }
    }
}
