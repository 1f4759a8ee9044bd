//! The output of the same command when it last passed. A line that is also in that output, apart from its
//! numbers, does not explain the failure.

use std::io;

use crate::clean::{CleanPiece, LinePrefixes, LogCleaner, lines};
use crate::fallback::template;
use crate::hash::QuickSet;

/// Maximum number of remembered templates. Lines beyond that count as new.
const TEMPLATES: usize = 100_000;
/// Number of leading bytes of a line that are compared.
const LINE_BYTES: usize = 1000;

/// The output of the last passing run of a command, in at most two megabytes of memory. Write the output into
/// it, and pass it to [`crate::Digester::with_passing_output`].
#[derive(Debug, Default)]
pub struct PassingOutput {
    cleaner: LogCleaner,
    templates: PassingTemplates,
}

/// The templates of its lines.
#[derive(Debug, Default)]
pub(crate) struct PassingTemplates {
    prefixes: LinePrefixes,
    templates: QuickSet<u64>,
}

impl PassingOutput {
    /// Returns the templates at the end of the output.
    pub(crate) fn finish(self) -> PassingTemplates {
        let Self {
            cleaner,
            templates: mut seen,
        } = self;
        cleaner.finish(&mut |piece| seen.add_piece(piece));
        seen
    }
}

impl io::Write for PassingOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self {
            cleaner,
            templates: seen,
        } = self;
        cleaner.feed(bytes, &mut |piece| seen.add_piece(piece));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PassingTemplates {
    fn add_piece(&mut self, piece: CleanPiece<'_>) {
        if let CleanPiece::Text(block) = piece {
            self.add_block(block);
        }
    }

    fn add_block(&mut self, block: &str) {
        self.prefixes.begin_block(block);
        for line in lines(block) {
            let text = self.prefixes.strip(line.trim_end());
            if !text.is_empty() && self.templates.len() < TEMPLATES {
                self.templates.insert(TemplateKey::of(text).0);
            }
        }
    }

    /// Whether no such output is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Whether a similar line is in the output that passed.
    pub(crate) fn contains_line(&self, text: &str) -> bool {
        !self.is_empty() && self.contains_key(TemplateKey::of(text))
    }

    /// Whether a line with this key is in it.
    pub(crate) fn contains_key(&self, key: TemplateKey) -> bool {
        self.templates.contains(&key.0)
    }
}

/// The common key of lines that differ only in their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TemplateKey(u64);

impl TemplateKey {
    pub(crate) fn of(text: &str) -> Self {
        Self(template(&text[..text.floor_char_boundary(LINE_BYTES)]))
    }
}
