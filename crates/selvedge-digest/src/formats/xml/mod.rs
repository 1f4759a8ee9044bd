//! Reports in XML, among other output: JUnit's, .NET's and checkstyle's. The root element says which.

mod checkstyle;
mod cutter;
mod junit;
mod trx;

use std::fmt::Debug;

use super::{Claim, Format};
use crate::findings::Findings;
use crate::line::Line;
use cutter::{Cut, Cutter, Progress, Tag};

/// Reads the report of one sort of tool.
trait Report: Debug + Send {
    /// An element begins, in line `number`.
    fn open(&mut self, tag: &Tag<'_>, number: u64, findings: &mut Findings);

    /// Text of the innermost open element, whole or in parts.
    fn text(&mut self, _text: &str) {}

    /// The innermost open element ends.
    fn close(&mut self, findings: &mut Findings);

    /// The log has ended before the document did.
    fn cut_off(&mut self, _findings: &mut Findings) {}
}

fn report(root: &str) -> Option<Box<dyn Report>> {
    match root {
        "testsuites" | "testsuite" => Some(Box::<junit::Junit>::default()),
        "TestRun" => Some(Box::<trx::Trx>::default()),
        "checkstyle" => Some(Box::<checkstyle::Checkstyle>::default()),
        _ => None,
    }
}

/// Reads reports in XML.
#[derive(Debug, Default)]
pub(super) struct Xml {
    document: Option<Document>,
}

#[derive(Debug, Default)]
struct Document {
    cutter: Cutter,
    report: Option<Box<dyn Report>>,
    /// The root element is none that is known.
    unknown: bool,
    /// The line that is being read.
    number: u64,
}

impl Format for Xml {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if self.document.is_none() && !may_begin(line.text) {
            return Claim::Foreign;
        }
        // The end of the last line; that line may have come in parts.
        self.feed(b"\n", findings);
        self.document.get_or_insert_default().number = line.number;
        match (self.feed(line.text.as_bytes(), findings), self.is_open()) {
            // Open and not known yet: what stands before the root.
            (true, _) | (false, true) => Claim::Chaff,
            (false, false) => Claim::Foreign,
        }
    }

    fn is_open(&self) -> bool {
        self.document.is_some()
    }

    fn part(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) -> bool {
        const STARTS: usize = 20;
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(STARTS)]);
        if self.document.is_none() && !may_begin(&start) {
            return false;
        }
        self.document.get_or_insert_default().number = number;
        self.feed(bytes, findings) || self.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(document) = self.document.take() {
            document.cut_off(findings);
        }
    }
}

impl Xml {
    /// Reads a piece of the document; says whether it is one that is known.
    fn feed(&mut self, bytes: &[u8], findings: &mut Findings) -> bool {
        let Some(mut document) = self.document.take() else {
            return false;
        };
        let mut cutter = std::mem::take(&mut document.cutter);
        let progress = cutter.feed(bytes, &mut |cut| document.part(&cut, findings));
        let known = document.report.is_some();
        match progress {
            Progress::Open if !document.unknown => {
                document.cutter = cutter;
                self.document = Some(document);
            }
            Progress::Broken => document.cut_off(findings),
            _ => {}
        }
        known
    }
}

impl Document {
    fn part(&mut self, cut: &Cut<'_>, findings: &mut Findings) {
        if let (Cut::Open(tag), None) = (cut, &self.report) {
            self.report = report(&tag.name());
            self.unknown = self.report.is_none();
        }
        let Some(report) = &mut self.report else {
            return;
        };
        match cut {
            Cut::Open(tag) => report.open(tag, self.number, findings),
            Cut::Text(text) => report.text(text),
            Cut::Close => report.close(findings),
        }
    }

    fn cut_off(mut self, findings: &mut Findings) {
        if let Some(report) = &mut self.report {
            findings.note("an XML report ends early: what it says after that is not known");
            report.cut_off(findings);
        }
    }
}

/// Whether a document that is known may begin with this line.
fn may_begin(text: &str) -> bool {
    // .NET begins its files with a mark of the byte order.
    let text = text.trim_start_matches('\u{feff}');
    ["<?xml ", "<testsuite", "<checkstyle", "<TestRun "]
        .iter()
        .any(|start| text.starts_with(start))
}
