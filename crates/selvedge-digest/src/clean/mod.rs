//! From raw bytes to lines that a person would see on a screen.
//!
//! [`Frames`] cuts the stream at newlines and carriage returns, [`Cleaner`] makes text of each
//! frame: no escape sequences, no control characters, no prefix that some wrapper put before every
//! line, no trailing space. Both hold a bounded part of the log. Nothing here knows of any tool.

mod escapes;
mod frames;
mod prefix;

pub use escapes::strip_escapes;
pub(crate) use frames::Frames;

use prefix::Prefixes;

/// Makes clean text of raw lines, one at a time; remembers the prefixes that it saw.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    buffer: String,
    prefixes: Prefixes,
}

impl Cleaner {
    /// The text of one line. It lives until the next call.
    pub(crate) fn clean<'a>(&'a mut self, raw: &'a [u8]) -> &'a str {
        // Folding instead of stopping at the first hit lets the compiler vectorise the scan.
        let controls = raw
            .iter()
            .fold(0, |any, &b| any | u8::from(b < 0x20 && b != b'\t'));
        let text = match std::str::from_utf8(raw) {
            Ok(text) if controls == 0 => text,
            _ => {
                self.buffer.clear();
                escapes::strip(&String::from_utf8_lossy(raw), &mut self.buffer);
                self.buffer.as_str()
            }
        };
        self.prefixes.strip(text.trim_end())
    }
}
