//! A worker's session: one WebSocket, over which the hub offers tasks and the worker sends entries.
//!
//! Every entry is answered after its commit, in the order in which entries arrived. At most [`MAX_IN_FLIGHT`]
//! entries wait for the store at a time; then the socket is not read, so that a slow store slows workers down
//! instead of filling memory.

mod handshake;
mod messages;
mod placement;
mod quarantine;
mod registry;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::Response;
use futures_util::stream::{FuturesOrdered, SplitSink};
use futures_util::{FutureExt, SinkExt, StreamExt};
use selvedge_protocol::{
    CLOSE_ACCESS_ENDED, CLOSE_NAME_IN_USE, HubMessage, SESSION_PROTOCOL, WorkerMessage,
};
use selvedge_store::fault;
use selvedge_store::hub::ApiToken;
use tokio::sync::mpsc;
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant, timeout, timeout_at};

use self::messages::{AnswerFuture, handle_message};
pub(crate) use self::placement::TaskNeeds;
pub use self::quarantine::QuarantineRules;
pub(crate) use self::registry::{PeerWorker, WorkerRegistry};
use self::registry::{SessionHandle, WorkerRefusedError};
use crate::access::Caller;
use crate::active_access::AccessKey;
use crate::hub::Hub;

/// Maximum number of entries of one session that wait for the store.
const MAX_IN_FLIGHT: usize = 64;
/// Maximum size of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Initial size of a session's buffers in bytes: a thousand idle workers must not need much memory.
const BUFFER_BYTES: usize = 4 * 1024;
/// Capacity of the queue of messages to one worker.
const OUTGOING_BUFFER: usize = 256;
/// How long a worker may take to send its hello.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionEnd {
    /// The worker disconnected.
    Disconnected,
    /// The worker was silent for too long.
    TimedOut,
    /// The worker sent an invalid message.
    ProtocolError,
    /// Its token is no longer valid.
    AccessEnded,
    /// Another worker of the same name is connected.
    NameInUse,
    /// Another session of the same worker replaced it.
    Replaced,
}

/// The route's handler.
pub(crate) async fn upgrade(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .protocols([SESSION_PROTOCOL])
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_write_buffer_size(2 * MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| async move {
            let ended = WorkerSession::new(hub, caller.0).run(socket).await;
            tracing::debug!(?ended, "worker session ended");
        })
}

struct WorkerSession {
    hub: Arc<Hub>,
    identity: ApiToken,
}

impl WorkerSession {
    const fn new(hub: Arc<Hub>, identity: ApiToken) -> Self {
        Self { hub, identity }
    }

    async fn run(self, socket: WebSocket) -> SessionEnd {
        let (mut sink, mut stream) = socket.split();
        let first = match timeout(
            HANDSHAKE_TIMEOUT.min(self.hub.settings.patience),
            stream.next(),
        )
        .await
        {
            Ok(Some(Ok(first))) => first,
            Ok(_) => return SessionEnd::Disconnected,
            Err(_) => return SessionEnd::TimedOut,
        };
        let Some(WorkerMessage::Hello(hello)) = parse_message(&first) else {
            return SessionEnd::ProtocolError;
        };
        let mut access = self.hub.active_access.open(AccessKey {
            token_id: Some(self.identity.token_id),
            session_id: None,
        });
        let (outgoing, mut waiting) = mpsc::channel(OUTGOING_BUFFER);
        let silence_timeout = self.hub.settings.timing.renew_interval() * 2;
        let project = handshake::served_project(&self.identity);
        let connected = self
            .hub
            .sessions
            .connect(&hello, project, silence_timeout, outgoing);
        let handle = match connected {
            Ok(handle) => handle,
            Err(error) => {
                tracing::warn!(%error, "a worker was refused");
                let (code, ended) = match error {
                    WorkerRefusedError::NameInUse(_) => (CLOSE_NAME_IN_USE, SessionEnd::NameInUse),
                    WorkerRefusedError::TooLong | WorkerRefusedError::InvalidName => {
                        (close_code::POLICY, SessionEnd::ProtocolError)
                    }
                };
                close_with(&mut sink, code, &error.to_string()).await;
                return ended;
            }
        };
        let answers = handshake::answer_held_leases(&self.hub, &handle, &hello).await;
        let ended = match answers {
            None => SessionEnd::Disconnected,
            Some(answers) => {
                let welcome = handshake::welcome_message(&self.hub, answers.clone());
                if send_messages(&mut sink, &[welcome]).await.is_err() {
                    SessionEnd::Disconnected
                } else {
                    self.hub.sessions.mark_ready(&handle, &answers);
                    self.hub.wake.notify_one();
                    let serving = self.serve(&handle, &mut sink, &mut stream, &mut waiting);
                    tokio::select! {
                        biased;
                        () = access.ended() => SessionEnd::AccessEnded,
                        ended = serving => ended,
                    }
                }
            }
        };
        self.hub.sessions.disconnect(&handle);
        if ended == SessionEnd::AccessEnded {
            let reason = "the token was revoked or has expired";
            close_with(&mut sink, CLOSE_ACCESS_ENDED, reason).await;
        } else {
            // Sends a close frame; a client that has gone does not receive it.
            let _ = sink.close().await;
        }
        ended
    }

    async fn serve(
        &self,
        handle: &SessionHandle,
        sink: &mut SplitSink<WebSocket, Message>,
        stream: &mut futures_util::stream::SplitStream<WebSocket>,
        waiting: &mut mpsc::Receiver<HubMessage>,
    ) -> SessionEnd {
        let mut answers = FuturesOrdered::new();
        // A worker renews three times per TTL, even if it holds no task.
        let silence_timeout = self.hub.settings.timing.ttl() * 2;
        // Counts from the last received message: messages to the worker do not show that it is alive.
        let mut last_message_at = Instant::now();
        loop {
            let room = answers.len() < MAX_IN_FLIGHT;
            tokio::select! {
                biased;
                Some(mut replies) = answers.next(), if !answers.is_empty() => {
                    drain_ready(&mut answers, &mut replies);
                    if send_messages(sink, &replies).await.is_err() {
                        return SessionEnd::Disconnected;
                    }
                }
                message = waiting.recv() => {
                    let Some(message) = message else { return SessionEnd::Replaced };
                    let pending = std::iter::from_fn(|| waiting.try_recv().ok());
                    let replies: Vec<_> = std::iter::once(message).chain(pending.take(OUTGOING_BUFFER)).collect();
                    if send_messages(sink, &replies).await.is_err() {
                        return SessionEnd::Disconnected;
                    }
                }
                message = timeout_at(last_message_at + silence_timeout, stream.next()), if room => {
                    last_message_at = Instant::now();
                    let message = match message {
                        Err(_) => return SessionEnd::TimedOut,
                        Ok(None | Some(Err(_))) => return SessionEnd::Disconnected,
                        Ok(Some(Ok(message))) => message,
                    };
                    match message {
                        Message::Close(_) => return SessionEnd::Disconnected,
                        Message::Ping(_) | Message::Pong(_) => {}
                        Message::Text(_) | Message::Binary(_) => {
                            let Some(message) = parse_message(&message) else { return SessionEnd::ProtocolError };
                            if has_files(&message) {
                                // The message needs a lookup first, and earlier answers must be sent before
                                // it.
                                while let Some(replies) = answers.next().await {
                                    if send_messages(sink, &replies).await.is_err() {
                                        return SessionEnd::Disconnected;
                                    }
                                }
                            }
                            // When a task has used up its budget, tokio lets what it waits for continue in reverse
                            // order, and a later entry would be written before an earlier one.
                            let answer = handle_message(Arc::clone(&self.hub), handle.clone(), message);
                            answers.push_back(unconstrained(answer));
                        }
                    }
                }
            }
        }
    }
}

/// Closes a session and gives the reason. A client that has gone does not receive it.
async fn close_with(sink: &mut SplitSink<WebSocket, Message>, code: u16, reason: &str) {
    // The reason of a close frame has at most 123 bytes.
    let mut reason = reason.to_owned();
    reason.truncate(reason.floor_char_boundary(123));
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    let _ = sink.send(Message::Close(Some(frame))).await;
    let _ = sink.close().await;
}

fn has_files(message: &WorkerMessage) -> bool {
    messages::entry(message).is_some_and(|entry| !entry.files.is_empty())
}

fn parse_message(message: &Message) -> Option<WorkerMessage> {
    let text = match message {
        Message::Text(text) => text.as_str(),
        Message::Binary(bytes) => std::str::from_utf8(bytes).ok()?,
        _ => return None,
    };
    serde_json::from_str(text)
        .inspect_err(|error| tracing::warn!(%error, "cannot read a worker's message"))
        .ok()
}

/// Adds the answers that are already available: one commit produces many.
fn drain_ready(
    answers: &mut FuturesOrdered<Unconstrained<AnswerFuture>>,
    replies: &mut Vec<HubMessage>,
) {
    while let Some(Some(answer)) = answers.next().now_or_never() {
        replies.extend(answer);
    }
}

/// Sends several messages at once.
async fn send_messages(
    sink: &mut SplitSink<WebSocket, Message>,
    messages: &[HubMessage],
) -> Result<(), axum::Error> {
    for message in messages {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        fault::failpoint("hub.answer.before");
        sink.feed(Message::text(text)).await?;
    }
    let sent = sink.flush().await;
    fault::failpoint("hub.answer.sent");
    sent
}
