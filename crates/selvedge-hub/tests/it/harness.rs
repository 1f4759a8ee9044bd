//! A hub on loopback over either store, a client for plain HTTP/1.1, and a worker's end of a session.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use selvedge_hub::{Hub, HubServerHandle, HubSettings, generate_token, run, site_router};
use selvedge_protocol::{
    AttemptReport, AttemptStart, EntryHeader, Hello, HubMessage, LeaseTiming, LeaseToken,
    SESSION_PROTOCOL, Scope, TaskAssign, TaskCompletion, TaskResult, WORKER_PATH, WorkerMessage,
};
use selvedge_store::hub::{
    AuditActor, HubStore, HubStoreError, PostgresHub, SqliteHub, StoreSettings, TokenStore,
};
use selvedge_testkit::{Polling, Postgres};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// The timeout of everything that is expected to happen.
pub(crate) const TEST_TIMEOUT: Duration = selvedge_testkit::WAIT_TIMEOUT;

pub(crate) struct TestHub {
    pub(crate) host: String,
    pub(crate) hub: Arc<Hub>,
    running: Option<HubServerHandle>,
    database: TestDatabase,
}

/// The hub's database.
#[derive(Clone)]
pub(crate) enum TestDatabase {
    File(Arc<TempDir>),
    Server(String),
}

impl TestDatabase {
    pub(crate) fn sqlite() -> Self {
        Self::File(Arc::new(tempfile::tempdir().unwrap()))
    }

    pub(crate) fn postgres() -> Self {
        Self::Server(Postgres::shared().create_database())
    }

    async fn open(&self, settings: StoreSettings) -> Arc<dyn HubStore> {
        match self {
            Self::File(directory) => {
                let path = directory.path().join("hub.db");
                let mut polling = Polling::new(TEST_TIMEOUT);
                loop {
                    match SqliteHub::open(&path, settings) {
                        // A hub that was stopped is about to release it.
                        Err(HubStoreError::InUse(_)) if polling.pause_async().await => {}
                        opened => break Arc::new(opened.unwrap()),
                    }
                }
            }
            Self::Server(url) => Arc::new(PostgresHub::open(url, None, settings).await.unwrap()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) raw_head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl TestHub {
    pub(crate) async fn start() -> Self {
        Self::with_database(TestDatabase::sqlite()).await
    }

    /// A hub whose leases do not expire during a test, however slow the machine is.
    pub(crate) async fn with_database(database: TestDatabase) -> Self {
        Self::with_ttl(TEST_TIMEOUT * 10, database).await
    }

    /// A hub whose unrenewed leases expire within seconds.
    pub(crate) async fn with_short_leases(database: TestDatabase) -> Self {
        Self::with_ttl(Duration::from_secs(6), database).await
    }

    async fn with_ttl(ttl: Duration, database: TestDatabase) -> Self {
        let settings = HubSettings {
            timing: LeaseTiming::of_ttl(ttl),
            // Tests poll as fast as they can; the limit has its own test.
            requests_per_second: 1_000_000,
            ..HubSettings::default()
        };
        Self::with_settings(settings, database).await
    }

    pub(crate) async fn with_settings(mut settings: HubSettings, database: TestDatabase) -> Self {
        let store_settings = StoreSettings {
            rules: settings.rules(),
        };
        let store = database.open(store_settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        settings.hosts = vec![host.clone()];
        let hub = Hub::new(store, settings);
        let running = Some(run(&hub, site_router(&hub), listener, None));
        Self {
            host,
            hub,
            running,
            database,
        }
    }

    pub(crate) fn database(&self) -> &TestDatabase {
        &self.database
    }

    /// Stops the hub and starts it again.
    pub(crate) async fn restart(self) -> Self {
        let settings = self.hub.settings().clone();
        self.restart_with(settings).await
    }

    /// Stops the hub and starts it again with other settings.
    pub(crate) async fn restart_with(mut self, settings: HubSettings) -> Self {
        self.running.take().unwrap().stop().await;
        let database = self.database.clone();
        let store = Arc::downgrade(self.hub.store());
        drop(self);
        // The database stays locked until its last user is gone.
        let mut polling = Polling::new(TEST_TIMEOUT);
        while store.strong_count() > 0 {
            assert!(polling.pause_async().await, "the hub still runs");
        }
        Self::with_settings(settings, database).await
    }

    pub(crate) async fn token(&self, scopes: &[Scope]) -> String {
        self.token_of("default", scopes).await
    }

    pub(crate) async fn token_of(&self, project: &str, scopes: &[Scope]) -> String {
        self.named_token("test", project, scopes).await
    }

    pub(crate) async fn named_token(&self, name: &str, project: &str, scopes: &[Scope]) -> String {
        let minted = generate_token(name, project, scopes, None).unwrap();
        let store: &dyn TokenStore = self.hub.store().as_ref();
        store.insert_token(minted.identity).await.unwrap();
        minted.secret
    }

    pub(crate) async fn raw(&self, request: &str, body: &[u8]) -> HttpAnswer {
        let mut socket = TcpStream::connect(&self.host).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        // A server may close the connection before it has read everything.
        let _ = socket.write_all(body).await;
        let mut bytes = Vec::new();
        let _ = timeout(TEST_TIMEOUT, socket.read_to_end(&mut bytes))
            .await
            .expect("an answer");
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        HttpAnswer {
            status: status.unwrap_or(0),
            head: head.to_lowercase(),
            raw_head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        headers: &str,
        body: &[u8],
    ) -> HttpAnswer {
        let token = token.map_or(String::new(), |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{token}{headers}\r\n",
            self.host,
            body.len()
        );
        self.raw(&request, body).await
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> HttpAnswer {
        self.request("GET", path, Some(token), "", b"").await
    }

    /// The entries of the audit log that match a query, oldest first, once there are so many: on a server that other
    /// tests use, entries may appear with a delay.
    pub(crate) async fn audit_entries(&self, query: &str, token: &str, count: usize) -> Vec<Value> {
        let path = format!("/api/v1/audit?after=0&{query}");
        let mut polling = Polling::new(TEST_TIMEOUT);
        loop {
            let page = self.get(&path, token).await.json();
            let entries = page["entries"].as_array().unwrap();
            if entries.len() >= count {
                return entries.clone();
            }
            assert!(polling.pause_async().await, "not {count} entries: {page}");
        }
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: &Value) -> HttpAnswer {
        self.request("POST", path, Some(token), "", body.to_string().as_bytes())
            .await
    }

    pub(crate) async fn submit(&self, token: &str, task: &Value) -> String {
        let answer = self.post("/api/v1/tasks", token, task).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["task_id"].as_str().unwrap().to_owned()
    }

    /// Returns the task once it is in one of these states.
    pub(crate) async fn wait_for_state(&self, task: &str, token: &str, states: &[&str]) -> Value {
        let mut polling = Polling::new(TEST_TIMEOUT);
        loop {
            let row = self
                .get(&format!("/api/v1/tasks/{task}"), token)
                .await
                .json();
            if states.iter().any(|state| row["state"] == **state) {
                return row;
            }
            assert!(polling.pause_async().await, "never {states:?}: {row}");
        }
    }
}

/// A worker's end of a session.
pub(crate) struct TestWorker {
    socket: WebSocketStream<TcpStream>,
}

impl TestWorker {
    pub(crate) async fn connect(hub: &TestHub, token: &str, hello: &Hello) -> (Self, HubMessage) {
        let mut worker = Self::open(hub, token).await;
        worker.send(&WorkerMessage::Hello(hello.clone())).await;
        let welcome = worker.next().await;
        (worker, welcome)
    }

    /// Opens a session without a hello.
    pub(crate) async fn open(hub: &TestHub, token: &str) -> Self {
        let url = format!("ws://{}{WORKER_PATH}", hub.host);
        let mut request = url.into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        headers.insert("sec-websocket-protocol", SESSION_PROTOCOL.parse().unwrap());
        let stream = TcpStream::connect(&hub.host).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(request, stream)
            .await
            .unwrap();
        Self { socket }
    }

    pub(crate) async fn send(&mut self, message: &WorkerMessage) {
        let text = serde_json::to_string(message).unwrap();
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> HubMessage {
        let message = timeout(TEST_TIMEOUT, self.socket.next())
            .await
            .expect("a message");
        let message = message.expect("an open session").unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    /// The next message; `None` if the hub ends the session.
    pub(crate) async fn try_next(&mut self) -> Option<HubMessage> {
        let message = timeout(TEST_TIMEOUT, self.socket.next()).await;
        let message = message.expect("a message")?.ok()?;
        serde_json::from_str(message.to_text().ok()?).ok()
    }

    /// The reason that the hub gives when it ends the session.
    pub(crate) async fn close_reason(&mut self) -> String {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Close(Some(frame)))) => return frame.reason.to_string(),
                Some(Ok(message)) if !message.is_close() => {}
                other => panic!("no reason: {other:?}"),
            }
        }
    }

    /// Returns once the hub has ended the session.
    pub(crate) async fn wait_for_end(&mut self) {
        while let Some(Ok(message)) = self.socket.next().await {
            if message.is_close() {
                return;
            }
        }
    }

    pub(crate) async fn request(&mut self, message: &WorkerMessage) -> HubMessage {
        self.send(message).await;
        loop {
            match self.next().await {
                HubMessage::Renewed { .. } => {}
                answer => return answer,
            }
        }
    }

    /// Sends a message and expects its acknowledgement with this number.
    pub(crate) async fn send_acknowledged(&mut self, message: &WorkerMessage, number: u64) {
        let answer = self.request(message).await;
        assert!(
            matches!(answer, HubMessage::Ack { seq, .. } if seq == number),
            "not acknowledged: {answer:?}"
        );
    }

    /// Returns the next offer; sends renewals meanwhile, as workers do.
    pub(crate) async fn next_assignment(&mut self) -> TaskAssign {
        let until = tokio::time::Instant::now() + TEST_TIMEOUT;
        while tokio::time::Instant::now() < until {
            let renew = WorkerMessage::Renew {
                id: 0,
                leases: Vec::new(),
                waiting: Vec::new(),
            };
            self.send(&renew).await;
            let next_renewal = tokio::time::Instant::now() + Duration::from_millis(500);
            while let Ok(message) = timeout_at(next_renewal, self.next()).await {
                match message {
                    HubMessage::TaskAssign(assign) => return *assign,
                    HubMessage::Renewed { .. } => {}
                    other => panic!("no assignment: {other:?}"),
                }
            }
        }
        panic!("no assignment in time")
    }
}

/// The actor of changes that a test makes in the store.
pub(crate) fn by_test() -> AuditActor {
    AuditActor::on_database("test")
}

pub(crate) fn hello(worker: &str) -> Hello {
    Hello {
        v: 1,
        worker: worker.to_owned(),
        boot_id: "boot".to_owned(),
        version: String::new(),
        labels: vec!["linux".to_owned()],
        slots: 1,
        sandbox: None,
        capabilities: None,
        held: Vec::new(),
    }
}

pub(crate) fn entry(lease: &LeaseToken, seq: u64) -> EntryHeader {
    EntryHeader::new(lease.clone(), seq)
}

pub(crate) fn begin_run(entry: EntryHeader, attempt_number: u32) -> WorkerMessage {
    let effect = AttemptStart {
        attempt_number,
        from_tree: None,
    };
    WorkerMessage::BeginRun { entry, effect }
}

pub(crate) fn submit_report(
    entry: EntryHeader,
    attempt_number: u32,
    report: Value,
) -> WorkerMessage {
    let effect = AttemptReport {
        attempt_number,
        report,
    };
    WorkerMessage::SubmitReport { entry, effect }
}

pub(crate) fn complete(entry: EntryHeader, id: &str, result: TaskResult) -> WorkerMessage {
    let effect = TaskCompletion {
        completion_id: id.to_owned(),
        result: Box::new(result),
    };
    WorkerMessage::TaskComplete { entry, effect }
}
