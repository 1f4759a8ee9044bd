//! Cuts a stream of bytes into frames: what stands between newlines and carriage returns.
//!
//! A carriage return that is not followed by a newline overwrites its line, so a progress bar is
//! one line with thousands of frames. Of frames alike, only the last is passed on; a frame that
//! the next one does not resemble is a line of its own, for nothing that was said may be lost.
//!
//! Invariant: how the stream is cut into chunks makes no difference.

use memchr::memchr2;

/// The most bytes of one frame that are kept; the rest of it is dropped.
pub(crate) const FRAME_BYTES: usize = 16 << 10;

/// Cuts chunks into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The beginning of a frame whose end has not come yet.
    partial: Vec<u8>,
    /// A frame that ended with a carriage return and may yet be overwritten.
    held: Option<Vec<u8>>,
}

impl Frames {
    /// Passes each frame that ends within `chunk` to `emit`.
    pub(crate) fn feed(&mut self, mut chunk: &[u8], emit: &mut impl FnMut(&[u8])) {
        while let Some(end) = memchr2(b'\n', b'\r', chunk) {
            let (frame, rest) = (&chunk[..end], &chunk[end + 1..]);
            let newline = chunk[end] == b'\n';
            if newline && self.partial.is_empty() && self.held.is_none() {
                emit(clip(frame));
            } else {
                self.extend(frame);
                let frame = std::mem::take(&mut self.partial);
                self.end(&frame, newline, emit);
                self.partial = frame;
                self.partial.clear();
            }
            chunk = rest;
        }
        self.extend(chunk);
    }

    /// Passes on what the end of the stream leaves.
    pub(crate) fn finish(mut self, emit: &mut impl FnMut(&[u8])) {
        let frame = std::mem::take(&mut self.partial);
        if !frame.is_empty() || self.held.is_some() {
            self.end(&frame, true, emit);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = FRAME_BYTES.saturating_sub(self.partial.len());
        self.partial
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end(&mut self, frame: &[u8], newline: bool, emit: &mut impl FnMut(&[u8])) {
        let blank = frame.iter().all(u8::is_ascii_whitespace);
        match self.held.take() {
            Some(held) if blank && newline => return emit(&held),
            Some(held) if blank => {
                self.held = Some(held);
                return;
            }
            Some(held) if !overwrites(&held, frame) => emit(&held),
            _ => {}
        }
        if newline {
            emit(frame);
        } else if !blank {
            self.held = Some(frame.to_vec());
        }
    }
}

fn clip(frame: &[u8]) -> &[u8] {
    &frame[..frame.len().min(FRAME_BYTES)]
}

/// Whether `next` shows the same thing as `frame`, a step further.
fn overwrites(frame: &[u8], next: &[u8]) -> bool {
    const LETTERS: usize = 8;
    let letters = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .copied()
            .filter(u8::is_ascii_alphabetic)
            .take(LETTERS)
            .collect()
    };
    let shape = letters(frame);
    // A bar or a table of numbers says nothing that the next frame would not say.
    shape.len() < 4 || shape == letters(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        let mut emit = |frame: &[u8]| out.push(String::from_utf8_lossy(frame).into_owned());
        let mut frames = Frames::default();
        for chunk in chunks {
            frames.feed(chunk.as_bytes(), &mut emit);
        }
        frames.finish(&mut emit);
        out
    }

    #[test]
    fn newlines_of_both_kinds_end_a_line() {
        assert_eq!(lines(&["a\r\nb\n\r\nc"]), ["a", "b", "", "c"]);
        assert_eq!(lines(&["a\r", "\nb\n", "\r", "\nc"]), ["a", "b", "", "c"]);
    }

    #[test]
    fn a_progress_bar_is_its_last_frame() {
        assert_eq!(
            lines(&["fetch 1%\rfetch 2%\rfetch 100%\ndone\n"]),
            ["fetch 100%", "done"]
        );
        assert_eq!(
            lines(&["[==>  ] 1/3\r[====>] 2/3\rall is built\n"]),
            ["all is built"]
        );
    }

    #[test]
    fn a_frame_unlike_the_next_is_kept() {
        let text = "error: no space\rfetch 1%\rfetch 2%\r";
        assert_eq!(lines(&[text]), ["error: no space", "fetch 2%"]);
    }

    #[test]
    fn a_long_line_keeps_its_head() {
        let long = "x".repeat(FRAME_BYTES * 3);
        assert_eq!(
            lines(&[&long, "\nb"]),
            ["x".repeat(FRAME_BYTES), "b".to_owned()]
        );
        assert_eq!(
            lines(&[&format!("{long}\nb")]),
            ["x".repeat(FRAME_BYTES), "b".to_owned()]
        );
    }
}
