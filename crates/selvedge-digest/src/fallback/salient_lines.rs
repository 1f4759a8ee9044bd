//! Keeps the lines that indicate a failure, the lines around them, and the last lines.
//!
//! Invariant: the kept text never exceeds [`KEPT_BYTES`] by more than one line, however long the log is.

use std::sync::Arc;

use super::{CommandBoundary, command_boundary, template, weight};
use crate::formats::LineClaim;
use crate::hash::QuickMap;
use crate::line::{CleanLine, LineSignals};
use crate::passing_output::PassingTemplates;
use crate::scan::words;

/// Maximum size of the kept text, in bytes.
const KEPT_BYTES: usize = 3 << 20;
/// Maximum length of a kept line, in bytes; the rest is cut.
const LINE_BYTES: usize = 1000;
/// How much of a long line is shown before its first salient word, in bytes.
const LEAD_IN_BYTES: usize = 80;
/// Number of lines before the current one that are remembered.
const BEFORE: usize = 80;
/// Number of lines that are kept before a salient one.
const LEAD: usize = 6;
/// Number of lines that are kept after a salient one.
const TRAIL: u32 = 24;
/// Number of similar lines that are kept; further ones are only counted.
const REPEATS: u32 = 40;
/// Maximum number of counted templates.
const TEMPLATES: usize = 50_000;
/// Minimum length of a command that is searched for; a shorter one could end any line.
const COMMAND_BYTES: usize = 4;
/// Minimum weight of a line that is counted as salient.
const SALIENT_WEIGHT: u32 = 3;
/// A line without any of these signals has no weight.
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
    /// Number of earlier lines with the same template.
    pub(crate) repeat: u32,
    pub(crate) boundary: Option<CommandBoundary>,
}

/// A line of the current block that may still be kept. There is one for each line of the log, so it owns
/// nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecentLine<'a> {
    number: u64,
    text: &'a str,
    weight: u32,
    repeat: u32,
    boundary: Option<CommandBoundary>,
    /// Whether it is too long to be kept whole.
    long: bool,
}

/// Statistics of similar lines, so that only the first is examined closely.
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
    /// The last lines of the previous blocks.
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
    /// The command that wrote the log, if it is known.
    command: Option<String>,
}

impl SalientLines {
    /// Sets the command: a line that ends with it marks the beginning of the command's output.
    pub(crate) fn set_command(&mut self, command: Option<String>) {
        self.command = command.filter(|command| command.len() >= COMMAND_BYTES);
    }

    /// Sets the last output that passed: its lines do not indicate a failure.
    pub(crate) fn set_passing_output(&mut self, green: Arc<PassingTemplates>) {
        self.passing_output = green;
    }

    /// Starts a block. Returns the lines before it that may still be kept.
    pub(crate) fn begin_block(&mut self) -> Vec<KeptLine> {
        std::mem::take(&mut self.last)
    }

    /// Ends the block.
    pub(crate) fn end_block(&mut self, recent: &[RecentLine<'_>]) {
        let last = recent.len().saturating_sub(BEFORE);
        self.last = recent[last..].iter().map(RecentLine::kept_line).collect();
    }

    /// Adds a line with the formats' claim on it; `recent` are the lines before it.
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
        if matches!(claim, LineClaim::Suppress | LineClaim::Noise)
            || !matches!(claim, LineClaim::Evidence) && weight::is_passed_test(line)
        {
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
        let is_salient = weight > 0 && repeat < REPEATS;
        if is_salient {
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
        if is_salient || self.trail > 0 || boundary.is_some() {
            self.trail = self.trail.saturating_sub(1);
            self.keep(recent, 1);
        }
    }

    /// Returns the kept lines in order, including the last lines of the log.
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

    /// The weight of a line, and the number of similar lines before it.
    #[inline]
    fn assess_line(&mut self, line: &CleanLine<'_>, claim: LineClaim) -> TemplateStats {
        // Once no more failures are kept, lines that formats claim are not weighed either.
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

    /// The weight of a line with at least one signal.
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

    /// Keeps the last `count` recent lines that are not kept already.
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

    /// Drops the less salient half of the middle; the first and the last quarter stay.
    fn drop_less_salient(&mut self) {
        let total = self.kept.len();
        let middle = total / 4..total - total / 4;
        let mut weights: Vec<u32> = self.kept[middle.clone()].iter().map(|k| k.weight).collect();
        let half = weights.len() / 2;
        let (_, &mut bar, _) = weights.select_nth_unstable(half);
        let mut index = 0;
        let mut kept_equal = 0;
        self.kept.retain(|kept| {
            let inside = middle.contains(&index);
            index += 1;
            let keep =
                !inside || kept.weight > bar || (kept.weight == bar && kept_equal < half / 2);
            kept_equal += usize::from(inside && kept.weight == bar && keep);
            keep
        });
        self.bytes = self
            .kept
            .iter()
            .map(|k| k.text.len() + size_of::<KeptLine>())
            .sum();
    }
}

/// The kept lines, and facts about the whole log.
#[derive(Debug, Default)]
pub(crate) struct KeptLines {
    pub(crate) kept: Vec<KeptLine>,
    /// Line at which the first failed command was reported.
    pub(crate) first_failed: Option<u64>,
    /// Line at which that command began; 0 if unknown.
    pub(crate) failed_command: u64,
    /// Number of lines of the cleaned log.
    pub(crate) total: u64,
    /// Number of lines with a weight, including those that were not kept.
    pub(crate) salient_count: u64,
    /// Whether the log begins like an XML document.
    pub(crate) is_xml: bool,
    /// The last output that passed.
    pub(crate) passing_output: Arc<PassingTemplates>,
}

impl<'a> RecentLine<'a> {
    /// Copies of lines of earlier blocks.
    pub(crate) fn from_kept(kept: &'a [KeptLine]) -> Vec<Self> {
        let again = |kept: &'a KeptLine| Self {
            number: kept.number,
            text: &kept.text,
            weight: kept.weight,
            repeat: kept.repeat,
            boundary: kept.boundary,
            // It was already cut when it was kept.
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

/// The beginning of a long line, or the part with the first salient word.
fn truncate_line(text: &str, is_salient: bool) -> String {
    let at = if is_salient {
        first_salient_word(text)
    } else {
        0
    };
    let start = text.floor_char_boundary(at.saturating_sub(LEAD_IN_BYTES));
    let end = text.floor_char_boundary(start + LINE_BYTES);
    match &text[start..end] {
        head if start == 0 => head.to_owned(),
        inner => format!("… {inner}"),
    }
}

/// Position of the first word that indicates a failure.
fn first_salient_word(text: &str) -> usize {
    words(text.as_bytes())
        .find(|(_, signals)| signals.intersects(LineSignals::ANY_FAILURE))
        .map_or(0, |(word, _)| word.start)
}
