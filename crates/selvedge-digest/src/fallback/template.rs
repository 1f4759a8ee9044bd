//! What stays of a line when its particulars are taken away, so that repeats can be recognised.

use std::hash::Hasher;

use crate::hash::Quick;

/// A word of so many hexadecimal digits is an id or an address.
const HEXADECIMAL: usize = 7;

/// A hash of the line's letters and marks. Numbers, white space and long hexadecimal words differ
/// from repeat to repeat and are left out; a nought stays, for `0 failed` is not `3 failed`.
pub(crate) fn template(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut marks = Marks::default();
    let mut before_word = marks;
    let mut word = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        // Letters are the most, and this one comparison tells them.
        if byte > b'9' {
            marks.push(byte);
        } else if byte.is_ascii_whitespace() {
            if is_hexadecimal(&bytes[word..at]) {
                marks = before_word;
            }
            before_word = marks;
            word = at + 1;
        } else if byte < b'0' || byte == b'0' && is_alone(bytes, at) {
            marks.push(byte);
        }
    }
    if is_hexadecimal(&bytes[word..]) {
        marks = before_word;
    }
    marks.finish()
}

fn is_hexadecimal(word: &[u8]) -> bool {
    word.len() >= HEXADECIMAL && word.iter().all(u8::is_ascii_hexdigit)
}

/// Whether the digit at this place is a number by itself.
fn is_alone(bytes: &[u8], at: usize) -> bool {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    !is_digit(at.wrapping_sub(1)) && !is_digit(at + 1)
}

/// Gathers bytes by seven, which are hashed at once.
#[derive(Debug, Clone, Copy)]
struct Marks {
    hash: Quick,
    /// A one before the bytes gathered tells how many they are.
    gathered: u64,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            hash: Quick::default(),
            gathered: 1,
        }
    }
}

impl Marks {
    fn push(&mut self, byte: u8) {
        self.gathered = self.gathered << 8 | u64::from(byte);
        if self.gathered >> 56 != 0 {
            self.hash.write_u64(self.gathered);
            self.gathered = 1;
        }
    }

    fn finish(mut self) -> u64 {
        self.hash.write_u64(self.gathered);
        self.hash.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn numbers_and_hashes_make_no_difference() {
        assert_eq!(
            template("took 12 ms at 7f00aa11"),
            template("took 3  ms at 7f00bb22")
        );
        assert_eq!(
            template("id deadbeef01 gone"),
            template("id cafebabe99 gone")
        );
        assert_ne!(template("cannot read"), template("cannot write"));
        assert_eq!(template("10 failed"), template("3 failed"));
        assert_ne!(template("0 failed"), template("3 failed"));
    }
}
