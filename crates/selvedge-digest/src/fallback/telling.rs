//! Keeps the lines that speak of a failure, those around them, and the last ones; forgets the rest.
//!
//! Invariant: what is kept never exceeds [`KEPT_BYTES`] by more than one line, however long the log.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use super::{Boundary, Hashed, boundary, template, weight};
use crate::formats::Claim;
use crate::line::{Line, Signals};

/// The most bytes of text that are kept.
const KEPT_BYTES: usize = 3 << 20;
/// The longest line, in bytes; the rest of it is cut.
const LINE_BYTES: usize = 1000;
/// How many lines before the current one are remembered.
const BEFORE: usize = 80;
/// How many lines before a telling one are kept with it.
const LEAD: usize = 6;
/// How many lines after a telling one are kept with it.
const TRAIL: u32 = 24;
/// How often lines alike are kept; after that they are only counted.
const REPEATS: u32 = 40;
/// How many templates are counted.
const TEMPLATES: usize = 50_000;
/// From this weight on a line is counted as one that tells of trouble.
const TELLING: u32 = 3;
/// Without any of these a line has no weight, and needs no close look.
const SIGNALS: Signals = Signals::BAD.with(Signals::PLACE).with(Signals::EXIT);

/// A line that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) number: u64,
    pub(crate) text: String,
    /// See [`weight`].
    pub(crate) weight: u32,
    /// How many lines of its template came before it.
    pub(crate) repeat: u32,
    pub(crate) boundary: Option<Boundary>,
}

/// What is known of lines that are alike, so that only the first is looked at closely.
#[derive(Debug, Clone, Copy)]
struct Seen {
    weight: u32,
    boundary: Option<Boundary>,
    times: u32,
}

/// The lines kept so far.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    kept: Vec<Kept>,
    bytes: usize,
    recent: VecDeque<Kept>,
    trail: u32,
    seen: HashMap<u64, Seen, BuildHasherDefault<Hashed>>,
    first_failed: Option<u64>,
    begun: u64,
    failed_command: u64,
    lines: u64,
    weighty: u64,
}

impl Telling {
    /// Looks at the next line.
    pub(crate) fn line(&mut self, line: &Line<'_>, claim: Claim) {
        self.lines = line.number;
        if claim == Claim::Chaff {
            return;
        }
        if line.is_blank() && self.recent.back().is_some_and(|last| last.text.is_empty()) {
            return;
        }
        let Seen {
            weight,
            boundary,
            times: repeat,
        } = self.judge(line, claim);
        self.weighty += u64::from(weight >= TELLING);
        let telling = weight > 0 && repeat < REPEATS;
        if telling {
            self.keep_recent(LEAD);
            self.trail = TRAIL;
        }
        match boundary {
            Some(Boundary::Begin) if self.first_failed.is_none() => self.begun = line.number,
            Some(Boundary::Failed) if self.first_failed.is_none() => {
                self.first_failed = Some(line.number);
                self.failed_command = self.begun;
                self.keep_recent(BEFORE);
            }
            _ => {}
        }
        self.push_recent(line, weight, repeat, boundary);
        if telling || self.trail > 0 || boundary.is_some() {
            self.trail = self.trail.saturating_sub(1);
            self.keep_recent(1);
        }
    }

    /// The kept lines in order, the last lines of the log among them.
    pub(crate) fn finish(mut self) -> Lines {
        self.keep_recent(BEFORE);
        Lines {
            kept: self.kept,
            first_failed: self.first_failed,
            failed_command: self.failed_command,
            total: self.lines,
            telling: self.weighty,
        }
    }

    /// What a line says, and how often lines like it came before.
    fn judge(&mut self, line: &Line<'_>, claim: Claim) -> Seen {
        if claim == Claim::Noise || !line.signals.intersects(SIGNALS) {
            return Seen {
                weight: 0,
                boundary: boundary(line),
                times: 0,
            };
        }
        let key = template(line.text);
        if let Some(seen) = self.seen.get_mut(&key) {
            seen.times = seen.times.saturating_add(1);
            return *seen;
        }
        let seen = Seen {
            weight: weight(line),
            boundary: boundary(line),
            times: 0,
        };
        if self.seen.len() < TEMPLATES {
            self.seen.insert(key, seen);
        }
        seen
    }

    fn push_recent(
        &mut self,
        line: &Line<'_>,
        weight: u32,
        repeat: u32,
        boundary: Option<Boundary>,
    ) {
        // Slots are used again: a log of ten million lines allocates for eighty.
        let mut slot = if self.recent.len() == BEFORE {
            self.recent.pop_front()
        } else {
            None
        }
        .unwrap_or_else(|| Kept {
            number: 0,
            text: String::new(),
            weight: 0,
            repeat: 0,
            boundary: None,
        });
        slot.text.clear();
        slot.text.push_str(clip(line.text));
        slot.number = line.number;
        slot.weight = weight;
        slot.repeat = repeat;
        slot.boundary = boundary;
        self.recent.push_back(slot);
    }

    /// Keeps the last `count` lines, unless they are kept already.
    fn keep_recent(&mut self, count: usize) {
        let last = self.kept.last().map_or(0, |kept| kept.number);
        let start = self.recent.len().saturating_sub(count);
        for line in self.recent.range(start..).filter(|line| line.number > last) {
            self.bytes += line.text.len() + size_of::<Kept>();
            self.kept.push(line.clone());
        }
        if self.bytes > KEPT_BYTES {
            self.thin();
        }
    }

    /// Drops the less telling half of the middle; the first and the last quarter stay.
    fn thin(&mut self) {
        let total = self.kept.len();
        let middle = total / 4..total - total / 4;
        let mut weights: Vec<u32> = self.kept[middle.clone()].iter().map(|k| k.weight).collect();
        let half = weights.len() / 2;
        let (_, &mut bar, _) = weights.select_nth_unstable(half);
        let mut index = 0;
        let mut spared = 0;
        self.kept.retain(|kept| {
            let inside = middle.contains(&index);
            index += 1;
            let keep = !inside || kept.weight > bar || (kept.weight == bar && spared < half / 2);
            spared += usize::from(inside && kept.weight == bar && keep);
            keep
        });
        self.bytes = self
            .kept
            .iter()
            .map(|k| k.text.len() + size_of::<Kept>())
            .sum();
    }
}

/// The lines that were kept, and what is known of the log as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) kept: Vec<Kept>,
    /// Where the first command that failed was said to have failed.
    pub(crate) first_failed: Option<u64>,
    /// Where that command began; 0 when unknown.
    pub(crate) failed_command: u64,
    /// How many lines the cleaned log has.
    pub(crate) total: u64,
    /// How many of them have a weight, those that are not kept included.
    pub(crate) telling: u64,
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(LINE_BYTES)]
}
