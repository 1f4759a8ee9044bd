//! Somebody who reads a stream along while it is captured, on a thread of its own behind a bounded
//! queue. A slow consumer slows the program down; it never makes memory grow.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::task::JoinHandle;

/// Chunks on their way to the consumer.
const QUEUE_CAPACITY: usize = 4;

/// Reads a stream along.
pub trait OutputConsumer: Send {
    /// The next bytes of the stream, cut anywhere. May block.
    fn take(&mut self, chunk: &[u8]);

    /// The stream is over. Called once, also when the session was stopped or dropped.
    fn finish(&mut self) {}
}

/// The reading thread's end of the queue.
#[derive(Debug)]
pub(super) struct ConsumerFeed {
    filled: SyncSender<Vec<u8>>,
    /// Buffers that come back, so that a flood allocates nothing.
    emptied: Receiver<Vec<u8>>,
}

impl ConsumerFeed {
    /// Starts the consumer's thread. Ends when the feed is dropped and the queue is worked off.
    pub(super) fn start(mut consumer: Box<dyn OutputConsumer>) -> (Self, JoinHandle<()>) {
        let (filled, chunks) = sync_channel::<Vec<u8>>(QUEUE_CAPACITY);
        let (give_back, emptied) = sync_channel(QUEUE_CAPACITY);
        let thread = tokio::task::spawn_blocking(move || {
            while let Ok(chunk) = chunks.recv() {
                consumer.take(&chunk);
                // A full or closed way back only costs an allocation.
                let _ = give_back.try_send(chunk);
            }
            consumer.finish();
        });
        (Self { filled, emptied }, thread)
    }

    /// Hands over a copy; blocks while the queue is full. A consumer that panicked takes no more,
    /// which its thread's handle tells.
    pub(super) fn push(&self, chunk: &[u8]) {
        let mut buffer = self.emptied.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(chunk);
        let _ = self.filled.send(buffer);
    }
}
