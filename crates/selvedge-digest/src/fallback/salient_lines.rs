//! Keeps the lines that speak of a failure, those around them, and the last ones; forgets the rest.
//!
//! Invariant: what is kept never exceeds [`KEPT_BYTES`] by more than one line, however long the log.

use std::sync::Arc;

use super::{CommandBoundary, command_boundary, template, weight};
use crate::formats::LineClaim;
use crate::hash::QuickMap;
use crate::line::{CleanLine, LineSignals};
use crate::passing_output::PassingTemplates;
use crate::scan::words;

/// The most bytes of text that are kept.
const KEPT_BYTES: usize = 3 << 20;
/// The longest line, in bytes; the rest of it is cut.
const LINE_BYTES: usize = 1000;
/// How much of a long line is shown before its first telling word, in bytes.
const LEAD_IN_BYTES: usize = 80;
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
const SALIENT_WEIGHT: u32 = 3;
/// Without any of these a line has no weight, and needs no close look.
const SIGNALS: LineSignals = LineSignals::ANY_FAILURE
    .with(LineSignals::LOCATION)
    .with(LineSignals::EXIT);

/// A line that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptLine {
    pub(crate) number: u64,
    pub(crate) text: String,
    /// See [`weight`].
    pub(crate) weight: u32,
    /// How many lines of its template came before it.
    pub(crate) repeat: u32,
    pub(crate) boundary: Option<CommandBoundary>,
}

/// A line that may yet be kept, in the block it stands in. There is one for each line of a log, so
/// it owns nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecentLine<'a> {
    number: u64,
    text: &'a str,
    weight: u32,
    repeat: u32,
    boundary: Option<CommandBoundary>,
    /// Too long to be kept whole.
    long: bool,
}

/// What is known of lines that are alike, so that only the first is looked at closely.
#[derive(Debug, Clone, Copy)]
struct TemplateStats {
    weight: u32,
    boundary: Option<CommandBoundary>,
    times: u32,
}

/// The lines kept so far.
#[derive(Debug, Default)]
pub(crate) struct SalientLines {
    kept: Vec<KeptLine>,
    bytes: usize,
    /// The last lines of the blocks before.
    last: Vec<KeptLine>,
    trail: u32,
    seen: QuickMap<u64, TemplateStats>,
    first_failed: Option<u64>,
    command_start: u64,
    failed_command: u64,
    lines: u64,
    salient_count: u64,
    is_xml: bool,
    passing_output: Arc<PassingTemplates>,
    /// The command whose output this is, if it is known.
    command: Option<String>,
}

impl SalientLines {
    /// Where a line ends in this command, the command's output begins.
    pub(crate) fn set_command(&mut self, command: Option<String>) {
        self.command = command.filter(|command| command.len() >= COMMAND_BYTES);
    }

    /// Lines that stood in the last output that passed speak of no failure.
    pub(crate) fn set_passing_output(&mut self, green: Arc<PassingTemplates>) {
        self.passing_output = green;
    }

    /// A block begins: the lines before it that may yet be kept.
    pub(crate) fn begin_block(&mut self) -> Vec<KeptLine> {
        std::mem::take(&mut self.last)
    }

    /// The block has ended.
    pub(crate) fn end_block(&mut self, recent: &[RecentLine<'_>]) {
        let last = recent.len().saturating_sub(BEFORE);
        self.last = recent[last..].iter().map(RecentLine::kept_line).collect();
    }

    /// Looks at a line, and what the formats said of it; `recent` are those before it, and takes it
    /// in.
    #[inline]
    pub(crate) fn push_line<'a>(
        &mut self,
        line: &CleanLine<'a>,
        claim: LineClaim,
        recent: &mut Vec<RecentLine<'a>>,
    ) {
        self.lines = line.number;
        if line.number == 1 {
            self.is_xml = line.text.starts_with("<?xml");
        }
        if claim == LineClaim::Suppress {
            return;
        }
        if line.is_blank() && recent.last().is_some_and(|last| last.text.is_empty()) {
            return;
        }
        let TemplateStats {
            weight,
            boundary,
            times: repeat,
        } = self.assess_line(line, claim);
        self.salient_count += u64::from(weight >= SALIENT_WEIGHT);
        let telling = weight > 0 && repeat < REPEATS;
        if telling {
            self.keep(recent, LEAD);
            self.trail = TRAIL;
        }
        match boundary {
            Some(CommandBoundary::Begin) if self.first_failed.is_none() => {
                self.command_start = line.number;
            }
            Some(CommandBoundary::Failed) if self.first_failed.is_none() => {
                self.first_failed = Some(line.number);
                self.failed_command = self.command_start;
                self.keep(recent, BEFORE);
            }
            _ => {}
        }
        recent.push(RecentLine {
            number: line.number,
            text: line.text,
            weight,
            repeat,
            boundary,
            long: line.text.len() > LINE_BYTES,
        });
        if telling || self.trail > 0 || boundary.is_some() {
            self.trail = self.trail.saturating_sub(1);
            self.keep(recent, 1);
        }
    }

    /// The kept lines in order, the last lines of the log among them.
    pub(crate) fn finish(mut self) -> KeptLines {
        let last = self.begin_block();
        self.keep(&RecentLine::from_kept(&last), BEFORE);
        KeptLines {
            kept: self.kept,
            first_failed: self.first_failed,
            failed_command: self.failed_command,
            total: self.lines,
            salient_count: self.salient_count,
            is_xml: self.is_xml,
            passing_output: self.passing_output,
        }
    }

    /// What a line says, and how often lines like it came before.
    #[inline]
    fn assess_line(&mut self, line: &CleanLine<'_>, claim: LineClaim) -> TemplateStats {
        // Where no more failures are kept, what a format reads of one more is not weighed either.
        let read =
            claim == LineClaim::Ignore || claim == LineClaim::Evidence && !line.capture.texts;
        if read || !line.signals.intersects(SIGNALS) {
            return TemplateStats {
                weight: 0,
                boundary: self.boundary(line),
                times: 0,
            };
        }
        self.assess_signals(line)
    }

    /// What a line says that bears any signal.
    fn assess_signals(&mut self, line: &CleanLine<'_>) -> TemplateStats {
        let key = template(line.text);
        if let Some(seen) = self.seen.get_mut(&key) {
            seen.times = seen.times.saturating_add(1);
            return *seen;
        }
        let seen = TemplateStats {
            weight: if self.passing_output.contains_line(line.text) {
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

    #[inline]
    fn boundary(&self, line: &CleanLine<'_>) -> Option<CommandBoundary> {
        let last = line.text.as_bytes().last();
        let echo =
            |command: &String| command.as_bytes().last() == last && line.text.ends_with(command);
        let begins = self.command.as_ref().is_some_and(echo);
        command_boundary(line).or(begins.then_some(CommandBoundary::Begin))
    }

    /// Keeps the last `count` of the recent lines, unless they are kept already.
    fn keep(&mut self, recent: &[RecentLine<'_>], count: usize) {
        let last = self.kept.last().map_or(0, |kept| kept.number);
        let start = recent.len().saturating_sub(count);
        for line in recent[start..].iter().filter(|line| line.number > last) {
            let kept = line.kept_line();
            self.bytes += kept.text.len() + size_of::<KeptLine>();
            self.kept.push(kept);
        }
        if self.bytes > KEPT_BYTES {
            self.drop_less_salient();
        }
    }

    /// Drops the less telling half of the middle; the first and the last quarter stay.
    fn drop_less_salient(&mut self) {
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
            .map(|k| k.text.len() + size_of::<KeptLine>())
            .sum();
    }
}

/// The lines that were kept, and what is known of the log as a whole.
#[derive(Debug, Default)]
pub(crate) struct KeptLines {
    pub(crate) kept: Vec<KeptLine>,
    /// Where the first command that failed was said to have failed.
    pub(crate) first_failed: Option<u64>,
    /// Where that command began; 0 when unknown.
    pub(crate) failed_command: u64,
    /// How many lines the cleaned log has.
    pub(crate) total: u64,
    /// How many of them have a weight, those that are not kept included.
    pub(crate) salient_count: u64,
    /// The log begins as an XML document does.
    pub(crate) is_xml: bool,
    /// The last output that passed.
    pub(crate) passing_output: Arc<PassingTemplates>,
}

impl<'a> RecentLine<'a> {
    /// Lines of the blocks before, once more.
    pub(crate) fn from_kept(kept: &'a [KeptLine]) -> Vec<Self> {
        let again = |kept: &'a KeptLine| Self {
            number: kept.number,
            text: &kept.text,
            weight: kept.weight,
            repeat: kept.repeat,
            boundary: kept.boundary,
            // It was cut when it was taken over.
            long: false,
        };
        kept.iter().map(again).collect()
    }

    fn is_salient(&self) -> bool {
        self.weight > 0 && self.repeat < REPEATS
    }

    fn kept_line(&self) -> KeptLine {
        KeptLine {
            number: self.number,
            text: if self.long {
                truncate_line(self.text, self.is_salient())
            } else {
                self.text.to_owned()
            },
            weight: self.weight,
            repeat: self.repeat,
            boundary: self.boundary,
        }
    }
}

/// The beginning of a long line, or the part that tells.
fn truncate_line(text: &str, telling: bool) -> String {
    let at = if telling { first_salient_word(text) } else { 0 };
    let start = text.floor_char_boundary(at.saturating_sub(LEAD_IN_BYTES));
    let end = text.floor_char_boundary(start + LINE_BYTES);
    match &text[start..end] {
        head if start == 0 => head.to_owned(),
        inner => format!("… {inner}"),
    }
}

/// Where the first word stands that speaks of a failure.
fn first_salient_word(text: &str) -> usize {
    words(text.as_bytes())
        .find(|(_, signals)| signals.intersects(LineSignals::ANY_FAILURE))
        .map_or(0, |(word, _)| word.start)
}
