//! Tests of access that ends: event streams, worker sessions and sessions of the dashboard; and of the record of
//! who did what.

use selvedge_hub::HubSettings;
use selvedge_protocol::{Scope, WorkerMessage};
use selvedge_testkit::Polling;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{HttpAnswer, TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, by_test, hello};

/// Opens an event stream and returns once it contains a text.
pub(crate) async fn open_stream(
    hub: &TestHub,
    path: &str,
    credential: &str,
    text: &str,
) -> TcpStream {
    let mut socket = TcpStream::connect(&hub.host).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{credential}\r\n\r\n",
        hub.host
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains(text) {
        let mut chunk = [0; 1024];
        let read = timeout(TEST_TIMEOUT, socket.read(&mut chunk))
            .await
            .unwrap();
        let read = read.unwrap();
        let so_far = String::from_utf8_lossy(&received).into_owned();
        assert!(read > 0, "no {text:?}: {so_far}");
        received.extend_from_slice(&chunk[..read]);
    }
    socket
}

pub(crate) async fn wait_for_end(mut socket: TcpStream) {
    let mut rest = Vec::new();
    let ended = timeout(TEST_TIMEOUT, socket.read_to_end(&mut rest)).await;
    ended.expect("the stream ends").unwrap();
}

async fn token_ids(hub: &TestHub, admin: &str) -> Vec<(String, String)> {
    let listed = hub.get("/api/v1/tokens", admin).await.json();
    let tokens = listed["tokens"].as_array().unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    tokens
        .iter()
        .map(|row| (text(row, "prefix"), text(row, "id")))
        .collect()
}

async fn id_of(hub: &TestHub, admin: &str, secret: &str) -> String {
    let all = token_ids(hub, admin).await;
    let found = all
        .into_iter()
        .find(|(prefix, _)| secret.starts_with(prefix));
    found.unwrap().1
}

pub(crate) async fn delete(hub: &TestHub, admin: &str, path: &str) -> HttpAnswer {
    hub.request("DELETE", path, Some(admin), "", b"").await
}

pub(crate) async fn revoked_token_ends_streams_and_worker_sessions(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let task = hub.submit(&admin, &json!({"description": "x"})).await;
    let events = format!("/api/v1/tasks/{task}/events");
    let reader = hub.token(&[Scope::Read]).await;
    let stream = open_stream(
        &hub,
        &events,
        &format!("Authorization: Bearer {reader}"),
        "event: state",
    )
    .await;
    let id = id_of(&hub, &admin, &reader).await;
    let revoked = delete(&hub, &admin, &format!("/api/v1/tokens/{id}")).await;
    assert_eq!(revoked.status, 204, "{revoked:?}");
    wait_for_end(stream).await;

    // Revoked only in the database, as by another hub.
    let reader = hub.token(&[Scope::Read]).await;
    let stream = open_stream(
        &hub,
        &events,
        &format!("Authorization: Bearer {reader}"),
        "event: state",
    )
    .await;
    let worker_token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &worker_token, &hello("one")).await;
    for secret in [&reader, &worker_token] {
        let id = id_of(&hub, &admin, secret).await.parse().unwrap();
        hub.hub.store().revoke(id, by_test()).await.unwrap();
    }
    wait_for_end(stream).await;
    let reason = timeout(TEST_TIMEOUT, worker.close_reason()).await.unwrap();
    assert_eq!(reason, "the token was revoked or has expired");
}

/// Signs in to the dashboard and returns the cookie.
pub(crate) async fn sign_in(hub: &TestHub, token: &str) -> String {
    let headers = format!(
        "Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        hub.host
    );
    let form = format!("token={token}&next=/");
    let answer = hub
        .request("POST", "/login", None, &headers, form.as_bytes())
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let raw = answer.raw_head;
    let line = raw
        .lines()
        .find(|line| line.to_lowercase().starts_with("set-cookie:"))
        .unwrap();
    assert!(line.contains("HttpOnly") && line.contains("SameSite=Strict"));
    let cookie = line.split_once(": ").unwrap().1;
    cookie.split(';').next().unwrap().to_owned()
}

pub(crate) async fn dashboard_session_is_not_the_token_and_ends(database: TestDatabase) {
    let hub = TestHub::with_database(database.clone()).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let reader = hub.token(&[Scope::Read]).await;
    let page = async |cookie: &str| {
        let headers = format!("Cookie: {cookie}\r\n");
        hub.request("GET", "/", None, &headers, b"").await.status
    };
    let (first, second) = (sign_in(&hub, &reader).await, sign_in(&hub, &reader).await);
    let (name, value) = first.split_once('=').unwrap();
    assert!(name.starts_with("selvedge_hub_"), "{name}");
    assert_ne!(first, second, "each session has a value of its own");
    assert!(!first.contains(&reader), "a cookie is never a token");
    assert_eq!(page(&first).await, 200);
    assert_eq!(page(&format!("{name}={reader}")).await, 401);
    let as_token = hub.get("/api/v1/tasks", value).await;
    assert_eq!(as_token.status, 401, "a session is not a token");

    let listed = hub.get("/api/v1/sessions", &admin).await;
    assert!(!listed.body.contains(value), "{listed:?}");
    let sessions = listed.json()["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    assert_eq!(sessions[0]["token"], "test");
    // The newest is the first one.
    let stream = open_stream(
        &hub,
        "/events",
        &format!("Cookie: {second}"),
        "text/event-stream",
    )
    .await;
    let id = sessions[0]["id"].as_str().unwrap();
    let path = format!("/api/v1/sessions/{id}");
    assert_eq!(delete(&hub, &admin, &path).await.status, 204);
    assert_eq!(delete(&hub, &admin, &path).await.status, 404);
    wait_for_end(stream).await;
    assert_eq!((page(&first).await, page(&second).await), (200, 401));

    let stream = open_stream(
        &hub,
        "/events",
        &format!("Cookie: {first}"),
        "text/event-stream",
    )
    .await;
    let id = id_of(&hub, &admin, &reader).await;
    delete(&hub, &admin, &format!("/api/v1/tokens/{id}")).await;
    wait_for_end(stream).await;
    assert_eq!(page(&first).await, 401, "its token was revoked");

    // A restarted hub has the same cookie, another hub another one.
    let admin_cookie = sign_in(&hub, &admin).await;
    let hub = hub.restart().await;
    let headers = format!("Cookie: {admin_cookie}\r\n");
    let answer = hub.request("GET", "/", None, &headers, b"").await;
    assert_eq!(answer.status, 200);
    let other = TestHub::start().await;
    let other_token = other.token(&[Scope::Read]).await;
    let other_cookie = sign_in(&other, &other_token).await;
    assert_ne!(other_cookie.split_once('=').unwrap().0, name);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_readable_pages_with_their_headers() {
    let hub = TestHub::start().await;
    let token = hub.token(&[Scope::Read]).await;
    let cookie = sign_in(&hub, &token).await;
    let submitter = hub.token(&[Scope::Submit]).await;
    let task = hub.submit(&submitter, &json!({"description": "x"})).await;
    let get = async |path: &str| {
        let headers = format!("Cookie: {cookie}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n");
        hub.request("GET", path, None, &headers, b"").await
    };
    let list = get("/").await;
    assert!(
        list.head.contains("content-encoding: gzip"),
        "{}",
        list.head
    );
    let invalid = get(&format!("/tasks/{task}/attempts/first/diff")).await;
    assert_eq!(invalid.status, 400, "{invalid:?}");
    assert!(
        invalid.head.contains("content-type: text/html"),
        "{invalid:?}"
    );
    assert!(invalid.body.contains("Cannot parse"), "{invalid:?}");
    assert!(invalid.body.contains("</html>"), "{invalid:?}");
    assert!(!invalid.head.contains("content-encoding"), "{invalid:?}");
    let metrics = get("/metrics").await;
    assert_eq!(metrics.status, 401, "{metrics:?}");
    assert!(
        metrics.head.contains("www-authenticate: bearer"),
        "{metrics:?}"
    );
    assert!(
        metrics.head.contains("content-security-policy"),
        "{metrics:?}"
    );
    assert!(metrics.body.contains("</html>"), "{metrics:?}");
}

pub(crate) async fn tasks_show_their_branch_and_are_filtered_by_it(database: TestDatabase) {
    let hub = TestHub::with_settings(HubSettings::default(), database).await;
    let token = hub.token(&[Scope::Submit]).await;
    for (name, branch) in [
        ("alpha", Some("release/2")),
        ("beta", None),
        ("gamma \"revision\":\"release/2\"", Some("release/22")),
    ] {
        let repository = "https://example.com/r.git";
        let task = json!({"description": name, "repository": repository, "revision": branch});
        hub.submit(&token, &task).await;
    }
    let cookie = format!("Cookie: {}\r\n", sign_in(&hub, &token).await);
    let list = async |path: &str| {
        let page = hub.request("GET", path, None, &cookie, b"").await.body;
        let has = |name: &str| page.contains(&format!("<bdi>{name}"));
        (["alpha", "beta", "gamma"].map(has), has("release/2</bdi>"))
    };
    assert_eq!(list("/").await, ([true; 3], true));
    let only_first = ([true, false, false], true);
    assert_eq!(list("/?branch=release%2F2").await, only_first);
    assert_eq!(list("/?branch=release").await.0, [false; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_session_ends_without_use() {
    let settings = HubSettings {
        session_idle_timeout: std::time::Duration::ZERO,
        ..HubSettings::default()
    };
    let hub = TestHub::with_settings(settings, TestDatabase::sqlite()).await;
    let token = hub.token(&[Scope::Read]).await;
    let cookie = sign_in(&hub, &token).await;
    let headers = format!("Cookie: {cookie}\r\n");
    let answer = hub.request("GET", "/", None, &headers, b"").await;
    assert_eq!(answer.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn last_administrator_cannot_be_revoked() {
    let hub = TestHub::start().await;
    let admin = hub.token(&[Scope::Admin]).await;
    let id = id_of(&hub, &admin, &admin).await;
    let path = format!("/api/v1/tokens/{id}");
    let refused = delete(&hub, &admin, &path).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("create another one"), "{refused:?}");
    let other = hub.token(&[Scope::Admin]).await;
    assert_eq!(delete(&hub, &admin, &path).await.status, 204);
    assert_eq!(hub.get("/api/v1/tokens", &admin).await.status, 401);
    assert_eq!(hub.get("/api/v1/tokens", &other).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_log_names_the_token_and_is_paged() {
    let hub = TestHub::start().await;
    let admin = hub.token(&[Scope::Admin]).await;
    let request = json!({"name": "ci", "scopes": ["submit"]});
    let created = hub.post("/api/v1/tokens", &admin, &request).await.json();
    let ci = created["token"].as_str().unwrap();
    let task = hub.submit(ci, &json!({"description": "x"})).await;
    let cancel = format!("/api/v1/tasks/{task}/cancel");
    let body = json!({"reason": "obsolete"});
    assert_eq!(hub.post(&cancel, ci, &body).await.status, 202);
    assert_eq!(hub.post(&cancel, ci, &body).await.status, 202);
    let retry = format!("/api/v1/tasks/{task}/retry");
    assert_eq!(hub.post(&retry, ci, &json!({})).await.status, 201);

    assert_eq!(hub.get("/api/v1/audit", ci).await.status, 403);
    let entries = async |query: &str| {
        let path = format!("/api/v1/audit?{query}");
        hub.get(&path, &admin).await.json()["entries"].clone()
    };
    let by_ci = hub.audit_entries("actor=ci", &admin, 3).await;
    let actions: Vec<_> = by_ci.iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["task.submit", "task.cancel", "task.retry"]);
    let cancelled = &by_ci[1];
    assert_eq!(cancelled["subject"], json!(task));
    assert_eq!(cancelled["detail"], "obsolete");
    assert_eq!(cancelled["token_id"], created["id"]);
    assert_eq!(cancelled["channel"], "api");
    let about = entries(&format!("subject={}", created["id"].as_str().unwrap())).await;
    assert_eq!(about[0]["action"], "token.create");
    assert_eq!(about[0]["detail"], "ci, scopes submit");
    let newest = entries("limit=1").await;
    assert_eq!(newest[0], by_ci[2]);
    let before = newest[0]["seq"].as_u64().unwrap();
    let older = entries(&format!("limit=1&before={before}")).await;
    assert_eq!(older[0], *cancelled);
    let invalid = hub.get("/api/v1/audit?action=task.eat", &admin).await;
    assert_eq!(invalid.status, 422, "{invalid:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_with_a_long_name_is_refused() {
    let hub = TestHub::start().await;
    let token = hub.token(&[Scope::Worker]).await;
    let mut worker = TestWorker::open(&hub, &token).await;
    let hello = WorkerMessage::Hello(hello(&"x".repeat(256)));
    worker.send(&hello).await;
    let reason = timeout(TEST_TIMEOUT, worker.close_reason()).await.unwrap();
    assert!(reason.contains("at most 255 bytes"), "{reason}");
}

pub(crate) async fn worker_of_a_name_in_use_is_refused(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut first, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let mut other = hello("one");
    "another process".clone_into(&mut other.boot_id);
    let mut second = TestWorker::open(&hub, &token).await;
    second.send(&WorkerMessage::Hello(other.clone())).await;
    let reason = timeout(TEST_TIMEOUT, second.close_reason()).await.unwrap();
    assert!(
        reason.starts_with("another worker named `one` is connected"),
        "{reason}"
    );
    let renew = WorkerMessage::Renew {
        id: 1,
        leases: Vec::new(),
        waiting: Vec::new(),
    };
    first.send(&renew).await;
    first.next().await;
    // The same process replaces its own session, and a restarted one takes the name over.
    let (same, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    timeout(TEST_TIMEOUT, first.wait_for_end()).await.unwrap();
    drop(same);
    let mut polling = Polling::new(TEST_TIMEOUT);
    loop {
        let mut restarted = TestWorker::open(&hub, &token).await;
        restarted.send(&WorkerMessage::Hello(other.clone())).await;
        if restarted.try_next().await.is_some() {
            break;
        }
        assert!(polling.pause_async().await, "never accepted");
    }
}
