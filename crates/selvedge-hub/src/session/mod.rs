//! A worker's session: one WebSocket, over which it is offered tasks and writes what becomes of them.
//!
//! Every entry is answered after its commit, in the order in which entries came. At most
//! [`IN_FLIGHT`] wait for the store at a time; while they do, the socket is not read, so a slow
//! store slows workers down instead of filling memory.

mod greeting;
mod messages;
mod registry;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream::{FuturesOrdered, SplitSink};
use futures_util::{FutureExt, SinkExt, StreamExt};
use selvedge_core::fleet::{HubMessage, SESSION_PROTOCOL, WorkerMessage};
use selvedge_store::fault;
use selvedge_store::hub::Identity;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use self::messages::{Answering, answer};
use self::registry::Seat;
pub(crate) use self::registry::{Registry, Told};
use crate::access::{Caller, bearer};
use crate::auth;
use crate::hub::Hub;

/// Entries of one session that wait for the store.
const IN_FLIGHT: usize = 64;
/// Bytes of one message.
const MESSAGE: usize = 16 * 1024 * 1024;
/// Bytes that a session's buffers begin with: a thousand idle workers must not cost much.
const BUFFER: usize = 4 * 1024;
/// Messages to one worker that wait for its socket.
const OUTGOING: usize = 256;
/// How long a worker may take to say who it is.
const GREETING: Duration = Duration::from_secs(10);

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The worker went away.
    Gone,
    /// It was silent for too long.
    Silent,
    /// It said something that cannot be understood.
    Nonsense,
    /// Its token counts no more, or another session of the same name took its place.
    Replaced,
}

/// The route.
pub(crate) async fn upgrade(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let secret = bearer(&headers).map(auth::hash);
    upgrade
        .protocols([SESSION_PROTOCOL])
        .max_message_size(MESSAGE)
        .max_frame_size(MESSAGE)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_write_buffer_size(2 * MESSAGE)
        .on_upgrade(move |socket| async move {
            let ended = Session::new(hub, caller.0, secret).run(socket).await;
            tracing::debug!(?ended, "a worker's session ended");
        })
}

struct Session {
    hub: Arc<Hub>,
    identity: Identity,
    /// The hash of its token, by which it is looked up again.
    secret: Option<[u8; 32]>,
}

impl Session {
    fn new(hub: Arc<Hub>, identity: Identity, secret: Option<[u8; 32]>) -> Self {
        Self {
            hub,
            identity,
            secret,
        }
    }

    /// Whether its token still counts: another hub on the same database may have revoked it, and it may
    /// have ended by itself. A store that cannot say ends nobody.
    async fn is_welcome(&self) -> bool {
        let Some(secret) = self.secret else {
            return false;
        };
        let known = self.hub.store.by_hash(secret).await;
        known.is_err() || known.is_ok_and(|identity| identity.is_some())
    }

    async fn run(self, socket: WebSocket) -> Ended {
        let (mut sink, mut stream) = socket.split();
        let first = match timeout(GREETING.min(self.hub.settings.patience), stream.next()).await {
            Ok(Some(Ok(first))) => first,
            Ok(_) => return Ended::Gone,
            Err(_) => return Ended::Silent,
        };
        let Some(WorkerMessage::Hello(hello)) = read(&first) else {
            return Ended::Nonsense;
        };
        let (outgoing, mut waiting) = mpsc::channel(OUTGOING);
        let seat = self
            .hub
            .sessions
            .enter(&hello, self.identity.token_id, outgoing);
        let ended = match greeting::welcome(&self.hub, &self.identity, &hello).await {
            None => Ended::Gone,
            Some(answers) => {
                let welcome = greeting::said(&self.hub, answers.clone());
                if tell(&mut sink, &[welcome]).await.is_err() {
                    Ended::Gone
                } else {
                    self.hub.sessions.seated(&seat, &answers);
                    self.hub.wake.notify_one();
                    self.serve(&seat, &mut sink, &mut stream, &mut waiting)
                        .await
                }
            }
        };
        self.hub.sessions.leave(&seat);
        // Whoever is to go is told so; one that is gone cannot be.
        let _ = sink.close().await;
        ended
    }

    async fn serve(
        &self,
        seat: &Seat,
        sink: &mut SplitSink<WebSocket, Message>,
        stream: &mut futures_util::stream::SplitStream<WebSocket>,
        waiting: &mut mpsc::Receiver<HubMessage>,
    ) -> Ended {
        let mut answers = FuturesOrdered::new();
        // A worker renews three times in one TTL, whether it holds anything or not.
        let silence = self.hub.settings.timing.ttl() * 2;
        // Counted from what was heard last: what is sent to it says nothing of whether it lives.
        let mut heard = Instant::now();
        loop {
            let room = answers.len() < IN_FLIGHT;
            tokio::select! {
                biased;
                Some(mut said) = answers.next(), if !answers.is_empty() => {
                    also_ready(&mut answers, &mut said);
                    if tell(sink, &said).await.is_err() {
                        return Ended::Gone;
                    }
                }
                message = waiting.recv() => {
                    let Some(message) = message else { return Ended::Replaced };
                    let also = std::iter::from_fn(|| waiting.try_recv().ok());
                    let said: Vec<_> = std::iter::once(message).chain(also.take(OUTGOING)).collect();
                    if tell(sink, &said).await.is_err() {
                        return Ended::Gone;
                    }
                }
                message = timeout_at(heard + silence, stream.next()), if room => {
                    heard = Instant::now();
                    let message = match message {
                        Err(_) => return Ended::Silent,
                        Ok(None | Some(Err(_))) => return Ended::Gone,
                        Ok(Some(Ok(message))) => message,
                    };
                    match message {
                        Message::Close(_) => return Ended::Gone,
                        Message::Ping(_) | Message::Pong(_) => {}
                        Message::Text(_) | Message::Binary(_) => {
                            let Some(message) = read(&message) else { return Ended::Nonsense };
                            let renews = matches!(message, WorkerMessage::Renew { .. });
                            if renews && !self.is_welcome().await {
                                return Ended::Replaced;
                            }
                            if names_blobs(&message) {
                                // It has to be looked up first, and must not be overtaken.
                                while let Some(said) = answers.next().await {
                                    if tell(sink, &said).await.is_err() {
                                        return Ended::Gone;
                                    }
                                }
                            }
                            answers.push_back(answer(Arc::clone(&self.hub), seat.clone(), message));
                        }
                    }
                }
            }
        }
    }
}

fn names_blobs(message: &WorkerMessage) -> bool {
    messages::entry(message).is_some_and(|entry| !entry.files.is_empty())
}

fn read(message: &Message) -> Option<WorkerMessage> {
    let text = match message {
        Message::Text(text) => text.as_str(),
        Message::Binary(bytes) => std::str::from_utf8(bytes).ok()?,
        _ => return None,
    };
    serde_json::from_str(text)
        .inspect_err(|error| tracing::warn!(%error, "a worker's message cannot be read"))
        .ok()
}

/// Adds the answers that are there by now: one commit brings many.
fn also_ready(answers: &mut FuturesOrdered<Answering>, said: &mut Vec<HubMessage>) {
    while let Some(Some(answer)) = answers.next().now_or_never() {
        said.extend(answer);
    }
}

/// Sends messages together.
async fn tell(
    sink: &mut SplitSink<WebSocket, Message>,
    messages: &[HubMessage],
) -> Result<(), axum::Error> {
    for message in messages {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        fault::reached("hub.answer.before");
        sink.feed(Message::text(text)).await?;
    }
    let sent = sink.flush().await;
    fault::reached("hub.answer.sent");
    sent
}
