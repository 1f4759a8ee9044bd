//! The connection to the hub, on a thread of its own with a runtime of its own: whatever the tasks do, the
//! leases are renewed. It is made again, with jitter, for as long as the worker lives.

use std::time::Duration;

use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use selvedge_core::fleet::{Hello, TaskAssign, WorkerMessage};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::conversation::{Conversation, Ended};
use super::lane::Lanes;
use crate::fleet::{Hub, HubError};

/// The longest wait before the connection is tried again, but for jitter.
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// The first one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Frames on their way to the hub; whoever sends more waits.
const QUEUED: usize = 64;

/// The way to the hub.
#[derive(Debug, Clone)]
pub(super) struct Link {
    frames: mpsc::Sender<Outgoing>,
}

/// A frame, and the connection that it is meant for: on any other it would come out of turn.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) connection: u64,
    pub(super) text: String,
}

/// What the link tells the worker.
#[derive(Debug)]
pub(super) enum News {
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
pub(super) struct Identity {
    pub(super) hello: Hello,
    pub(super) lanes: Lanes,
}

impl Link {
    /// Starts the thread. It ends with the process.
    pub(super) fn start(
        hub: Hub,
        identity: Identity,
        news: mpsc::Sender<News>,
    ) -> std::io::Result<Self> {
        let (frames, outgoing) = mpsc::channel(QUEUED);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("hub link".to_owned())
            .spawn(move || runtime.block_on(keep_up(hub, identity, news, outgoing)))?;
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
        let _ = self.frames.send(Outgoing { connection, text }).await;
    }
}

async fn keep_up(
    hub: Hub,
    identity: Identity,
    news: mpsc::Sender<News>,
    mut outgoing: mpsc::Receiver<Outgoing>,
) {
    let mut wait = FIRST_WAIT;
    for connection in 1_u64.. {
        let said = match hub.open_session().await {
            Ok(socket) => {
                let mut conversation = Conversation::new(connection, &identity, &news);
                let ended = conversation.hold(socket, &mut outgoing).await;
                if conversation.proven {
                    wait = FIRST_WAIT;
                }
                match ended {
                    Ended::Broken(why) => News::Disconnected(why),
                    Ended::Over => return,
                }
            }
            Err(error) if !error.passes() => News::Refused(error),
            Err(error) => News::Disconnected(error.to_string()),
        };
        for lane in identity.lanes.all() {
            lane.change(|standing| standing.connection = 0);
        }
        if news.send(said).await.is_err() {
            return;
        }
        // Half of it is jitter: after a hub's restart not all of its workers come at once.
        let pause = wait.mul_f64(0.5 + fastrand::f64() / 2.0);
        tokio::time::sleep(pause).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// The half that writes, on a task of its own: a hub that reads slowly must not keep us from reading.
pub(super) struct Writer {
    urgent: mpsc::Sender<String>,
    frames: mpsc::Sender<String>,
    task: tokio::task::JoinHandle<()>,
}

impl Writer {
    pub(super) fn new<S>(sink: SplitSink<WebSocketStream<S>, Message>) -> Self
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (urgent, urgent_queue) = mpsc::channel(8);
        let (frames, queue) = mpsc::channel(8);
        let task = tokio::spawn(write(sink, urgent_queue, queue));
        Self {
            urgent,
            frames,
            task,
        }
    }

    /// Before all others. `false` when it cannot be sent.
    pub(super) fn urgent(&self, message: &WorkerMessage) -> bool {
        serde_json::to_string(message).is_ok_and(|text| self.urgent.try_send(text).is_ok())
    }

    /// Waits for room.
    pub(super) async fn room(&self) -> Option<mpsc::Permit<'_, String>> {
        self.frames.reserve().await.ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn write<S>(
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
pub(super) async fn read<S>(stream: &mut S) -> Option<Result<String, String>>
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
