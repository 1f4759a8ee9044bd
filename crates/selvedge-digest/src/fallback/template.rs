//! What stays of a line when its particulars are taken away, so that repeats can be recognised.

use std::hash::{DefaultHasher, Hasher};

/// A hash of the line's letters and marks: numbers, white space and long hexadecimal words differ
/// from repeat to repeat and are left out.
pub(crate) fn template(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in text.split_ascii_whitespace() {
        if word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
            continue;
        }
        for &byte in word.as_bytes() {
            if !byte.is_ascii_digit() {
                hasher.write_u8(byte);
            }
        }
    }
    hasher.finish()
}
