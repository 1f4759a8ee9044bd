//! Somebody who says what is kept of a stream: one that is made for machines is kept as people read
//! it. A consumer sees the stream as it is.

/// Turns a stream into what is kept of it.
pub trait OutputFilter: Send {
    /// Takes the next bytes of the stream, cut anywhere, and adds to what is kept.
    fn pass(&mut self, chunk: &[u8], kept: &mut Vec<u8>);

    /// The stream is over: adds what was held back.
    fn finish(&mut self, kept: &mut Vec<u8>);
}
