//! The text of a digest under construction, and the rest of its budget.

use std::collections::HashSet;

use crate::budget::estimate_tokens;

/// The longest line of a digest, in bytes.
const LINE_BYTES: usize = 300;

/// Minimum length of an id; a shorter one may be in any line by chance.
const ID_BYTES: usize = 12;

/// The cost of a line within a text, including its newline.
pub(super) fn cost(line: &str) -> usize {
    let head = clip(line);
    estimate_tokens(head) + if head.len() < line.len() { 2 } else { 1 }
}

/// Ends a line that was cut.
const CUT: &str = "…";

/// The beginning of a line that is too long for a digest.
fn clip(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE_BYTES)]
}

/// A text that grows line by line within its budget.
#[derive(Debug)]
pub(super) struct DigestWriter {
    text: String,
    remaining: usize,
    /// The lines in the text, so that none is repeated.
    lines: HashSet<String>,
    /// The ids of tests in the text.
    ids: Vec<String>,
}

impl DigestWriter {
    pub(super) fn new(tokens: usize) -> Self {
        Self {
            text: String::new(),
            remaining: tokens,
            lines: HashSet::new(),
            ids: Vec::new(),
        }
    }

    /// Tokens that are not spent or reserved.
    pub(super) fn remaining_tokens(&self) -> usize {
        self.remaining
    }

    /// Reserves tokens for lines that are written later; false if there are not enough.
    pub(super) fn reserve(&mut self, tokens: usize) -> bool {
        let enough = tokens <= self.remaining;
        if enough {
            self.remaining -= tokens;
        }
        enough
    }

    /// Writes a line whose cost was already deducted.
    pub(super) fn write(&mut self, line: &str) {
        let head = clip(line);
        self.lines.insert(head.trim().to_owned());
        self.text.push_str(head);
        if head.len() < line.len() {
            self.text.push_str(CUT);
        }
        self.text.push('\n');
    }

    /// Writes a line if there is room for it.
    pub(super) fn push(&mut self, line: &str) {
        if self.reserve(cost(line)) {
            self.write(line);
        }
    }

    /// Notes that the failure with this id is in the text.
    pub(super) fn mark_reported(&mut self, id: &str) {
        if id.len() >= ID_BYTES {
            self.ids.push(id.to_owned());
        }
    }

    /// Whether the text already has this line, or a failure that the line names.
    pub(super) fn contains(&self, line: &str) -> bool {
        self.lines.contains(clip(line).trim()) || self.ids.iter().any(|id| line.contains(id))
    }

    /// Releases reserved tokens.
    pub(super) fn release(&mut self, tokens: usize) {
        self.remaining += tokens;
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
