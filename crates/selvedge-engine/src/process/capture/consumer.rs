//! A consumer reads a stream while it is captured, on its own thread behind a bounded queue. A slow
//! consumer slows the program down; it never increases memory use.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::task::JoinHandle;

/// Chunks on their way to the consumer.
const QUEUE_CAPACITY: usize = 4;

/// Reads a stream while it is captured.
pub trait OutputConsumer: Send {
    /// Receives the next bytes of the stream, cut at any position. May block.
    fn take(&mut self, chunk: &[u8]);

    /// Called once at the end of the stream, also when the session was stopped or dropped.
    fn finish(&mut self) {}
}

/// The reading thread's end of the queue.
#[derive(Debug)]
pub(super) struct ConsumerFeed {
    filled: SyncSender<Vec<u8>>,
    /// Buffers returned by the consumer's thread, so that heavy output causes no allocations.
    emptied: Receiver<Vec<u8>>,
}

impl ConsumerFeed {
    /// Starts the consumer's thread, which ends when the feed is dropped and the queue is empty.
    pub(super) fn start(mut consumer: Box<dyn OutputConsumer>) -> (Self, JoinHandle<()>) {
        let (filled, chunks) = sync_channel::<Vec<u8>>(QUEUE_CAPACITY);
        let (give_back, emptied) = sync_channel(QUEUE_CAPACITY);
        let thread = tokio::task::spawn_blocking(move || {
            while let Ok(chunk) = chunks.recv() {
                consumer.take(&chunk);
                // If the return queue is full or closed, the next push allocates a buffer.
                let _ = give_back.try_send(chunk);
            }
            consumer.finish();
        });
        (Self { filled, emptied }, thread)
    }

    /// Hands over a copy; blocks while the queue is full. A consumer that panicked receives nothing
    /// more; joining its thread reports the panic.
    pub(super) fn push(&self, chunk: &[u8]) {
        let mut buffer = self.emptied.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(chunk);
        let _ = self.filled.send(buffer);
    }
}
