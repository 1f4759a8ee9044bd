//! Splits a stream into lines, for agents that print one record per line. A line is kept up to a
//! limit; the bytes beyond it are counted and discarded, and the next line is complete again.

use super::OutputConsumer;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLine<'a> {
    /// Its bytes without the line feed, up to the limit.
    pub bytes: &'a [u8],
    /// Number of bytes discarded beyond the limit. If not zero, the line is incomplete.
    pub omitted: u64,
    /// Whether a line feed ended it. Only the last line of a stream can lack one, and may then have
    /// been cut at any position.
    pub terminated: bool,
}

/// Calls a function for each line of the stream.
pub struct LineSplitter<F> {
    limit: usize,
    on_line: F,
    /// The beginning of a line whose end has not been received yet.
    partial: Vec<u8>,
    omitted: u64,
}

impl<F: FnMut(OutputLine<'_>) + Send> LineSplitter<F> {
    /// Creates a splitter for lines of at most `limit` bytes.
    pub fn new(limit: usize, on_line: F) -> Self {
        Self {
            limit,
            on_line,
            partial: Vec::new(),
            omitted: 0,
        }
    }

    /// Appends to the unfinished line.
    fn append(&mut self, part: &[u8]) {
        let room = self.limit - self.partial.len();
        let (kept, over) = part.split_at(room.min(part.len()));
        self.partial.extend_from_slice(kept);
        self.omitted += over.len() as u64;
    }

    fn flush(&mut self, terminated: bool) {
        (self.on_line)(OutputLine {
            bytes: &self.partial,
            omitted: self.omitted,
            terminated,
        });
        self.partial.clear();
        self.omitted = 0;
    }
}

impl<F: FnMut(OutputLine<'_>) + Send> OutputConsumer for LineSplitter<F> {
    fn take(&mut self, mut chunk: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            self.append(&chunk[..end]);
            self.flush(true);
            chunk = &chunk[end + 1..];
        }
        self.append(chunk);
    }

    fn finish(&mut self) {
        if !self.partial.is_empty() || self.omitted > 0 {
            self.flush(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LineSplitter, OutputConsumer, OutputLine};

    /// Each line as (text, omitted bytes, terminated), with a limit of 5 bytes.
    fn lines(chunks: &[&str]) -> Vec<(String, u64, bool)> {
        let mut seen = Vec::new();
        let mut lines = LineSplitter::new(5, |line: OutputLine<'_>| {
            let text = String::from_utf8(line.bytes.to_vec()).unwrap();
            seen.push((text, line.omitted, line.terminated));
        });
        for chunk in chunks {
            lines.take(chunk.as_bytes());
        }
        lines.finish();
        drop(lines);
        seen
    }

    #[test]
    fn line_splitter_joins_chunks() {
        let expect = vec![
            ("ab".to_owned(), 0, true),
            (String::new(), 0, true),
            ("cde".to_owned(), 0, false),
        ];
        assert_eq!(lines(&["ab\n\ncde"]), expect);
        assert_eq!(lines(&["a", "b", "\n", "\nc", "de"]), expect);
        assert_eq!(lines(&["x\n"]), [("x".to_owned(), 0, true)]);
        assert_eq!(lines(&[]), []);
    }

    #[test]
    fn line_splitter_counts_rest_of_long_line() {
        let expect = vec![("01234".to_owned(), 5, true), ("ok".to_owned(), 0, true)];
        assert_eq!(lines(&["0123456789\nok\n"]), expect);
        assert_eq!(lines(&["0123", "4567", "89\no", "k\n"]), expect);
        assert_eq!(lines(&["0123456"]), [("01234".to_owned(), 2, false)]);
    }
}
