//! Keeps the lines that speak of a failure, those around them, and the last ones; forgets the rest.
//!
//! Invariant: what is kept never exceeds [`KEPT_BYTES`] by more than one line, however long the log.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Boundary, boundary, template, weight};
use crate::formats::Claim;
use crate::hash::QuickMap;
use crate::last_green::SeenBefore;
use crate::line::{Line, Signals};
use crate::scan::words;

/// The most bytes of text that are kept.
const KEPT_BYTES: usize = 3 << 20;
/// The longest line, in bytes; the rest of it is cut.
const LINE_BYTES: usize = 1000;
/// How much of a long line is shown before its first telling word, in bytes.
const LED_BYTES: usize = 80;
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
/// A command so short that it might end any line is not looked for.
const COMMAND_BYTES: usize = 4;
/// From this weight on a line is counted as one that tells of trouble.
const TELLING: u32 = 3;
/// Without any of these a line has no weight, and needs no close look.
const SIGNALS: Signals = Signals::BAD.with(Signals::PLACE).with(Signals::EXIT);

/// A line that is kept, or may yet be: then its text is borrowed from the block it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept<'a> {
    pub(crate) number: u64,
    pub(crate) text: Cow<'a, str>,
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
    kept: Vec<Kept<'static>>,
    bytes: usize,
    /// The last lines of the blocks before.
    recent: Vec<Kept<'static>>,
    trail: u32,
    seen: QuickMap<u64, Seen>,
    first_failed: Option<u64>,
    begun: u64,
    failed_command: u64,
    lines: u64,
    weighty: u64,
    document: bool,
    green: Arc<SeenBefore>,
    /// The command whose output this is, if it is known.
    command: Option<String>,
}

impl Telling {
    /// Where a line ends in this command, the command's output begins.
    pub(crate) fn echo(&mut self, command: Option<String>) {
        self.command = command.filter(|command| command.len() >= COMMAND_BYTES);
    }

    /// Lines that stood in the last output that passed speak of no failure.
    pub(crate) fn since(&mut self, green: Arc<SeenBefore>) {
        self.green = green;
    }

    /// Looks at the lines of the next block, and what the formats said of each.
    pub(crate) fn block(&mut self, lines: &[(Line<'_>, Claim)]) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.reserve(lines.len());
        for (line, claim) in lines {
            self.line(line, *claim, &mut recent);
        }
        let last = recent.len().saturating_sub(BEFORE);
        self.recent = recent.drain(last..).map(Kept::into_owned).collect();
    }

    /// Looks at a line; `recent` are those before it, and takes it in.
    fn line<'a>(&mut self, line: &Line<'a>, claim: Claim, recent: &mut Vec<Kept<'a>>) {
        self.lines = line.number;
        if line.number == 1 {
            self.document = line.text.starts_with("<?xml");
        }
        if claim == Claim::Chaff {
            return;
        }
        if line.is_blank() && recent.last().is_some_and(|last| last.text.is_empty()) {
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
            self.keep(recent, LEAD);
            self.trail = TRAIL;
        }
        match boundary {
            Some(Boundary::Begin) if self.first_failed.is_none() => self.begun = line.number,
            Some(Boundary::Failed) if self.first_failed.is_none() => {
                self.first_failed = Some(line.number);
                self.failed_command = self.begun;
                self.keep(recent, BEFORE);
            }
            _ => {}
        }
        recent.push(Kept {
            number: line.number,
            text: cut(line.text, telling),
            weight,
            repeat,
            boundary,
        });
        if telling || self.trail > 0 || boundary.is_some() {
            self.trail = self.trail.saturating_sub(1);
            self.keep(recent, 1);
        }
    }

    /// The kept lines in order, the last lines of the log among them.
    pub(crate) fn finish(mut self) -> Lines {
        let recent = std::mem::take(&mut self.recent);
        self.keep(&recent, BEFORE);
        Lines {
            kept: self.kept,
            first_failed: self.first_failed,
            failed_command: self.failed_command,
            total: self.lines,
            telling: self.weighty,
            document: self.document,
            green: self.green,
        }
    }

    /// What a line says, and how often lines like it came before.
    fn judge(&mut self, line: &Line<'_>, claim: Claim) -> Seen {
        if claim == Claim::Noise || !line.signals.intersects(SIGNALS) {
            return Seen {
                weight: 0,
                boundary: self.boundary(line),
                times: 0,
            };
        }
        let key = template(line.text);
        if let Some(seen) = self.seen.get_mut(&key) {
            seen.times = seen.times.saturating_add(1);
            return *seen;
        }
        let seen = Seen {
            weight: if self.green.stood(line.text) {
                0
            } else {
                weight(line)
            },
            boundary: self.boundary(line),
            times: 0,
        };
        if self.seen.len() < TEMPLATES {
            self.seen.insert(key, seen);
        }
        seen
    }

    fn boundary(&self, line: &Line<'_>) -> Option<Boundary> {
        let last = line.text.as_bytes().last();
        let echo =
            |command: &String| command.as_bytes().last() == last && line.text.ends_with(command);
        let begins = self.command.as_ref().is_some_and(echo);
        boundary(line).or(begins.then_some(Boundary::Begin))
    }

    /// Keeps the last `count` of the recent lines, unless they are kept already.
    fn keep(&mut self, recent: &[Kept<'_>], count: usize) {
        let last = self.kept.last().map_or(0, |kept| kept.number);
        let start = recent.len().saturating_sub(count);
        for line in recent[start..].iter().filter(|line| line.number > last) {
            self.bytes += line.text.len() + size_of::<Kept<'_>>();
            self.kept.push(line.clone().into_owned());
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
            .map(|k| k.text.len() + size_of::<Kept<'_>>())
            .sum();
    }
}

/// The lines that were kept, and what is known of the log as a whole.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) kept: Vec<Kept<'static>>,
    /// Where the first command that failed was said to have failed.
    pub(crate) first_failed: Option<u64>,
    /// Where that command began; 0 when unknown.
    pub(crate) failed_command: u64,
    /// How many lines the cleaned log has.
    pub(crate) total: u64,
    /// How many of them have a weight, those that are not kept included.
    pub(crate) telling: u64,
    /// The log begins as an XML document does.
    pub(crate) document: bool,
    /// The last output that passed.
    pub(crate) green: Arc<SeenBefore>,
}

impl Kept<'_> {
    fn into_owned(self) -> Kept<'static> {
        Kept {
            text: Cow::Owned(self.text.into_owned()),
            ..self
        }
    }
}

/// A line that is not too long to be kept; of a long one, the part that tells.
fn cut(text: &str, telling: bool) -> Cow<'_, str> {
    if text.len() <= LINE_BYTES {
        return Cow::Borrowed(text);
    }
    let at = if telling { first_word(text) } else { 0 };
    let start = text.floor_char_boundary(at.saturating_sub(LED_BYTES));
    let end = text.floor_char_boundary(start + LINE_BYTES);
    match &text[start..end] {
        head if start == 0 => Cow::Borrowed(head),
        inner => Cow::Owned(format!("… {inner}")),
    }
}

/// Where the first word stands that speaks of a failure.
fn first_word(text: &str) -> usize {
    words(text.as_bytes())
        .find(|(_, signals)| signals.intersects(Signals::BAD))
        .map_or(0, |(word, _)| word.start)
}
