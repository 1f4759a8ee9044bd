//! The text of a digest while it is put together, and what is left of its budget.

use std::collections::HashSet;

use crate::budget::estimate_tokens;

/// The longest line of a digest, in bytes.
const LINE_BYTES: usize = 300;

/// A shorter id may stand in any line by chance.
const ID_BYTES: usize = 12;

/// What a line costs within a text, its newline included.
pub(super) fn cost(line: &str) -> usize {
    let head = clip(line);
    estimate_tokens(head) + if head.len() < line.len() { 2 } else { 1 }
}

/// Ends a line that was cut.
const CUT: &str = "…";

/// The head of a line that is too long for a digest.
fn clip(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE_BYTES)]
}

/// A text that grows line by line within its budget.
#[derive(Debug)]
pub(super) struct DigestWriter {
    text: String,
    remaining: usize,
    /// The lines that stand in it, so that none is said twice.
    lines: HashSet<String>,
    /// The ids of tests that stand in it.
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

    /// Sets tokens aside for lines that are written later; false when there are not so many.
    pub(super) fn reserve(&mut self, tokens: usize) -> bool {
        let enough = tokens <= self.remaining;
        if enough {
            self.remaining -= tokens;
        }
        enough
    }

    /// Writes a line that was paid for.
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

    /// Notes that the failure with this id is told.
    pub(super) fn mark_reported(&mut self, id: &str) {
        if id.len() >= ID_BYTES {
            self.ids.push(id.to_owned());
        }
    }

    /// Whether this line stands in the text already, or names a failure that does.
    pub(super) fn contains(&self, line: &str) -> bool {
        self.lines.contains(clip(line).trim()) || self.ids.iter().any(|id| line.contains(id))
    }

    /// Gives back what was set aside.
    pub(super) fn release(&mut self, tokens: usize) {
        self.remaining += tokens;
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
