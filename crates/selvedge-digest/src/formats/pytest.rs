//! pytest. The sections of failures have place and message, the short summary has the full ids; both are
//! combined when the session closes, or when the log ends.

use std::collections::VecDeque;

use memchr::{memchr, memrchr};

use super::doctest::DoctestExample;
use super::location::{CodeLocation, extension, is_foreign, parse_python_frame};
use super::prelude::*;
use super::pytest_line::{self, SummaryEntry};
use crate::hash::QuickMap;

const TOOL: &str = "pytest";
/// Prefix of a doctest's name.
const DOCTEST: &str = "[doctest] ";
/// Maximum number of failures of one session that are held until their ids are read; of further ones only the
/// names are read.
const PENDING: usize = 1000;

/// Reads pytest's terminal output.
#[derive(Debug, Default)]
pub(super) struct PytestParser {
    section: PytestSection,
    draft: Option<FailureBuilder>,
    /// The failed example, if the test is a doctest.
    doctest: Option<DoctestExample>,
    /// The captured output of a test follows; it seldom explains the failure.
    captured: bool,
    /// Within a frame of a library, identified by the place above it.
    foreign: bool,
    /// The exception's message begins with a place and source, like a syntax error's.
    has_location_heading: bool,
    pending: Vec<FailureBuilder>,
    /// Number of failures beyond the limit, by their sections and by the summary.
    overflow: OverflowCounts,
    /// The pending failures of this name that have no full id yet.
    unnamed: QuickMap<String, VecDeque<usize>>,
    /// Results were printed test by test, so the summary would repeat them.
    inline: bool,
    /// Ids of failed tests that were printed test by test, by name without file.
    failed_inline: QuickMap<String, VecDeque<String>>,
}

/// Failures that are only counted. Each may be reported twice: by a section, and by the summary.
#[derive(Debug, Default)]
struct OverflowCounts {
    sections: u64,
    named: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum PytestSection {
    #[default]
    Outside,
    /// Versions, folders and plugins, until the first result.
    Header,
    Progress,
    Failures,
    Durations,
    Summary,
}

impl FormatParser for PytestParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(totals) = pytest_line::parse_totals(text) {
            self.end_draft();
            self.close(totals, findings);
            return LineClaim::Ignore;
        }
        if let Some(title) = section_title(text, b'=') {
            return self.begin_section(title, findings);
        }
        match self.section {
            PytestSection::Failures => self.parse_failure_line(line, findings),
            PytestSection::Summary => self.parse_summary_line(line, findings),
            PytestSection::Header => self.parse_header(text, findings),
            PytestSection::Durations if pytest_line::is_duration(text) => LineClaim::Noise,
            PytestSection::Progress | PytestSection::Durations => {
                self.parse_progress(text, findings)
            }
            PytestSection::Outside => LineClaim::NotMine,
        }
    }

    fn is_open(&self) -> bool {
        self.section != PytestSection::Outside
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.flush(findings);
    }
}

impl PytestParser {
    /// A line `===== title =====`.
    fn begin_section(&mut self, title: &str, findings: &mut Findings) -> LineClaim {
        self.end_draft();
        let section = match title {
            "test session starts" => {
                self.flush(findings);
                findings.runs.begin_session(TOOL);
                PytestSection::Header
            }
            "FAILURES" | "ERRORS" => PytestSection::Failures,
            "short test summary info" => PytestSection::Summary,
            _ if pytest_line::is_title_of_durations(title) => PytestSection::Durations,
            _ if self.section == PytestSection::Outside => return LineClaim::NotMine,
            _ => PytestSection::Progress,
        };
        findings.add_tool(TOOL);
        self.section = section;
        match section {
            PytestSection::Header | PytestSection::Durations => LineClaim::Noise,
            PytestSection::Failures | PytestSection::Summary => LineClaim::Suppress,
            _ => LineClaim::Ignore,
        }
    }

    fn parse_header(&mut self, text: &str, findings: &mut Findings) -> LineClaim {
        if pytest_line::is_session_header(text) {
            return LineClaim::Noise;
        }
        let claim = self.parse_progress(text, findings);
        if claim != LineClaim::NotMine {
            self.section = PytestSection::Progress;
        }
        claim
    }

    fn parse_progress(&mut self, text: &str, findings: &mut Findings) -> LineClaim {
        let candidate = text.contains("::");
        let Some((id, word)) = candidate.then(|| pytest_line::parse_result(text)).flatten() else {
            if pytest_line::is_results_of_file(text) {
                return LineClaim::Noise;
            }
            let dots =
                text.contains(".py ") || text.contains(".py::") || text.trim_end().ends_with("%]");
            return LineClaim::ignore_if(dots);
        };
        if !self.inline {
            self.inline = true;
            findings.runs.set_mode(TOOL, "verbose");
        }
        match word {
            "PASSED" | "XPASS" => findings.record_test(TOOL, TestOutcome::Passed, id),
            "SKIPPED" | "XFAIL" => findings.record_test(TOOL, TestOutcome::Skipped, id),
            _ if self.failed_inline.len() < PENDING => {
                let ids = self.failed_inline.entry(pytest_line::short_name(id));
                ids.or_default().push_back(id.to_owned());
            }
            _ => return LineClaim::Ignore,
        }
        // A name alone does not make it a failure.
        match word {
            "FAILED" | "ERROR" => LineClaim::Ignore,
            _ => LineClaim::Suppress,
        }
    }

    fn parse_failure_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(name) = section_title(text, b'_') {
            self.end_draft();
            if self.pending.len() >= PENDING {
                self.overflow.sections += 1;
                return LineClaim::Ignore;
            }
            let name = [
                "ERROR at setup of ",
                "ERROR at teardown of ",
                "ERROR collecting ",
                DOCTEST,
            ]
            .iter()
            .find_map(|start| name.strip_prefix(start))
            .unwrap_or(name);
            self.draft = Some(FailureBuilder::test(TOOL, name, line));
            self.doctest = text.contains(DOCTEST).then(DoctestExample::default);
            self.captured = false;
            self.foreign = false;
            self.has_location_heading = false;
            return LineClaim::Evidence;
        }
        if text.starts_with("$ ") || text.starts_with("make") {
            self.flush(findings);
            findings.runs.end_session(TOOL);
            self.section = PytestSection::Outside;
            return LineClaim::NotMine;
        }
        let Some(draft) = &mut self.draft else {
            // The place of a failure that is only counted.
            return if self.overflow.sections > 0 {
                LineClaim::Ignore
            } else {
                LineClaim::NotMine
            };
        };
        if text.starts_with("---") && text.contains(" Captured ") {
            self.captured = true;
        }
        if self.captured {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if text.starts_with("[gw") && text.contains("] ") {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        let place = parse_location(text);
        if let Some(place) = &place {
            self.foreign = is_foreign(place.file);
        } else if text.starts_with("<frozen ") {
            self.foreign = true;
        } else if text.starts_with("_ _ _") || text.starts_with("E  ") {
            self.foreign = false;
        }
        if self.foreign {
            draft.skip_line(line);
            return LineClaim::Evidence;
        }
        if let Some(message) = self
            .doctest
            .as_mut()
            .and_then(|example| example.parse_line(text))
        {
            draft.push_message(&message);
        }
        let native = draft.failure.message.is_none() && is_exception(text);
        if native {
            draft.push_message(text);
            draft.push_excerpt(line);
        } else if let Some(message) = text.strip_prefix("E  ") {
            let message = message.strip_prefix(' ').unwrap_or(message);
            self.has_location_heading |=
                draft.failure.message.is_none() && parse_python_frame(message).is_some();
            self.has_location_heading &= !is_exception(message);
            if !self.has_location_heading {
                draft.push_message(message);
            }
            draft.push_excerpt(line);
        } else if text.starts_with("_ _ _") {
            draft.skip_line(line);
        } else {
            draft.push_excerpt(line);
        }
        if let Some(place) = place {
            draft.replace_location(place.file, place.line, None);
        } else if let Some(place) = parse_python_frame(text).filter(|place| !is_foreign(place.file))
        {
            draft.replace_location(place.file, place.line, None);
        }
        LineClaim::Evidence
    }

    /// `FAILED a.py::test_b - AssertionError: …`
    fn parse_summary_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let heads_section = |short: &str| self.unnamed.get(short).is_some_and(|it| !it.is_empty());
        if line.text.contains("SUBFAIL")
            && let Some(named) = pytest_line::parse_subtest_entry(line.text, heads_section)
        {
            self.assign_full_id(named, line);
            return LineClaim::Evidence;
        }
        let Some((word, rest)) = line.text.split_once(' ') else {
            return LineClaim::NotMine;
        };
        match word {
            "FAILED" | "ERROR" => {
                let named = pytest_line::parse_failed_entry(rest, heads_section);
                self.assign_full_id(named, line);
                LineClaim::Evidence
            }
            "PASSED" if !self.inline => {
                findings.runs.set_mode(TOOL, "summary");
                findings.record_test(TOOL, TestOutcome::Passed, rest.trim());
                LineClaim::Ignore
            }
            "PASSED" | "SKIPPED" | "XFAIL" | "XPASS" => LineClaim::Ignore,
            _ => LineClaim::NotMine,
        }
    }

    /// Gives a pending failure its full id, or records one that was not shown.
    fn assign_full_id(&mut self, named: SummaryEntry<'_>, line: &CleanLine<'_>) {
        let index = self.unnamed.get_mut(&named.short);
        let index = index.and_then(VecDeque::pop_front);
        if let Some(draft) = index.and_then(|index| self.pending.get_mut(index)) {
            draft.failure.id = Some(named.id);
            return;
        }
        if self.pending.len() < PENDING {
            let mut draft = FailureBuilder::new(FailureKind::Test, TOOL, line);
            if let Some((file, _)) = named.id.split_once("::") {
                draft.set_location(file, None, None);
            }
            draft.failure.id = Some(named.id);
            draft.push_message(named.message.unwrap_or_default());
            self.pending.push(draft);
        } else {
            self.overflow.named += 1;
        }
    }

    fn end_draft(&mut self) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        let name = draft.failure.id.clone().unwrap_or_default();
        self.unnamed
            .entry(name)
            .or_default()
            .push_back(self.pending.len());
        self.pending.push(draft);
    }

    fn close(&mut self, totals: TestTotals, findings: &mut Findings) {
        findings.add_tool(TOOL);
        self.flush(findings);
        findings.runs.close(TOOL, totals);
        self.section = PytestSection::Outside;
        self.inline = false;
    }

    fn flush(&mut self, findings: &mut Findings) {
        self.end_draft();
        self.unnamed.clear();
        for mut draft in self.pending.drain(..) {
            // Without a summary, the section names the test without its file.
            let ids = draft.failure.id.as_ref();
            let ids = ids.and_then(|short| self.failed_inline.get_mut(short));
            if let Some(id) = ids.and_then(VecDeque::pop_front) {
                draft.failure.id = Some(id);
            }
            findings.add_test(draft);
        }
        self.failed_inline.clear();
        let OverflowCounts { sections, named } = std::mem::take(&mut self.overflow);
        findings.count_unread_failures(TOOL, sections.max(named));
    }
}

/// The text within `=== title ===`.
#[inline]
fn section_title(text: &str, mark: u8) -> Option<&str> {
    let marked = text.as_bytes().starts_with(&[mark, mark]);
    marked.then(|| strip_rule(text, mark)).flatten()
}

fn strip_rule(text: &str, mark: u8) -> Option<&str> {
    let bytes = text.as_bytes();
    let (start, end) = (memchr(b' ', bytes)? + 1, memrchr(b' ', bytes)?);
    // Without a branch, the compiler reduces the loop to a few instructions.
    let marks = |bytes: &[u8]| bytes.iter().fold(0, |other, byte| other | (byte ^ mark)) == 0;
    (start <= end && marks(&bytes[..start - 1]) && marks(&bytes[end + 1..]))
        .then(|| &text[start..end])
}

/// `tests/test_a.py:12: AssertionError`, or nothing after the place.
fn parse_location(text: &str) -> Option<CodeLocation<'_>> {
    if text.starts_with([' ', '\t']) {
        return None;
    }
    let (file, rest) = text.split_once(':')?;
    let (line, rest) = rest.split_once(':')?;
    let is_python = matches!(extension(file), "py" | "pyx");
    let is_end = rest.is_empty() || rest.starts_with(' ');
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    (is_python && is_end && is_number).then_some(CodeLocation {
        file,
        line: line.parse().ok(),
        column: None,
    })
}

/// Whether the line is `ValueError: message`: the last line of a native traceback, which has no `E`
/// before it.
fn is_exception(text: &str) -> bool {
    const ENDS: [&str; 6] = [
        "Error",
        "Exception",
        "Failure",
        "Exit",
        "Interrupt",
        "Warning",
    ];
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return false;
    }
    let name = text.split_once(": ").map_or(text, |(name, _)| name);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    name.bytes().all(is_part) && ENDS.iter().any(|end| name.ends_with(end))
}
