//! Reports in JSON: one document, pretty-printed or on one line of any length, among other output.
//!
//! [`JsonStreamSplitter`] splits a document into its entries. At first several reports are possible; each
//! entry is offered to all candidates until one recognises it, and then to that one only. A document that no
//! report recognises is left to the general signals.

mod cargo;
mod jest;
mod libtest;
mod lint;
mod mocha;
mod rspec;
mod sarif;
mod stream_splitter;

use std::fmt::Debug;

use serde::de::DeserializeOwned;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::record::FailureKind;
use stream_splitter::{JsonFragment, JsonProgress, JsonStreamSplitter, first_key};

/// Whether an entry matches a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryMatch {
    /// Only this report has such entries.
    Certain,
    /// It may belong to this report.
    Possible,
}

/// An entry of a report.
#[derive(Debug, Clone, Copy)]
struct JsonEntry<'a> {
    /// The key of the member or array that holds it; empty at the root.
    key: &'a str,
    text: &'a [u8],
    /// The line that it ends in.
    number: u64,
}

impl JsonEntry<'_> {
    fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(self.text).ok()
    }

    /// Starts a failure that this entry reports.
    fn start_failure(&self, kind: FailureKind, tool: &'static str) -> FailureBuilder {
        FailureBuilder::structured(kind, tool, self.number)
    }
}

/// Reads the report of one tool.
trait JsonReportParser: Debug + Send {
    /// Reads an entry; none if this report has no such entries.
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch>;

    /// The document has ended, or the log ended before it did. Only called for a recognised report.
    fn finish_document(&mut self, _complete: bool, _number: u64, _findings: &mut Findings) {}
}

/// The reports that may begin with a key: of the root object, or of the first element of an array.
fn candidates(key: &str) -> Vec<Box<dyn JsonReportParser>> {
    match key {
        "reason" => vec![Box::<cargo::CargoJsonParser>::default()],
        "numFailedTestSuites" => vec![Box::new(jest::JestJsonParser::new("jest"))],
        "numTotalTestSuites" => vec![Box::new(jest::JestJsonParser::new("vitest"))],
        "stats" => vec![Box::<mocha::MochaJsonParser>::default()],
        _ => {
            let mut reports = lint::candidates(key);
            if matches!(key, "version" | "$schema" | "runs") {
                reports.push(Box::<sarif::SarifParser>::default());
            }
            if key == "version" {
                reports.push(Box::<rspec::RSpecJsonParser>::default());
            }
            reports
        }
    }
}

/// First keys that no other document is likely to begin with.
const UNAMBIGUOUS_KEYS: [&str; 7] = [
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
pub(super) struct JsonParser {
    document: Option<JsonDocument>,
}

/// A document that is being read.
#[derive(Debug, Default)]
struct JsonDocument {
    cutter: JsonStreamSplitter,
    /// The candidates; empty until the first key was read.
    reports: Vec<Box<dyn JsonReportParser>>,
    begun: bool,
    /// Whether it began with a key of only one report.
    sure: bool,
    /// Whether an entry was read that only this report has.
    is_recognized: bool,
    /// The first line of the document, and the current one.
    first: u64,
    number: u64,
}

impl FormatParser for JsonParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if self.document.is_none() && !may_begin(line.text) {
            return LineClaim::NotMine;
        }
        let document = self
            .document
            .get_or_insert_with(|| JsonDocument::begin(line.number));
        document.number = line.number;
        self.feed(line.text.as_bytes(), findings)
    }

    fn is_open(&self) -> bool {
        self.document.is_some()
    }

    fn parse_fragment(&mut self, bytes: &[u8], number: u64, findings: &mut Findings) -> bool {
        if self.document.is_none() && !may_begin(&String::from_utf8_lossy(line_head(bytes))) {
            return false;
        }
        self.document
            .get_or_insert_with(|| JsonDocument::begin(number))
            .number = number;
        self.feed(bytes, findings) != LineClaim::NotMine || self.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(mut document) = self.document.take() {
            document.finish(false, findings);
        }
    }
}

impl JsonParser {
    /// Reads a piece of the document. Returns the claim on it.
    fn feed(&mut self, bytes: &[u8], findings: &mut Findings) -> LineClaim {
        let Some(mut document) = self.document.take() else {
            return LineClaim::NotMine;
        };
        let mut cutter = std::mem::take(&mut document.cutter);
        let progress = cutter.feed(bytes, &mut |cut| document.handle_fragment(cut, findings));
        let claim = match (
            document.is_recognized || document.sure,
            document.reports.is_empty(),
        ) {
            (true, _) => LineClaim::Suppress,
            (false, false) => LineClaim::Ignore,
            (false, true) => LineClaim::NotMine,
        };
        let forgotten = document.begun && document.reports.is_empty();
        match progress {
            JsonProgress::Open if !forgotten => {
                document.cutter = cutter;
                self.document = Some(document);
            }
            JsonProgress::Ended => document.finish(true, findings),
            _ => document.finish(false, findings),
        }
        claim
    }
}

impl JsonDocument {
    fn begin(number: u64) -> Self {
        Self {
            first: number,
            ..Self::default()
        }
    }

    fn handle_fragment(&mut self, cut: JsonFragment<'_>, findings: &mut Findings) {
        let (key, text) = match cut {
            JsonFragment::FirstKey(key) => {
                self.begun = true;
                self.reports = candidates(key);
                self.sure = UNAMBIGUOUS_KEYS.contains(&key);
                return;
            }
            JsonFragment::Value(key, value) => (key, value),
            JsonFragment::Oversized(_) => {
                if self.is_recognized {
                    findings.add_note("an entry of a JSON report was too long to be read");
                }
                return;
            }
        };
        for index in (0..self.reports.len()).rev() {
            let entry = JsonEntry {
                key,
                text,
                number: self.number,
            };
            match self.reports[index].parse(&entry, findings) {
                Some(EntryMatch::Certain) if self.reports.len() > 1 => {
                    let report = self.reports.swap_remove(index);
                    self.reports = vec![report];
                    self.is_recognized = true;
                    return;
                }
                Some(EntryMatch::Certain) => self.is_recognized = true,
                Some(EntryMatch::Possible) => {}
                None if self.is_recognized => {}
                None => drop(self.reports.swap_remove(index)),
            }
        }
    }

    fn finish(&mut self, complete: bool, findings: &mut Findings) {
        if !self.is_recognized {
            return;
        }
        if !complete {
            findings.add_note("a JSON report ends early: the rest is unknown");
        }
        // Its first lines were shown before it was recognised.
        findings.mark_reported(self.first..=self.number);
        for report in &mut self.reports {
            report.finish_document(complete, self.number, findings);
        }
    }
}

/// The beginning of a line, enough to identify it.
fn line_head(bytes: &[u8]) -> &[u8] {
    const HEAD_BYTES: usize = 200;
    &bytes[..bytes.len().min(HEAD_BYTES)]
}

/// Whether a known document may begin with this line.
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
