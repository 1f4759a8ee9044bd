//! Reports in JSON: one document, pretty or on one line of any length, among other output.
//!
//! [`Cutter`] cuts a document into its entries. At first several reports may be meant; each entry is
//! shown to all that are left until one knows it, and from then on to that one alone. A document
//! that none knows is left to the general signals.

mod cargo;
mod cutter;
mod jest;
mod libtest;
mod lint;
mod mocha;
mod rspec;
mod sarif;

use std::fmt::Debug;

use super::{Claim, Format};
use crate::findings::Findings;
use crate::line::Line;
use cutter::{Cut, Cutter, Progress, first_key};

/// What a report makes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Only this report has such an entry.
    Known,
    /// It may be this report's.
    Maybe,
    /// This report has no such entry.
    Never,
}

/// Reads the report of one tool.
trait Report: Debug + Send {
    /// Looks at an entry that begins before the end of line `number`.
    fn entry(&mut self, key: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told;

    /// The document has ended, or the log ended before it did. Only called for a known report.
    fn end(&mut self, _complete: bool, _number: u64, _findings: &mut Findings) {}
}

/// The reports that may begin with a key: of the root object, or of the first element of an array.
fn candidates(key: &str) -> Vec<Box<dyn Report>> {
    match key {
        "reason" => vec![Box::<cargo::Cargo>::default()],
        "numFailedTestSuites" => vec![Box::new(jest::Jest::new("jest"))],
        "numTotalTestSuites" => vec![Box::new(jest::Jest::new("vitest"))],
        "stats" => vec![Box::<mocha::Mocha>::default()],
        _ => {
            let mut reports = lint::candidates(key);
            if matches!(key, "version" | "$schema" | "runs") {
                reports.push(Box::<sarif::Sarif>::default());
            }
            if key == "version" {
                reports.push(Box::<rspec::RSpec>::default());
            }
            reports
        }
    }
}

/// First keys that no other document is likely to begin with.
const SURE: [&str; 7] = [
    "reason",
    "numFailedTestSuites",
    "numTotalTestSuites",
    "stats",
    "runs",
    "filePath",
    "cell",
];

/// Reads reports in JSON.
#[derive(Debug, Default)]
pub(super) struct Json {
    document: Option<Document>,
}

/// A document that is being read.
#[derive(Debug, Default)]
struct Document {
    cutter: Cutter,
    /// Those that may be meant; empty until the first key was seen.
    reports: Vec<Box<dyn Report>>,
    begun: bool,
    /// It began with a key that only one report begins with.
    sure: bool,
    /// An entry was seen that only this report has.
    known: bool,
    /// The line that it began in, and the one that is being read.
    first: u64,
    number: u64,
}

impl Format for Json {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if self.document.is_none() && !may_begin(line.text) {
            return Claim::Foreign;
        }
        let document = self
            .document
            .get_or_insert_with(|| Document::begin(line.number));
        document.number = line.number;
        self.feed(line.text.as_bytes(), findings)
    }

    fn is_open(&self) -> bool {
        self.document.is_some()
    }

    fn part(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) -> bool {
        if self.document.is_none() && !may_begin(&String::from_utf8_lossy(head(bytes))) {
            return false;
        }
        self.document
            .get_or_insert_with(|| Document::begin(number))
            .number = number;
        self.feed(bytes, findings) != Claim::Foreign || self.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(mut document) = self.document.take() {
            document.end(false, findings);
        }
    }
}

impl Json {
    /// Reads a piece of the document; says what the piece is.
    fn feed(&mut self, bytes: &[u8], findings: &mut Findings) -> Claim {
        let Some(mut document) = self.document.take() else {
            return Claim::Foreign;
        };
        let mut cutter = std::mem::take(&mut document.cutter);
        let progress = cutter.feed(bytes, &mut |cut| document.entry(cut, findings));
        let claim = match (document.known || document.sure, document.reports.is_empty()) {
            (true, _) => Claim::Chaff,
            (false, false) => Claim::Noise,
            (false, true) => Claim::Foreign,
        };
        let forgotten = document.begun && document.reports.is_empty();
        match progress {
            Progress::Open if !forgotten => {
                document.cutter = cutter;
                self.document = Some(document);
            }
            Progress::Ended => document.end(true, findings),
            _ => document.end(false, findings),
        }
        claim
    }
}

impl Document {
    fn begin(number: u64) -> Self {
        Self {
            first: number,
            ..Self::default()
        }
    }

    fn entry(&mut self, cut: Cut<'_>, findings: &mut Findings) {
        let (key, value) = match cut {
            Cut::First(key) => {
                self.begun = true;
                self.reports = candidates(key);
                self.sure = SURE.contains(&key);
                return;
            }
            Cut::Value(key, value) => (key, value),
            Cut::Lost(_) => {
                if self.known {
                    findings.note("an entry of a JSON report was too long to be read");
                }
                return;
            }
        };
        for index in (0..self.reports.len()).rev() {
            match self.reports[index].entry(key, value, self.number, findings) {
                Told::Known if self.reports.len() > 1 => {
                    let known = self.reports.swap_remove(index);
                    self.reports = vec![known];
                    self.known = true;
                    return;
                }
                Told::Known => self.known = true,
                Told::Maybe => {}
                Told::Never if self.known => {}
                Told::Never => drop(self.reports.swap_remove(index)),
            }
        }
    }

    fn end(&mut self, complete: bool, findings: &mut Findings) {
        if !self.known {
            return;
        }
        if !complete {
            findings.note("a JSON report ends early: what it says after that is not known");
        }
        // Its first lines were shown before one could know it.
        findings.told(self.first..=self.number);
        for report in &mut self.reports {
            report.end(complete, self.number, findings);
        }
    }
}

/// As much of a line as shows how it begins.
fn head(bytes: &[u8]) -> &[u8] {
    const HEAD_BYTES: usize = 200;
    &bytes[..bytes.len().min(HEAD_BYTES)]
}

/// Whether a document that is known may begin with this line.
fn may_begin(text: &str) -> bool {
    match text {
        "{" | "[" => true,
        _ if ["{\"", "{ \"", "[{\""]
            .iter()
            .any(|start| text.starts_with(start)) =>
        {
            let value = text.trim_start_matches('[').as_bytes();
            first_key(value).is_some_and(|key| !candidates(key).is_empty())
        }
        _ => false,
    }
}
