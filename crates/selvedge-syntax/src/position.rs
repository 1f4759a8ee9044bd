//! Converts the offset of an error to a line and a column.

use crate::SyntaxError;

/// Longest message, in characters.
const MESSAGE_CHARS: usize = 200;

/// An error at a byte offset; an offset beyond the end is clamped to it.
pub(crate) fn error_at_offset(text: &str, offset: usize, message: impl AsRef<str>) -> SyntaxError {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..].chars().count() + 1;
    error_at(line, column, message)
}

/// An error at a line and a column, both counted from 1.
pub(crate) fn error_at(line: usize, column: usize, message: impl AsRef<str>) -> SyntaxError {
    SyntaxError {
        line: saturate_to_u32(line),
        column: Some(saturate_to_u32(column)),
        message: one_line(message.as_ref()),
    }
}

fn saturate_to_u32(number: usize) -> u32 {
    u32::try_from(number.max(1)).unwrap_or(u32::MAX)
}

fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    words.join(" ").chars().take(MESSAGE_CHARS).collect()
}
