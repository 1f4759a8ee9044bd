//! Redaction of a text as a reader sees it. A renderer removes escape sequences, control characters and invisible
//! characters after the redaction, so a secret with such characters inside would be whole again. Lines that contain any
//! are therefore also searched without them. If that finds a secret that the bytes themselves do not show, the line is
//! replaced by its visible text, redacted.
//!
//! Such a line is held back until its end. All other text is passed on as soon as it is decided, so a character that a
//! backspace removes is recognized only if it arrives together with the backspace.

use std::sync::Arc;

use super::CompiledPatterns;
use super::stream::LiteralRedaction;
use crate::sanitize::{find_hidden, visible_text};

/// A longer line is searched in parts of this many bytes; secrets across them are found as well.
const MAX_HELD_BYTES: usize = 64 << 10;
/// Longest escape sequence that is kept in one part.
const MAX_SEQUENCE_BYTES: usize = 1 << 10;
/// A shorter beginning of a secret at the end of a part does not justify removing the part's invisible characters.
const MIN_BEGINNING_BYTES: usize = 4;

/// A text that arrives piece by piece.
pub struct RedactionStream {
    literal: LiteralRedaction,
    /// The beginning of a line that contains characters to remove, from the first of them or earlier.
    held: Vec<u8>,
}

impl std::fmt::Debug for RedactionStream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let held = self.held.len() + self.literal.held_bytes();
        write!(out, "RedactionStream({held} bytes held back)")
    }
}

impl RedactionStream {
    pub(super) fn new(compiled: Arc<CompiledPatterns>) -> Self {
        Self {
            literal: LiteralRedaction::new(compiled),
            held: Vec::new(),
        }
    }

    /// Adds the next piece and returns the text that is decided now, often the piece itself. `room` is the buffer for
    /// other results; its content is overwritten.
    pub fn push<'a>(&mut self, piece: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        let mut rest = piece;
        if self.held.is_empty() {
            let Some(hidden) = find_hidden(piece) else {
                return self.literal.push(piece, room);
            };
            let line = last_line_break(&piece[..hidden]).map_or(0, |at| at + 1);
            room.clear();
            self.literal.push_into(&piece[..line], room);
            rest = &piece[line..];
        } else {
            room.clear();
        }
        let known = self.held.len();
        self.held.extend_from_slice(rest);
        let lines = last_line_break(rest).map(|at| known + at + 1);
        if let Some(end) = lines {
            let rest = self.held.split_off(end);
            let lines = std::mem::replace(&mut self.held, rest);
            self.write_lines(&lines, room);
            if find_hidden(&self.held).is_none() {
                let clean = std::mem::take(&mut self.held);
                self.literal.push_into(&clean, room);
            }
        }
        if self.held.len() > MAX_HELD_BYTES {
            let rest = self.held.split_off(complete_part(&self.held));
            let part = std::mem::replace(&mut self.held, rest);
            self.write_line(&part, false, room);
        }
        room
    }

    /// Ends the text: adds what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let last = std::mem::take(&mut self.held);
        self.write_line(&last, true, out);
        self.literal.finish(out);
    }

    /// The name of a known value in a whole text.
    pub(super) fn find_known_value(&self, text: &[u8]) -> Option<String> {
        let of_visible = || self.literal.find_known_value(&visible_text(text));
        self.literal.find_known_value(text).or_else(of_visible)
    }

    /// Writes complete lines.
    fn write_lines(&mut self, lines: &[u8], out: &mut Vec<u8>) {
        let visible = visible_text(lines);
        let (mut probe, mut redacted) = (self.literal.clone(), Vec::new());
        probe.push_into(&visible, &mut redacted);
        // Most output has colours, but no secrets.
        if redacted == visible && probe.is_idle() {
            return self.literal.push_into(lines, out);
        }
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.write_line(line, false, out);
        }
    }

    /// Writes one line, or a part of one; `is_last` if no text follows.
    fn write_line(&mut self, line: &[u8], is_last: bool, out: &mut Vec<u8>) {
        if find_hidden(line).is_none() {
            return self.literal.push_into(line, out);
        }
        let after = |text: &[u8]| {
            let (mut probe, mut redacted) = (self.literal.clone(), Vec::new());
            probe.push_into(text, &mut redacted);
            if is_last {
                probe.finish(&mut redacted);
            }
            (probe, redacted)
        };
        let visible = visible_text(line);
        let (after_line, of_line) = after(line);
        let (after_visible, of_visible) = after(&visible);
        let shown = visible_text(&of_line);
        let is_same_state = after_line.is_at_same_state(&after_visible);
        // A parameter of an escape sequence at the end may look like the beginning of a secret.
        if shown == of_visible && (is_same_state || after_visible.is_idle()) {
            return self.literal.push_into(line, out);
        }
        let is_part = !is_last && !line.ends_with(b"\n");
        let is_short = after_visible.held_bytes() < MIN_BEGINNING_BYTES;
        let (in_line, in_visible) = (count_redactions(&of_line), count_redactions(&of_visible));
        // A backspace removes a character that arrived before it.
        let is_clean = !self.literal.is_in_match() && in_line + in_visible == 0;
        if is_clean && after_line.is_idle() && after_visible.is_idle() {
            return self.literal.push_into(line, out);
        }
        if is_part && is_short && in_line == in_visible {
            return self.literal.push_into(line, out);
        }
        // A secret of several lines may begin with the character that ends an escape sequence.
        if in_line == in_visible && after_line.held_bytes() > after_visible.held_bytes() {
            return self.literal.push_into(line, out);
        }
        if in_line <= in_visible {
            return self.literal.push_into(&visible, out);
        }
        // Some secrets are only recognizable with the characters that are removed, such as a colour before a key.
        if is_same_state && self.redact_alone(&shown) == shown {
            return self.literal.push_into(line, out);
        }
        let redacted = self.redact_alone(line);
        self.literal.push_into(&visible_text(&redacted), out);
    }

    /// Redacts a text that follows the decided text, whatever is held back.
    fn redact_alone(&self, text: &[u8]) -> Vec<u8> {
        let (mut alone, mut redacted) = (self.literal.clone(), Vec::new());
        alone.forget_pending();
        alone.push_into(text, &mut redacted);
        alone.finish(&mut redacted);
        redacted
    }
}

/// Length of the beginning that ends neither within an escape sequence nor within a character.
fn complete_part(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(MAX_SEQUENCE_BYTES);
    let escape = bytes[from..].iter().rposition(|byte| *byte == b'\x1b');
    let character = bytes.len().saturating_sub(3);
    let open = bytes[character..].iter().rposition(|byte| *byte >= 0xc0);
    let escape = escape.map(|at| from + at);
    let end = escape.or(open.map(|at| character + at));
    end.filter(|at| *at > 0).unwrap_or(bytes.len())
}

fn last_line_break(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}

fn count_redactions(text: &[u8]) -> usize {
    const BEGINNING: &[u8] = b"[redacted:";
    text.windows(BEGINNING.len())
        .filter(|window| *window == BEGINNING)
        .count()
}
