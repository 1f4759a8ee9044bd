//! Redaction of bytes as they are, piece by piece. The output does not depend on how the text is split: a position is
//! decided only when no further byte can change the decision. The text that is held back is no longer than the longest
//! pattern.

use std::sync::Arc;

use super::formats::{FORMATS, OpenMatch};
use super::{CompiledPatterns, MatchExtent, PREFIXES};

/// A text that arrives piece by piece.
#[derive(Clone)]
pub(super) struct LiteralRedaction {
    compiled: Arc<CompiledPatterns>,
    /// The text that is not decided yet.
    pending: Vec<u8>,
    /// Length of its beginning that belongs to a redacted match.
    covered: usize,
    /// Matches that continue after the pieces so far, byte by byte.
    open_matches: Vec<OpenMatch>,
    /// The two bytes before `pending`; zero if there are none.
    before: [u8; 2],
}

/// A range to redact.
struct RedactedRange {
    /// The position of its key.
    key: usize,
    from: usize,
    to: usize,
    kind: RedactionKind,
    /// The part of the match that continues after the text.
    run: Option<OpenMatch>,
}

/// The kind of match.
#[derive(Clone, Copy)]
enum RedactionKind {
    Value(usize),
    Format(usize),
}

/// The keys at one position.
#[derive(Clone, Copy)]
struct KeyMatches {
    value: Option<usize>,
    format: Option<usize>,
}

/// Iterates over the positions of keys in a text, in order.
struct KeyScanner<'a> {
    compiled: &'a CompiledPatterns,
    text: &'a [u8],
    value: Option<(usize, usize)>,
    format: Option<(usize, usize)>,
}

impl<'a> KeyScanner<'a> {
    fn of(compiled: &'a CompiledPatterns, text: &'a [u8]) -> Self {
        let mut keys = Self {
            compiled,
            text,
            value: None,
            format: None,
        };
        (keys.value, keys.format) = (keys.value(0), PREFIXES.find(text, 0, true));
        keys
    }

    fn value(&self, from: usize) -> Option<(usize, usize)> {
        self.compiled.matcher.find(self.text, from)
    }
}

impl Iterator for KeyScanner<'_> {
    type Item = (usize, KeyMatches);

    fn next(&mut self) -> Option<Self::Item> {
        let places = [self.value, self.format].into_iter().flatten();
        let at = places.map(|(at, _)| at).min()?;
        let here = |it: Option<(usize, usize)>| it.filter(|it| it.0 == at).map(|it| it.1);
        let found = KeyMatches {
            value: here(self.value),
            format: here(self.format),
        };
        if found.value.is_some() {
            self.value = self.value(at + 1);
        }
        if found.format.is_some() {
            self.format = PREFIXES.find(self.text, at + 1, false);
        }
        Some((at, found))
    }
}

impl LiteralRedaction {
    pub(super) fn new(compiled: Arc<CompiledPatterns>) -> Self {
        Self {
            compiled,
            pending: Vec::new(),
            covered: 0,
            open_matches: Vec::new(),
            before: [0; 2],
        }
    }

    /// Adds the next piece and returns the text that is decided now, often the piece itself. `room` is the buffer for
    /// other results; its content is overwritten.
    pub(super) fn push<'a>(&mut self, piece: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        room.clear();
        if self.pending.is_empty() && self.open_matches.is_empty() {
            let (ranges, hold) = self.find_ranges(piece, false);
            if ranges.is_empty() {
                self.hold_back(piece, hold, 0);
                return &piece[..hold];
            }
            self.write(piece, ranges, hold, room);
            return room;
        }
        let mut text = std::mem::take(&mut self.pending);
        text.extend_from_slice(piece);
        let seen = text.len() - piece.len();
        self.advance_matches(&text, seen);
        let (ranges, hold) = self.find_ranges(&text, false);
        self.write(&text, ranges, hold, room);
        room
    }

    /// Adds the next piece and appends the text that is decided now.
    pub(super) fn push_into(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut room = Vec::new();
        out.extend_from_slice(self.push(piece, &mut room));
    }

    /// Forgets the text that is not decided, and matches that continue.
    pub(super) fn forget_pending(&mut self) {
        self.pending.clear();
        self.open_matches.clear();
        self.covered = 0;
    }

    /// Whether nothing is held back, and no match continues.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.open_matches.is_empty()
    }

    /// Whether a match continues after the pieces so far.
    pub(super) fn is_in_match(&self) -> bool {
        self.covered > 0 || !self.open_matches.is_empty()
    }

    /// Whether both hold back the same text, and the same matches continue.
    pub(super) fn is_at_same_state(&self, other: &Self) -> bool {
        self.pending == other.pending
            && self.covered == other.covered
            && self.open_matches == other.open_matches
    }

    /// Number of bytes that are held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Ends the text: adds what was held back.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let text = std::mem::take(&mut self.pending);
        let (ranges, hold) = self.find_ranges(&text, true);
        self.write(&text, ranges, hold, out);
        *self = Self::new(Arc::clone(&self.compiled));
    }

    /// The name of a known value in a whole text.
    pub(super) fn find_known_value(&self, text: &[u8]) -> Option<String> {
        let (ranges, _) = self.find_ranges(text, true);
        ranges.into_iter().find_map(|range| match range.kind {
            RedactionKind::Value(needle) => Some(self.compiled.needles[needle].name.to_string()),
            RedactionKind::Format(_) => None,
        })
    }

    /// Lets open matches consume the part of the text after the first `seen` bytes.
    fn advance_matches(&mut self, text: &[u8], seen: usize) {
        let mut covered = self.covered;
        self.open_matches.retain_mut(|run| {
            let taken = run.consume(&text[seen..]);
            covered = covered.max(seen + taken);
            seen + taken == text.len()
        });
        self.covered = covered;
    }

    /// The ranges to redact, and the position up to which they are decided.
    fn find_ranges(&self, text: &[u8], over: bool) -> (Vec<RedactedRange>, usize) {
        let mut hold = if over {
            text.len()
        } else {
            self.compiled.undecided(text)
        };
        let mut ranges: Vec<RedactedRange> = Vec::new();
        for (at, found) in KeyScanner::of(&self.compiled, text) {
            if at >= hold {
                break;
            }
            let known = ranges.len();
            if self
                .add_matches(text, at, found, over, &mut ranges)
                .is_none()
            {
                ranges.truncate(known);
                hold = at;
            }
        }
        // A match whose secret part begins after the held position is searched again, from its key on.
        let is_split = |range: &&RedactedRange, hold| range.key < hold && range.from >= hold;
        while let Some(range) = ranges.iter().find(|range| is_split(range, hold)) {
            hold = range.key;
        }
        ranges.retain(|range| range.key < hold);
        (ranges, hold)
    }

    /// Adds the matches of the keys at a position; `None` if they are not decided.
    fn add_matches(
        &self,
        text: &[u8],
        at: usize,
        found: KeyMatches,
        over: bool,
        ranges: &mut Vec<RedactedRange>,
    ) -> Option<()> {
        let (rest, before) = (&text[at..], self.before(text, at));
        let mut reached = |what, reach| match reach {
            MatchExtent::NoMatch => Some(()),
            MatchExtent::Undecided => None,
            MatchExtent::Match {
                from,
                to,
                continuation: on,
            } => {
                let mut to = at + to;
                let run = on.and_then(|mut run: OpenMatch| {
                    to += run.consume(&text[to..]);
                    (to == text.len()).then_some(run)
                });
                ranges.push(RedactedRange {
                    key: at,
                    from: at + from,
                    to,
                    kind: what,
                    run,
                });
                Some(())
            }
        };
        for &needle in found
            .value
            .map_or(&[][..], |key| &self.compiled.needles_by_key[key])
        {
            let reach = self.compiled.needles[needle].form.reach(rest, over);
            reached(RedactionKind::Value(needle), reach)?;
        }
        // The longest prefix was found; shorter ones begin there as well.
        for &format in found.format.map_or(&[][..], |it| &PREFIXES.shorter[it]) {
            let reach = FORMATS[format].reach(rest, before, over);
            reached(RedactionKind::Format(format), reach)?;
        }
        Some(())
    }

    /// Writes the decided text, and keeps the rest.
    fn write(
        &mut self,
        text: &[u8],
        mut ranges: Vec<RedactedRange>,
        hold: usize,
        out: &mut Vec<u8>,
    ) {
        // Of ranges that begin at the same byte, the longest determines the name.
        ranges.sort_by_key(|range| (range.from, std::cmp::Reverse(range.to)));
        let mut done = self.covered;
        for range in ranges {
            if range.from >= done {
                out.extend_from_slice(&text[done..range.from]);
                let name = match range.kind {
                    RedactionKind::Value(needle) => &*self.compiled.needles[needle].name,
                    RedactionKind::Format(format) => FORMATS[format].name,
                };
                out.extend_from_slice(b"[redacted:");
                out.extend_from_slice(name.as_bytes());
                out.push(b']');
            }
            done = done.max(range.to);
            self.open_matches.extend(range.run);
        }
        if done < hold {
            out.extend_from_slice(&text[done..hold]);
        }
        self.hold_back(text, hold, done);
    }

    fn hold_back(&mut self, text: &[u8], hold: usize, done: usize) {
        self.before = self.before(text, hold);
        self.pending = text[hold..].to_vec();
        self.covered = done.saturating_sub(hold);
    }

    /// The two bytes before a place.
    fn before(&self, text: &[u8], at: usize) -> [u8; 2] {
        match at {
            0 => self.before,
            1 => [self.before[1], text[0]],
            _ => [text[at - 2], text[at - 1]],
        }
    }
}
