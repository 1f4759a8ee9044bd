//! What the same command printed when it last passed. A line that stood in that output, but for its
//! numbers, does not explain why the command fails now.

use std::io;

use crate::clean::{Cleaner, Piece, Prefixes, lines};
use crate::fallback::template;
use crate::hash::QuickSet;

/// How many different lines are remembered. More are not known, and count as new.
const TEMPLATES: usize = 100_000;
/// Lines are compared by so many of their first bytes.
const LINE_BYTES: usize = 1000;

/// The output of the last run of a command that passed, in a megabyte or two however long it was.
/// Write it in, and give it to [`crate::Digester::with_last_green`].
#[derive(Debug, Default)]
pub struct LastGreen {
    cleaner: Cleaner,
    seen: SeenBefore,
}

/// The templates of its lines.
#[derive(Debug, Default)]
pub(crate) struct SeenBefore {
    prefixes: Prefixes,
    templates: QuickSet<u64>,
}

impl LastGreen {
    /// The templates, now that the output has ended.
    pub(crate) fn finish(self) -> SeenBefore {
        let Self { cleaner, mut seen } = self;
        cleaner.finish(&mut |piece| seen.piece(piece));
        seen
    }
}

impl io::Write for LastGreen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { cleaner, seen } = self;
        cleaner.feed(bytes, &mut |piece| seen.piece(piece));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SeenBefore {
    fn piece(&mut self, piece: Piece<'_>) {
        if let Piece::Text(block) = piece {
            self.block(block);
        }
    }

    fn block(&mut self, block: &str) {
        self.prefixes.enter(block);
        for line in lines(block) {
            let text = self.prefixes.strip(line.trim_end());
            if !text.is_empty() && self.templates.len() < TEMPLATES {
                self.templates.insert(Key::of(text).0);
            }
        }
    }

    /// Whether nothing is known of such an output.
    pub(crate) fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Whether a line like this one stood in the output that passed.
    pub(crate) fn stood(&self, text: &str) -> bool {
        !self.is_empty() && self.holds(Key::of(text))
    }

    /// Whether a line with this key stood there.
    pub(crate) fn holds(&self, key: Key) -> bool {
        self.templates.contains(&key.0)
    }
}

/// What two lines share that differ in their numbers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn of(text: &str) -> Self {
        Self(template(&text[..text.floor_char_boundary(LINE_BYTES)]))
    }
}
