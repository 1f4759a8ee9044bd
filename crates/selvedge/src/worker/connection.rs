//! The connection to the hub, on a thread of its own with a runtime of its own: whatever the tasks do, the
//! leases are renewed. It is made again, with jitter, for as long as the worker lives.

use std::time::Duration;

use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use selvedge_core::protocol::{Hello, TaskAssign, WorkerMessage};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::connection_session::{ConnectionEnd, ConnectionSession};
use super::lease::LeaseTable;
use crate::hub_client::{HubClient, HubError};

/// The longest wait before the connection is tried again, but for jitter.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(15);
/// The first one.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(100);
/// Frames on their way to the hub; whoever sends more waits.
const FRAME_QUEUE_CAPACITY: usize = 64;

/// The way to the hub.
#[derive(Debug, Clone)]
pub(super) struct HubConnection {
    frames: mpsc::Sender<OutgoingFrame>,
}

/// A frame, and the connection that it is meant for: on any other it would come out of turn.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    pub(super) connection: u64,
    pub(super) text: String,
}

/// What the link tells the worker.
#[derive(Debug)]
pub(super) enum ConnectionEvent {
    /// An offer, and the connection that it came on.
    Offer(Box<TaskAssign>, u64),
    /// The hub wants us to finish what we have and take nothing more.
    Drain,
    /// The session stands, on this connection.
    Connected(u64),
    /// It cannot be made, or broke off; it is tried again.
    Disconnected(String),
    /// It will never be made.
    Refused(HubError),
}

/// Who we are, for `hello`.
#[derive(Debug, Clone)]
pub(super) struct WorkerIdentity {
    pub(super) hello: Hello,
    pub(super) leases: LeaseTable,
}

impl HubConnection {
    /// Starts the thread. It ends with the process.
    pub(super) fn start(
        hub: HubClient,
        identity: WorkerIdentity,
        news: mpsc::Sender<ConnectionEvent>,
    ) -> std::io::Result<Self> {
        let (frames, outgoing) = mpsc::channel(FRAME_QUEUE_CAPACITY);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("hub link".to_owned())
            .spawn(move || runtime.block_on(maintain_connection(hub, identity, news, outgoing)))?;
        Ok(Self { frames })
    }

    /// Sends a message on that connection; on any other it is dropped, for its sender will know.
    pub(super) async fn send(&self, connection: u64, message: &WorkerMessage) {
        if let Ok(text) = serde_json::to_string(message) {
            self.send_text(connection, text).await;
        }
    }

    pub(super) async fn send_text(&self, connection: u64, text: String) {
        // The thread ends with the process only.
        let _ = self.frames.send(OutgoingFrame { connection, text }).await;
    }
}

async fn maintain_connection(
    hub: HubClient,
    identity: WorkerIdentity,
    news: mpsc::Sender<ConnectionEvent>,
    mut outgoing: mpsc::Receiver<OutgoingFrame>,
) {
    let mut wait = MIN_RECONNECT_DELAY;
    for connection in 1_u64.. {
        let said = match hub.open_session().await {
            Ok(socket) => {
                let mut conversation = ConnectionSession::new(connection, &identity, &news);
                let ended = conversation.run_session(socket, &mut outgoing).await;
                if conversation.is_proven {
                    wait = MIN_RECONNECT_DELAY;
                }
                match ended {
                    ConnectionEnd::Broken(why) => ConnectionEvent::Disconnected(why),
                    ConnectionEnd::WorkerGone => return,
                }
            }
            Err(error) if !error.is_retryable() => ConnectionEvent::Refused(error),
            Err(error) => ConnectionEvent::Disconnected(error.to_string()),
        };
        for lane in identity.leases.all() {
            lane.update_status(|standing| standing.connection = 0);
        }
        if news.send(said).await.is_err() {
            return;
        }
        // Half of it is jitter: after a hub's restart not all of its workers come at once.
        let pause = wait.mul_f64(0.5 + fastrand::f64() / 2.0);
        tokio::time::sleep(pause).await;
        wait = (wait * 2).min(MAX_RECONNECT_DELAY);
    }
}

/// The half that writes, on a task of its own: a hub that reads slowly must not keep us from reading.
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

    /// Before all others. `false` when it cannot be sent.
    pub(super) fn send_urgent(&self, message: &WorkerMessage) -> bool {
        serde_json::to_string(message).is_ok_and(|text| self.urgent.try_send(text).is_ok())
    }

    /// Waits for room.
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

/// Reads text frames; none when the connection is over.
pub(super) async fn read_text_frame<S>(stream: &mut S) -> Option<Result<String, String>>
where
    S: futures_util::Stream<Item = Result<Message, tokio_tungstenite::tungstenite::Error>> + Unpin,
{
    loop {
        match stream.next().await? {
            Ok(Message::Text(text)) => return Some(Ok(text.as_str().to_owned())),
            Ok(Message::Close(_)) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error.to_string())),
        }
    }
}
