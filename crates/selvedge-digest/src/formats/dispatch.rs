//! The formats that read one log, and which of them sees a line.
//!
//! Invariant: an open format sees every line, unless a format before it in the table has claimed the line.

use super::prefilter::LinePrefilter;
use super::table::{FormatRow, TABLE};
use super::{FormatParser, LineClaim};
use crate::findings::Findings;
use crate::line::CleanLine;

/// The formats that read one log.
#[derive(Debug)]
pub(crate) struct FormatDispatcher {
    parsers: Vec<Box<dyn FormatParser>>,
    prefilter: LinePrefilter,
    /// The formats with one-line failures, as a bit set.
    one_liners: u64,
    /// The open formats, as a bit set; it only changes when a format sees a line.
    open: u64,
    /// The format that claimed the last claimed line.
    last_parser: usize,
    /// Whether parts of the next line were read already.
    read_in_parts: bool,
}

impl FormatDispatcher {
    /// All formats of the table.
    pub(crate) fn all() -> Self {
        Self::select(|_| true)
    }

    /// One format; none if no format has this name.
    pub(crate) fn only(name: &str) -> Self {
        Self::select(|row| row.name == name)
    }

    /// No format: only general signals.
    pub(crate) fn none() -> Self {
        Self::select(|_| false)
    }

    fn select(wanted: impl Fn(&FormatRow) -> bool) -> Self {
        let rows: Vec<&FormatRow> = TABLE.iter().filter(|row| wanted(row)).collect();
        let mut wakes = LinePrefilter::default();
        let mut one_liners = 0;
        for (index, row) in rows.iter().enumerate() {
            wakes.add(index, row.line_starts(), row.signals);
            one_liners |= u64::from(row.one_liners) << index;
        }
        Self {
            parsers: rows.iter().map(|row| (row.make)()).collect(),
            prefilter: wakes,
            one_liners,
            open: 0,
            last_parser: 0,
            read_in_parts: false,
        }
    }

    /// Passes on a part of a line that is too long, before the kept part of that line is dispatched.
    pub(crate) fn parse_fragment(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) {
        self.read_in_parts = false;
        for (index, reader) in self.parsers.iter_mut().enumerate() {
            if reader.parse_fragment(bytes, number, findings) {
                self.read_in_parts = true;
                self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
                return;
            }
        }
    }

    /// Whether the line only reports one more passed test.
    #[inline]
    pub(crate) fn parse_passed_test(&mut self, text: &str, findings: &mut Findings) -> bool {
        let others_open = self.open & !(1 << self.last_parser) != 0;
        !others_open
            && !self.read_in_parts
            && self
                .parsers
                .get_mut(self.last_parser)
                .is_some_and(|last| last.parse_passed_test(text, findings))
    }

    /// Passes a line to its candidates until one claims it.
    pub(crate) fn dispatch_line(
        &mut self,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        if std::mem::take(&mut self.read_in_parts) {
            return LineClaim::Suppress;
        }
        let mut selected = self.prefilter.candidates(line) | self.open;
        if findings.is_flooded() {
            selected &= !self.one_liners;
        }
        for index in bits(selected) {
            let Some(reader) = self.parsers.get_mut(index) else {
                break;
            };
            let claim = reader.parse_line(line, findings);
            self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
            if findings.runs.changes_session() {
                self.change_session(index, findings);
            }
            if claim != LineClaim::NotMine {
                self.last_parser = index;
                return claim;
            }
        }
        LineClaim::NotMine
    }

    /// A runner's session begins or ends: results that the other readers hold back belong to the time before.
    fn change_session(&mut self, runner: usize, findings: &mut Findings) {
        for (index, reader) in self.parsers.iter_mut().enumerate() {
            if index != runner {
                reader.finish(findings);
                self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
            }
        }
        findings.runs.change_session();
    }

    /// Ends the log.
    pub(crate) fn finish(mut self, findings: &mut Findings) {
        for reader in &mut self.parsers {
            reader.finish(findings);
        }
    }
}

/// The positions of the set bits, lowest first.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = usize::try_from(set.trailing_zeros()).ok()?;
        set &= set.checked_sub(1)?;
        Some(bit)
    })
}
