//! The formats at work on one log, and who of them is shown a line.
//!
//! Invariant: a format that is open sees every line, unless one before it in the table has claimed
//! it.

use super::table::{Row, TABLE};
use super::wakes::Wakes;
use super::{Claim, Format};
use crate::findings::Findings;
use crate::line::Line;

/// The formats at work on one log.
#[derive(Debug)]
pub(crate) struct Formats {
    readers: Vec<Box<dyn Format>>,
    wakes: Wakes,
    /// The formats whose failures are one line each, as a bit set.
    one_liners: u64,
    /// The formats that are open, as a bit set; they only change when they see a line.
    open: u64,
    /// The format that read the last line that was anybody's.
    last: usize,
    /// Parts of the line that comes next were read already.
    read_in_parts: bool,
}

impl Formats {
    /// All formats of the table.
    pub(crate) fn all() -> Self {
        Self::those(|_| true)
    }

    /// One format alone; none of that name is no format at all.
    pub(crate) fn only(name: &str) -> Self {
        Self::those(|row| row.name == name)
    }

    /// No format: the general signals alone.
    pub(crate) fn none() -> Self {
        Self::those(|_| false)
    }

    fn those(wanted: impl Fn(&Row) -> bool) -> Self {
        let rows: Vec<&Row> = TABLE.iter().filter(|row| wanted(row)).collect();
        let mut wakes = Wakes::default();
        let mut one_liners = 0;
        for (index, row) in rows.iter().enumerate() {
            wakes.add(index, row.begins, row.signals);
            one_liners |= u64::from(row.one_liners) << index;
        }
        Self {
            readers: rows.iter().map(|row| (row.make)()).collect(),
            wakes,
            one_liners,
            open: 0,
            last: 0,
            read_in_parts: false,
        }
    }

    /// Shows a part of a line that is too long, before what is kept of that line is shown.
    pub(crate) fn part(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) {
        self.read_in_parts = false;
        for (index, reader) in self.readers.iter_mut().enumerate() {
            if reader.part(bytes, number, findings) {
                self.read_in_parts = true;
                self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
                return;
            }
        }
    }

    /// Whether the line tells of one more test that passed, and of nothing else.
    #[inline]
    pub(crate) fn passed(&mut self, text: &str, findings: &mut Findings) -> bool {
        let others_open = self.open & !(1 << self.last) != 0;
        !others_open
            && !self.read_in_parts
            && self
                .readers
                .get_mut(self.last)
                .is_some_and(|last| last.passed(text, findings))
    }

    /// Shows a line to those who care, until one claims it.
    pub(crate) fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if std::mem::take(&mut self.read_in_parts) {
            return Claim::Chaff;
        }
        let mut asked = self.wakes.by(line) | self.open;
        if findings.is_flooded() {
            asked &= !self.one_liners;
        }
        for index in bits(asked) {
            let Some(reader) = self.readers.get_mut(index) else {
                break;
            };
            let claim = reader.line(line, findings);
            self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
            if findings.runs.changes_session() {
                self.change_session(index, findings);
            }
            if claim != Claim::Foreign {
                self.last = index;
                return claim;
            }
        }
        Claim::Foreign
    }

    /// A runner's session begins or ends: what the other readers hold back belongs to the time before.
    fn change_session(&mut self, runner: usize, findings: &mut Findings) {
        for (index, reader) in self.readers.iter_mut().enumerate() {
            if index != runner {
                reader.finish(findings);
                self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
            }
        }
        findings.runs.change_session();
    }

    /// The log has ended.
    pub(crate) fn finish(mut self, findings: &mut Findings) {
        for reader in &mut self.readers {
            reader.finish(findings);
        }
    }
}

/// The numbers of the bits in a set, from the lowest.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = usize::try_from(set.trailing_zeros()).ok()?;
        set &= set.checked_sub(1)?;
        Some(bit)
    })
}
