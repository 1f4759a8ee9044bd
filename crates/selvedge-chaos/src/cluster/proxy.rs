//! A proxy between a worker and its hub. It forwards bytes, recognizes the messages of a session by
//! their WebSocket frames, and drops, duplicates, delays or blocks them on request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::ChaosError;

/// An action on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyAction {
    /// The message never arrives.
    Drop,
    /// The message arrives twice.
    Duplicate,
    /// The message arrives late, and so does everything after it.
    Delay(Duration),
}

/// An action on the next messages of one type.
#[derive(Debug, Clone)]
pub struct ProxyRule {
    /// Type on the wire: `ack`, `renewed`, `task_accept`, ….
    pub message: &'static str,
    /// Treatment of these messages.
    pub action: ProxyAction,
    /// How many more messages it applies to.
    pub remaining: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToHub,
    ToWorker,
}

/// Blocked directions, and how often all connections were cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProxyState {
    to_hub: bool,
    to_worker: bool,
    cuts: u64,
}

/// A proxy on loopback.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: String,
    upstreams: Arc<Mutex<Vec<String>>>,
    state: watch::Sender<ProxyState>,
    rules: Arc<Mutex<Vec<ProxyRule>>>,
    applied: Arc<Mutex<u64>>,
}

impl Proxy {
    /// Starts a proxy on a free port; without upstreams it closes every connection.
    pub async fn start() -> Result<Self, ChaosError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = Self {
            address: listener.local_addr()?.to_string(),
            upstreams: Arc::default(),
            state: watch::Sender::new(ProxyState::default()),
            rules: Arc::default(),
            applied: Arc::default(),
        };
        let own = proxy.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(own.clone().serve_connection(socket));
            }
        });
        Ok(proxy)
    }

    /// The address that it listens on.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sets the hubs to connect to; connections take turns.
    pub fn set_upstreams(&self, upstreams: Vec<String>) {
        *self
            .upstreams
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = upstreams;
    }

    /// Blocks or unblocks each direction. Blocked bytes arrive once the direction is unblocked.
    pub fn block(&self, to_hub: bool, to_worker: bool) {
        self.state
            .send_modify(|it| (it.to_hub, it.to_worker) = (to_hub, to_worker));
    }

    /// Cuts all connections.
    pub fn drop_connections(&self) {
        self.state.send_modify(|it| it.cuts += 1);
    }

    /// Adds a rule; the first rule that matches a message applies.
    pub fn add_rule(&self, rule: ProxyRule) {
        self.rules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(rule);
    }

    /// Unblocks both directions and removes all rules; returns how often a rule was applied since the
    /// last reset.
    pub fn reset(&self) -> u64 {
        self.block(false, false);
        self.rules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        std::mem::take(&mut *self.applied.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn serve_connection(self, worker: TcpStream) {
        let upstream = {
            let mut upstreams = self
                .upstreams
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if !upstreams.is_empty() {
                upstreams.rotate_left(1);
            }
            upstreams.last().cloned()
        };
        let Some(upstream) = upstream else { return };
        // The hub is down: the worker sees a connection that ends at once.
        let Ok(hub) = TcpStream::connect(upstream).await else {
            return;
        };
        // Send small frames immediately; a socket without this option still works.
        let _ = (worker.set_nodelay(true), hub.set_nodelay(true));
        let framed = Arc::new(AtomicBool::new(false));
        let mut state = self.state.subscribe();
        let cuts = state.borrow_and_update().cuts;
        let (from_worker, to_worker) = worker.into_split();
        let (from_hub, to_hub) = hub.into_split();
        tokio::select! {
            () = self.relay(Direction::ToHub, from_worker, to_hub, &framed) => {}
            () = self.relay(Direction::ToWorker, from_hub, to_worker, &framed) => {}
            _ = state.wait_for(|it| it.cuts != cuts) => {}
        }
    }

    /// Forwards one direction until either side ends.
    async fn relay(
        &self,
        way: Direction,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        framed: &AtomicBool,
    ) {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match from.read(&mut chunk).await {
                Ok(count) if count > 0 => bytes.extend_from_slice(&chunk[..count]),
                _ => return,
            }
            while let Some(part) = next_chunk(&bytes, way, framed) {
                let message: Vec<u8> = bytes.drain(..part).collect();
                let times = if framed.load(Ordering::Relaxed) {
                    self.delivery_count(&message, way).await
                } else {
                    1
                };
                self.wait_unblocked(way).await;
                for _ in 0..times {
                    if to.write_all(&message).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn wait_unblocked(&self, way: Direction) {
        let mut state = self.state.subscribe();
        let open = |it: &ProxyState| match way {
            Direction::ToHub => !it.to_hub,
            Direction::ToWorker => !it.to_worker,
        };
        // `self` holds the sender, so the channel stays open.
        let _ = state.wait_for(open).await;
    }

    /// How often a frame is forwarded; applies the delay, if any.
    async fn delivery_count(&self, frame: &[u8], way: Direction) -> u32 {
        let text = payload_prefix(frame, way);
        let what = {
            let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
            let applies = |rule: &&mut ProxyRule| {
                rule.remaining > 0 && text.contains(&format!("\"type\":\"{}\"", rule.message))
            };
            let Some(rule) = rules.iter_mut().find(applies) else {
                return 1;
            };
            rule.remaining -= 1;
            rule.action
        };
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        match what {
            ProxyAction::Drop => 0,
            ProxyAction::Duplicate => 2,
            ProxyAction::Delay(by) => {
                tokio::time::sleep(by).await;
                1
            }
        }
    }
}

/// Length of the next unit to forward: a frame, the head of a WebSocket upgrade, or all available
/// bytes. `None` if it is not complete yet.
fn next_chunk(bytes: &[u8], way: Direction, framed: &AtomicBool) -> Option<usize> {
    if bytes.is_empty() {
        return None;
    }
    if framed.load(Ordering::Relaxed) {
        return frame_length(bytes);
    }
    if way == Direction::ToWorker && bytes.starts_with(b"HTTP/1.1 101") {
        let head = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
        framed.store(true, Ordering::Relaxed);
        return Some(head);
    }
    Some(bytes.len())
}

/// Length of a WebSocket frame; `None` until all of it has arrived.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let (start, length) = payload_range(bytes)?;
    let end = start + length;
    (bytes.len() >= end).then_some(end)
}

/// Start and length of a frame's payload.
fn payload_range(bytes: &[u8]) -> Option<(usize, usize)> {
    let second = *bytes.get(1)?;
    let (length, head) = match second & 0x7f {
        126 => (
            usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
            4,
        ),
        127 => {
            let long = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            (usize::try_from(long).ok()?, 10)
        }
        short => (usize::from(short), 2),
    };
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    Some((head + mask, length))
}

/// The first 200 bytes of a frame's text, unmasked; they contain the message type.
fn payload_prefix(bytes: &[u8], way: Direction) -> String {
    let Some((start, length)) = payload_range(bytes) else {
        return String::new();
    };
    let most = length.min(200);
    let Some(text) = bytes.get(start..start + most) else {
        return String::new();
    };
    let mut text = text.to_vec();
    if way == Direction::ToHub && start >= 4 {
        let mask = &bytes[start - 4..start];
        for (byte, mask) in text.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_reader_splits_masked_and_unmasked_frames() {
        let plain = [&[0x81, 5][..], b"hello", &[0x81, 1]].concat();
        assert_eq!(frame_length(&plain), Some(7));
        assert_eq!(frame_length(&plain[7..]), None, "the rest is not there yet");
        assert_eq!(payload_prefix(&plain, Direction::ToWorker), "hello");
        let mask = [1, 2, 3, 4];
        let masked: Vec<u8> = b"hello"
            .iter()
            .zip(mask.iter().cycle())
            .map(|(a, b)| a ^ b)
            .collect();
        let frame = [&[0x81, 0x85][..], &mask, &masked].concat();
        assert_eq!(payload_prefix(&frame, Direction::ToHub), "hello");
        let long = [&[0x81, 126, 1, 0][..], &[b'x'; 256]].concat();
        assert_eq!(frame_length(&long), Some(260));
    }
}
