//! The file of a captured stream: its beginning up to the cap; if the stream is longer, also a line
//! with the number of omitted bytes, and the end of the stream. A build usually reports its errors
//! at the end of its output.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::CaptureError;
use super::tail::TailBuffer;

/// Bytes of the stream's end that a truncated file keeps (half of a cap that is smaller).
pub(super) const TAIL_BYTES: usize = 64 << 10;

/// A finished file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub length: u64,
    /// Bytes of the stream that the file omits because of its cap.
    pub omitted: u64,
}

/// A file being written.
#[derive(Debug)]
pub(super) struct CappedFile {
    file: File,
    path: PathBuf,
    cap: u64,
    /// Bytes of the stream that are in the file.
    written: u64,
}

impl CappedFile {
    pub(super) fn create(path: PathBuf, cap: u64) -> Result<Self, CaptureError> {
        match File::create(&path) {
            Ok(file) => Ok(Self {
                file,
                path,
                cap,
                written: 0,
            }),
            Err(error) => Err(CaptureError::from_io(&path, error)),
        }
    }

    /// Writes the next bytes of the stream, up to the space reserved for the stream's end.
    pub(super) fn write(&mut self, chunk: &[u8]) -> Result<(), CaptureError> {
        let room = self.cap - self.tail_room() - self.written;
        let taken = usize::try_from(room).map_or(chunk.len(), |room| chunk.len().min(room));
        if taken > 0 {
            self.file
                .write_all(&chunk[..taken])
                .map_err(|error| self.error(error))?;
            self.written += taken as u64;
        }
        Ok(())
    }

    /// Appends the end of a stream of `total` bytes.
    pub(super) fn finish(
        mut self,
        total: u64,
        tail: &TailBuffer,
    ) -> Result<StoredFile, CaptureError> {
        let missing = total - self.written;
        let kept = missing.min(self.tail_room());
        let left_out = missing - kept;
        let length = self
            .write_end(left_out, kept, tail)
            .map_err(|error| self.error(error))?;
        Ok(StoredFile {
            path: self.path,
            length,
            omitted: left_out,
        })
    }

    /// Returns the length of the whole file.
    fn write_end(&mut self, left_out: u64, kept: u64, tail: &TailBuffer) -> io::Result<u64> {
        let mut end = Vec::new();
        if left_out > 0 {
            let cap = self.cap;
            writeln!(
                end,
                "\n[selvedge: {left_out} bytes omitted here, beyond {cap}]"
            )?;
        }
        end.extend(tail.last_bytes(usize::try_from(kept).unwrap_or(usize::MAX)));
        self.file.write_all(&end)?;
        Ok(self.written + end.len() as u64)
    }

    fn tail_room(&self) -> u64 {
        (self.cap / 2).min(TAIL_BYTES as u64)
    }

    fn error(&self, error: io::Error) -> CaptureError {
        CaptureError::from_io(&self.path, error)
    }
}

#[cfg(test)]
mod tests {
    use super::{CappedFile, StoredFile};
    use crate::process::capture::tail::TailBuffer;

    /// Content of a file with a cap of 20 bytes after these chunks were written.
    fn stored(chunks: &[&str]) -> (String, StoredFile) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let mut file = CappedFile::create(path.clone(), 20).unwrap();
        let mut tail = TailBuffer::new(64);
        let mut total = 0;
        for chunk in chunks {
            file.write(chunk.as_bytes()).unwrap();
            tail.push(chunk.as_bytes());
            total += chunk.len() as u64;
        }
        let stored = file.finish(total, &tail).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(stored.length, text.len() as u64);
        (text, stored)
    }

    #[test]
    fn capped_file_is_stream_up_to_cap() {
        for chunks in [&[][..], &["abc"], &["0123456789", "abcdefghij"]] {
            let (text, file) = stored(chunks);
            assert_eq!(text, chunks.concat());
            assert_eq!(file.omitted, 0);
        }
    }

    #[test]
    fn capped_file_keeps_beginning_and_end() {
        let (text, file) = stored(&["0123456", "789abcdefg", "hijklmnopqrst"]);
        let expect = "0123456789\n[selvedge: 10 bytes omitted here, beyond 20]\nklmnopqrst";
        assert_eq!(text, expect);
        assert_eq!(file.omitted, 10);
    }
}
