//! A filter decides which bytes of a stream are kept: machine-readable output is kept in a form for
//! people. A consumer receives the unfiltered stream.

/// Converts a stream into the bytes that are kept.
pub trait OutputFilter: Send {
    /// Receives the next bytes of the stream, cut at any position, and appends the kept bytes to
    /// `kept`.
    fn pass(&mut self, chunk: &[u8], kept: &mut Vec<u8>);

    /// Called at the end of the stream: appends the bytes that are still buffered.
    fn finish(&mut self, kept: &mut Vec<u8>);
}
