//! The connection to the hub. It has its own thread and runtime, so that leases are renewed whatever the tasks do. It
//! reconnects, with jitter, as long as the worker runs.

use std::path::Path;
use std::time::Duration;

use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use selvedge_protocol::{Hello, TaskAssign, WorkerMessage};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message};

use super::connection_session::{ConnectionEnd, ConnectionError, ConnectionSession};
use super::lease::LeaseTable;
use crate::hub_client::{HubClient, HubError};

/// Longest delay before a reconnection, before jitter.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(15);
/// First delay.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(100);
/// How often the token file is read while there is no connection.
const TOKEN_FILE_INTERVAL: Duration = Duration::from_millis(500);
/// Frames waiting to be sent; senders wait if the queue is full.
const FRAME_QUEUE_CAPACITY: usize = 64;

/// A handle to send messages to the hub.
#[derive(Debug, Clone)]
pub(super) struct HubConnection {
    frames: mpsc::Sender<OutgoingFrame>,
}

/// A frame for one connection only: on a later connection it would be out of order.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    pub(super) connection: u64,
    pub(super) text: String,
}

/// An event for the worker's main loop.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    /// An offer, and the connection that it was received on.
    Offer(Box<TaskAssign>, u64),
    /// The hub asks the worker to finish its tasks and accept no more.
    Drain,
    /// The session is established on this connection.
    Connected(u64),
    /// The connection failed or broke; it is tried again.
    Disconnected(String),
    /// The hub rejects this worker permanently.
    Refused(HubError),
}

/// Data for `hello`.
#[derive(Debug, Clone)]
pub(super) struct WorkerIdentity {
    pub(super) hello: Hello,
    pub(super) leases: LeaseTable,
}

impl HubConnection {
    /// Starts the connection's thread, which ends with the process.
    pub(super) fn start(
        hub: HubClient,
        identity: WorkerIdentity,
        events: mpsc::Sender<ConnectionEvent>,
    ) -> std::io::Result<Self> {
        let (frames, outgoing) = mpsc::channel(FRAME_QUEUE_CAPACITY);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("hub link".to_owned())
            .spawn(move || {
                runtime.block_on(maintain_connection(hub, identity, events, outgoing));
            })?;
        Ok(Self { frames })
    }

    /// Sends a message if this connection is still current; otherwise drops it, and the sender notices the new
    /// connection.
    pub(super) async fn send(&self, connection: u64, message: &WorkerMessage) {
        if let Ok(text) = serde_json::to_string(message) {
            self.send_text(connection, text).await;
        }
    }

    pub(super) async fn send_text(&self, connection: u64, text: String) {
        // Cannot fail: the thread ends with the process.
        let _ = self.frames.send(OutgoingFrame { connection, text }).await;
    }
}

async fn maintain_connection(
    hub: HubClient,
    identity: WorkerIdentity,
    events: mpsc::Sender<ConnectionEvent>,
    mut outgoing: mpsc::Receiver<OutgoingFrame>,
) {
    let mut wait = MIN_RECONNECT_DELAY;
    for connection in 1_u64.. {
        // The token may have been replaced since.
        hub.reload_token();
        let event = match hub.open_session().await {
            Ok(socket) => {
                let mut session = ConnectionSession::new(connection, &identity, &events);
                let ended = session.run_session(socket, &mut outgoing).await;
                if session.is_proven {
                    wait = MIN_RECONNECT_DELAY;
                }
                match ended {
                    ConnectionEnd::Broken(error) => {
                        ConnectionEvent::Disconnected(error.to_string())
                    }
                    ConnectionEnd::WorkerGone => return,
                }
            }
            Err(error) if error.is_unauthorized() && hub.token_file().is_some() => {
                let file = hub.token_file().unwrap_or(Path::new("")).display();
                ConnectionEvent::Disconnected(format!("{error}; waiting for a new token in {file}"))
            }
            Err(error) if !error.is_retryable() => ConnectionEvent::Refused(error),
            Err(error) => ConnectionEvent::Disconnected(error.to_string()),
        };
        for worker_lease in identity.leases.all() {
            worker_lease.update_status(|status| status.connection = 0);
        }
        let is_refused = matches!(event, ConnectionEvent::Refused(_));
        if events.send(event).await.is_err() || is_refused {
            return;
        }
        // Half of the delay is jitter, so that not all workers reconnect at once after a hub's restart.
        let pause = wait.mul_f64(0.5 + fastrand::f64() / 2.0);
        wait = (wait * 2).min(MAX_RECONNECT_DELAY);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = wait_for_new_token(&hub) => wait = MIN_RECONNECT_DELAY,
        }
    }
}

/// Returns once the token file contains another token.
async fn wait_for_new_token(hub: &HubClient) {
    loop {
        tokio::time::sleep(TOKEN_FILE_INTERVAL).await;
        if hub.reload_token() {
            return;
        }
    }
}

/// Writes frames in a separate task, so that a hub that reads slowly does not block reading.
pub(super) struct FrameWriter {
    urgent: mpsc::Sender<String>,
    frames: mpsc::Sender<String>,
    task: tokio::task::JoinHandle<()>,
}

impl FrameWriter {
    pub(super) fn new<S>(sink: SplitSink<WebSocketStream<S>, Message>) -> Self
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (urgent, urgent_queue) = mpsc::channel(8);
        let (frames, queue) = mpsc::channel(8);
        let task = tokio::spawn(write_frames(sink, urgent_queue, queue));
        Self {
            urgent,
            frames,
            task,
        }
    }

    /// Sends a message before all others. Returns `false` if it cannot be sent.
    pub(super) fn send_urgent(&self, message: &WorkerMessage) -> bool {
        serde_json::to_string(message).is_ok_and(|text| self.urgent.try_send(text).is_ok())
    }

    /// Waits until a frame can be queued.
    pub(super) async fn reserve_slot(&self) -> Option<mpsc::Permit<'_, String>> {
        self.frames.reserve().await.ok()
    }
}

impl Drop for FrameWriter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn write_frames<S>(
    mut sink: SplitSink<WebSocketStream<S>, Message>,
    mut urgent: mpsc::Receiver<String>,
    mut frames: mpsc::Receiver<String>,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    loop {
        let text = tokio::select! {
            biased;
            text = urgent.recv() => text,
            text = frames.recv() => text,
        };
        let Some(text) = text else { return };
        if sink.send(Message::text(text)).await.is_err() {
            return;
        }
    }
}

/// Reads the next text frame; `None` if the connection is closed.
pub(super) async fn read_text_frame<S>(stream: &mut S) -> Option<Result<String, ConnectionError>>
where
    S: futures_util::Stream<Item = Result<Message, tungstenite::Error>> + Unpin,
{
    loop {
        match stream.next().await? {
            Ok(Message::Text(text)) => return Some(Ok(text.as_str().to_owned())),
            Ok(Message::Close(Some(frame))) if !frame.reason.is_empty() => {
                return Some(Err(ConnectionError::Closed(frame.reason.to_string())));
            }
            Ok(Message::Close(_)) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error.into())),
        }
    }
}
