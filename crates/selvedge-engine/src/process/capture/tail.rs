//! The last bytes of a stream, in a ring buffer of fixed size.

/// Keeps the last `capacity` bytes that were pushed.
#[derive(Debug)]
pub(super) struct TailBuffer {
    /// Grows up to `capacity`, then is overwritten cyclically.
    ring: Vec<u8>,
    capacity: usize,
    /// Index of the next byte once the ring is full, and so of the oldest byte.
    next: usize,
}

impl TailBuffer {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            ring: Vec::new(),
            capacity,
            next: 0,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(self.capacity)..];
        let room = self.capacity - self.ring.len();
        let (grown, over) = chunk.split_at(room.min(chunk.len()));
        self.ring.extend_from_slice(grown);
        let (to_end, from_start) = over.split_at(over.len().min(self.ring.len() - self.next));
        self.ring[self.next..self.next + to_end.len()].copy_from_slice(to_end);
        self.ring[..from_start.len()].copy_from_slice(from_start);
        if !over.is_empty() {
            self.next = (self.next + over.len()) % self.capacity;
        }
    }

    /// The last `count` bytes in order, or fewer if there are fewer.
    pub(super) fn last_bytes(&self, count: usize) -> Vec<u8> {
        let (newer, older) = self.ring.split_at(self.next);
        let mut bytes = Vec::with_capacity(self.ring.len());
        bytes.extend_from_slice(older);
        bytes.extend_from_slice(newer);
        let surplus = bytes.len().saturating_sub(count);
        bytes.drain(..surplus);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::TailBuffer;

    #[test]
    fn tail_buffer_keeps_last_bytes() {
        let stream: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for sizes in [&[1][..], &[7, 3], &[16], &[17, 1], &[40, 5, 16], &[1000]] {
            let mut tail = TailBuffer::new(16);
            let (mut pushed, mut sizes) = (0, sizes.iter().cycle());
            while pushed < stream.len() {
                let end = stream.len().min(pushed + sizes.next().unwrap());
                tail.push(&stream[pushed..end]);
                pushed = end;
                assert_eq!(
                    tail.last_bytes(16),
                    stream[pushed.saturating_sub(16)..pushed]
                );
                assert_eq!(tail.last_bytes(5), stream[pushed.saturating_sub(5)..pushed]);
            }
        }
    }
}
