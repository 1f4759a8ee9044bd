//! A scripted model on loopback, over real HTTP. It implements Anthropic's Messages API as Claude Code
//! uses it, OpenAI's two APIs, and those of Gemini and Ollama. Every request is recorded before it is
//! answered, so that a test can inspect what the agent was sent. It must never sleep, never connect to
//! other hosts, and never outlive its handle.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod reply;
mod request;
mod script;
mod sessions;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::oneshot;

pub use request::{RecordedRequest, ReplySource};
pub use script::{ModelScript, ScriptedToolCall, ScriptedTurn, TurnFault, TurnUsage};

use crate::watched_value::{WAIT_TIMEOUT, WatchedValue};
use reply::ServerReply;
use sessions::ScriptedSessions;

/// A running scripted model server. It stops when dropped and closes its open connections.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    record: Arc<WatchedValue<ModelServerState>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The state of the server: the script with its bookkeeping, and the requests so far.
#[derive(Debug)]
struct ModelServerState {
    sessions: ScriptedSessions,
    requests: Vec<RecordedRequest>,
}

impl ModelServer {
    /// Serves `script` on a free port of the loopback interface.
    pub fn start(script: impl Into<ModelScript>) -> Self {
        let sessions = ScriptedSessions::new(script.into());
        let record = Arc::new(WatchedValue::new(ModelServerState {
            sessions,
            requests: Vec::new(),
        }));
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on loopback");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel();
        let router = build_router(Arc::clone(&record));
        let thread = std::thread::spawn(move || serve(listener, router, stopped));
        Self {
            address,
            record,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The base URL: the value for `ANTHROPIC_BASE_URL` or `OLLAMA_HOST`. OpenAI's clients need `/v1`
    /// appended.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.record.get().requests.clone()
    }

    /// The requests of one session's main conversation, counted from 1.
    pub fn requests_of(&self, session: usize) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.session() == Some(session));
        requests
    }

    /// The first prompt of each session, in the order in which the sessions opened.
    pub fn prompts(&self) -> Vec<String> {
        let sessions = (1..).map(|number| self.requests_of(number));
        let firsts = sessions.map_while(|requests| requests.first().map(RecordedRequest::prompt));
        firsts.collect()
    }

    /// Number of turns of the script that were not requested; 0 after all turns were used.
    pub fn turns_left(&self) -> usize {
        self.record.get().sessions.turns_left()
    }

    /// Waits for the request with this index, counted from 0 in the order of arrival; `None` if
    /// `patience` runs out first.
    pub fn wait_for_request(&self, index: usize, patience: Duration) -> Option<RecordedRequest> {
        self.record
            .wait_for(patience, |record| record.requests.get(index).cloned())
    }

    /// Waits until a turn is requested, so that a test can kill or inspect the client at that moment.
    /// Sessions and turns are counted from 1.
    #[track_caller]
    pub fn wait_for_turn(&self, session: usize, turn: usize) -> RecordedRequest {
        let found = self.record.wait_for(WAIT_TIMEOUT, |record| {
            let wanted = ReplySource::Turn { session, turn };
            record
                .requests
                .iter()
                .find(|request| request.answer == wanted)
                .cloned()
        });
        found.unwrap_or_else(|| {
            let answers: Vec<_> = self
                .requests()
                .iter()
                .map(|request| request.answer)
                .collect();
            panic!("turn {turn} of session {session} was not asked for, only {answers:?}")
        })
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has already been printed; another panic here would abort
            // the test.
            let _ = thread.join();
        }
    }
}

/// Serves until `stopped` resolves. Returning drops the runtime and with it all open connections.
pub(crate) fn serve(listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for the server");
    runtime.block_on(async move {
        listener
            .set_nonblocking(true)
            .expect("a socket that does not block");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket for tokio");
        tokio::select! {
            result = axum::serve(listener, router) => result.expect("the server serves"),
            _ = stopped => {}
        }
    });
}

fn build_router(record: Arc<WatchedValue<ModelServerState>>) -> Router {
    // Some tests inspect large prompts, so the body has no size limit.
    let unlimited = DefaultBodyLimit::disable();
    Router::new()
        .fallback(handle_request)
        .layer(unlimited)
        .with_state(record)
}

async fn handle_request(
    State(record): State<Arc<WatchedValue<ModelServerState>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = RecordedRequest {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into(),
                )
            })
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        answer: ReplySource::NoSuchPath,
    };
    let reply = record.update(|record| record.answer(request));
    reply.into_response().await
}

impl ModelServerState {
    fn answer(&mut self, mut request: RecordedRequest) -> ServerReply {
        let (answer, reply) = match (request.method.as_str(), request.path.as_str()) {
            ("GET" | "HEAD", "/") => (ReplySource::Side, ServerReply::text("Ollama is running")),
            (_, path) if openai::is_path(path) => openai::answer(&request, &mut self.sessions),
            ("POST", path) if gemini::is_path(path) => gemini::answer(&request, &mut self.sessions),
            ("POST", path) if path.starts_with("/v1/") => {
                anthropic::answer(&request, &mut self.sessions)
            }
            (_, path) if path.starts_with("/api/") => ollama::answer(&request, &mut self.sessions),
            _ => (ReplySource::NoSuchPath, ServerReply::path_not_found()),
        };
        request.answer = answer;
        self.requests.push(request);
        reply
    }
}
