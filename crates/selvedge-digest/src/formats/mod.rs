//! The tools whose output is known: one file a family, one row of [`TABLE`] a format.
//!
//! A format reads the log line by line. It is shown a line when the line begins with one of its
//! bytes or bears one of its signals, and every line while it is open, that is, within a section
//! that it has recognised. So one log may hold the output of any number of tools in any order.

mod diagnostic;
mod go;
mod go_json;
mod grouped;
mod jest;
mod jvm;
mod libtest;
mod nextest;
mod node_test;
mod numbered;
mod place;
mod pytest;
mod rustc;
mod tap;
mod tsc;
mod unittest;
mod vitest;

use std::fmt::Debug;

use crate::findings::Findings;
use crate::line::{Line, Signals};

/// What a format makes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Not the format's; others may look at it.
    Foreign,
    /// The format's, and nothing that explains a failure.
    Noise,
    /// The format's, in words for machines: what it says is recorded, nobody is to read it.
    Chaff,
    /// The format's, and part of a failure, or a total.
    Evidence,
}

/// Reads the output of one tool.
pub(crate) trait Format: Debug + Send {
    /// Looks at a line.
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim;

    /// Whether it wants to see the next line, whatever that begins with.
    fn is_open(&self) -> bool {
        false
    }

    /// The log has ended.
    fn finish(&mut self, _findings: &mut Findings) {}
}

/// A row of the table.
struct Row {
    /// The first bytes (after the indentation) of lines that the format must see.
    starts: &'static [u8],
    /// It also must see any line with one of these signals.
    signals: Signals,
    make: fn() -> Box<dyn Format>,
}

/// The rows from here on read failures that are one line each, and do not read a flood of them.
const ONE_LINERS: usize = 13;

/// Earlier rows look at a line first.
static TABLE: [Row; 16] = [
    Row {
        starts: b"ewC",
        signals: Signals::NONE,
        make: || Box::<rustc::Rustc>::default(),
    },
    Row {
        starts: b"PFSATLX",
        signals: Signals::NONE,
        make: || Box::<nextest::Nextest>::default(),
    },
    Row {
        starts: b"tr-f.",
        signals: Signals::FAIL,
        make: || Box::<libtest::Libtest>::default(),
    },
    Row {
        starts: b"=0123456789",
        signals: Signals::NONE,
        make: || Box::<pytest::Pytest>::default(),
    },
    Row {
        starts: b"FERUt",
        signals: Signals::NONE,
        make: || Box::<unittest::Unittest>::default(),
    },
    Row {
        starts: b"=-oF?#pf",
        signals: Signals::NONE,
        make: || Box::<go::Go>::default(),
    },
    Row {
        starts: b"{",
        signals: Signals::NONE,
        make: || Box::<go_json::GoJson>::default(),
    },
    Row {
        starts: b"FPT",
        signals: Signals::NONE,
        make: || Box::<jest::Jest>::default(),
    },
    Row {
        starts: b"FTR",
        signals: Signals::CROSS.with(Signals::TICK),
        make: || Box::<vitest::Vitest>::default(),
    },
    Row {
        starts: b"t",
        signals: Signals::CROSS.with(Signals::TICK),
        make: || Box::<node_test::NodeTest>::default(),
    },
    Row {
        starts: b"To1n",
        signals: Signals::NONE,
        make: || Box::<tap::Tap>::default(),
    },
    Row {
        starts: b"",
        signals: Signals::FAIL.with(Signals::ERROR),
        make: || Box::<jvm::Jvm>::default(),
    },
    Row {
        starts: b"0123456789TEFP",
        signals: Signals::NONE,
        make: || Box::<numbered::Numbered>::default(),
    },
    Row {
        starts: b"",
        signals: Signals::ERROR,
        make: || Box::<tsc::Tsc>::default(),
    },
    Row {
        starts: b"",
        signals: Signals::PLACE,
        make: || Box::<grouped::Grouped>::default(),
    },
    Row {
        starts: b"",
        signals: Signals::PLACE,
        make: || Box::<diagnostic::Diagnostic>::default(),
    },
];

/// The formats at work on one log.
#[derive(Debug)]
pub(crate) struct Formats {
    readers: Vec<Box<dyn Format>>,
    /// For each byte a line may begin with, the formats to ask, as a bit set.
    by_start: Box<[u64; 256]>,
    /// The signals that some format asks for.
    signals: Signals,
    /// The formats that are open, as a bit set; they only change when they see a line.
    open: u64,
}

impl Formats {
    /// All formats of the table.
    pub(crate) fn all() -> Self {
        let mut by_start = Box::new([0; 256]);
        for (index, row) in TABLE.iter().enumerate() {
            for &start in row.starts {
                by_start[usize::from(start)] |= 1 << index;
            }
        }
        Self {
            readers: TABLE.iter().map(|row| (row.make)()).collect(),
            by_start,
            signals: TABLE
                .iter()
                .fold(Signals::NONE, |all, row| all.with(row.signals)),
            open: 0,
        }
    }

    /// No format: the general signals alone.
    pub(crate) fn none() -> Self {
        Self {
            readers: Vec::new(),
            by_start: Box::new([0; 256]),
            signals: Signals::NONE,
            open: 0,
        }
    }

    /// Shows a line to those who care, until one claims it.
    pub(crate) fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let start = line
            .body()
            .as_bytes()
            .first()
            .map_or(0, |&byte| usize::from(byte));
        let mut asked = self.by_start[start] | self.open;
        if line.signals.intersects(self.signals) {
            asked |= by_signals(line.signals);
        }
        if findings.is_flooded() {
            asked &= (1 << ONE_LINERS) - 1;
        }
        for (index, reader) in self.readers.iter_mut().enumerate() {
            if asked >> index == 0 {
                break;
            }
            if asked >> index & 1 == 0 {
                continue;
            }
            let claim = reader.line(line, findings);
            self.open = self.open & !(1 << index) | u64::from(reader.is_open()) << index;
            if claim != Claim::Foreign {
                return claim;
            }
        }
        Claim::Foreign
    }

    /// The log has ended.
    pub(crate) fn finish(mut self, findings: &mut Findings) {
        for reader in &mut self.readers {
            reader.finish(findings);
        }
    }
}

/// The formats that ask for lines with any of these signals, as a bit set.
fn by_signals(signals: Signals) -> u64 {
    TABLE.iter().enumerate().fold(0, |asked, (index, row)| {
        asked | u64::from(signals.intersects(row.signals)) << index
    })
}
