//! Reports in XML, among other output: JUnit's, .NET's and checkstyle's. The root element identifies the
//! format.

mod checkstyle;
mod junit;
mod stream_splitter;
mod trx;

use std::fmt::Debug;

use super::{FormatParser, LineClaim};
use crate::findings::Findings;
use crate::line::CleanLine;
use stream_splitter::{XmlFragment, XmlProgress, XmlStreamSplitter, XmlTag};

/// Reads one kind of report.
trait XmlReportParser: Debug + Send {
    /// An element begins in line `number`.
    fn open_element(&mut self, tag: &XmlTag<'_>, number: u64, findings: &mut Findings);

    /// Text of the innermost open element, whole or in parts.
    fn push_text(&mut self, _text: &str) {}

    /// The innermost open element ends.
    fn close_element(&mut self, findings: &mut Findings);

    /// The log has ended before the document did.
    fn finish_truncated(&mut self, _findings: &mut Findings) {}
}

fn parser_for_root(root: &str) -> Option<Box<dyn XmlReportParser>> {
    match root {
        "testsuites" | "testsuite" => Some(Box::<junit::JunitXmlParser>::default()),
        "TestRun" => Some(Box::<trx::TrxParser>::default()),
        "checkstyle" => Some(Box::<checkstyle::CheckstyleParser>::default()),
        _ => None,
    }
}

/// Reads reports in XML.
#[derive(Debug, Default)]
pub(super) struct XmlParser {
    document: Option<XmlDocument>,
}

#[derive(Debug, Default)]
struct XmlDocument {
    cutter: XmlStreamSplitter,
    report: Option<Box<dyn XmlReportParser>>,
    /// Whether the root element is unknown.
    unknown: bool,
    /// The current line.
    number: u64,
}

impl FormatParser for XmlParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if self.document.is_none() && !may_begin(line.text) {
            return LineClaim::NotMine;
        }
        // The end of the last line, which may have come in parts.
        self.feed(b"\n", findings);
        self.document.get_or_insert_default().number = line.number;
        match (self.feed(line.text.as_bytes(), findings), self.is_open()) {
            // Open and not yet recognised: the content before the root.
            (true, _) | (false, true) => LineClaim::Suppress,
            (false, false) => LineClaim::NotMine,
        }
    }

    fn is_open(&self) -> bool {
        self.document.is_some()
    }

    fn parse_fragment(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) -> bool {
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
            document.finish_truncated(findings);
        }
    }
}

impl XmlParser {
    /// Reads a piece of the document. Returns whether its format is known.
    fn feed(&mut self, bytes: &[u8], findings: &mut Findings) -> bool {
        let Some(mut document) = self.document.take() else {
            return false;
        };
        let mut cutter = std::mem::take(&mut document.cutter);
        let progress = cutter.feed(bytes, &mut |cut| document.handle_fragment(&cut, findings));
        let known = document.report.is_some();
        match progress {
            XmlProgress::Open if !document.unknown => {
                document.cutter = cutter;
                self.document = Some(document);
            }
            XmlProgress::Broken => document.finish_truncated(findings),
            _ => {}
        }
        known
    }
}

impl XmlDocument {
    fn handle_fragment(&mut self, cut: &XmlFragment<'_>, findings: &mut Findings) {
        if let (XmlFragment::Open(tag), None) = (cut, &self.report) {
            self.report = parser_for_root(&tag.name());
            self.unknown = self.report.is_none();
        }
        let Some(report) = &mut self.report else {
            return;
        };
        match cut {
            XmlFragment::Open(tag) => report.open_element(tag, self.number, findings),
            XmlFragment::Text(text) => report.push_text(text),
            XmlFragment::Close => report.close_element(findings),
        }
    }

    fn finish_truncated(mut self, findings: &mut Findings) {
        if let Some(report) = &mut self.report {
            findings.add_note("an XML report ends early: the rest is unknown");
            report.finish_truncated(findings);
        }
    }
}

/// Whether a known document may begin with this line.
fn may_begin(text: &str) -> bool {
    // .NET files begin with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    ["<?xml ", "<testsuite", "<checkstyle", "<TestRun "]
        .iter()
        .any(|start| text.starts_with(start))
}
