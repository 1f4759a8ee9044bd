//! pytest. The sections of failures tell place and message, the short summary tells the full ids;
//! both are put together when the session closes, or when the log ends.

use std::collections::VecDeque;

use memchr::{memchr, memrchr};

use super::doctest::Example;
use super::place::{Place, extension, is_foreign, python_frame};
use super::pytest_line::{self, Named};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::hash::QuickMap;
use crate::line::Line;
use crate::record::FailureKind;

const TOOL: &str = "pytest";
/// Stands before the name of a doctest.
const DOCTEST: &str = "[doctest] ";
/// How many failures of one session wait for their ids; of more only the names are read.
const PENDING: usize = 1000;

/// Reads pytest's terminal output.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    section: Section,
    draft: Option<Draft>,
    /// The example of a doctest, where it is one that failed.
    doctest: Option<Example>,
    /// The captured output of a test follows; it seldom explains the failure.
    captured: bool,
    /// Within a frame of a library, told by the place that heads it.
    foreign: bool,
    /// The exception's message is led by a place and source, as a syntax error's is.
    led: bool,
    pending: Vec<Draft>,
    /// How many failures there were no room for, by their sections and by the summary.
    beyond: Beyond,
    /// The pending failures of this name that have no full id yet.
    unnamed: QuickMap<String, VecDeque<usize>>,
    /// Results were printed test by test, so the summary would repeat them.
    inline: bool,
    /// The ids of tests that failed, as they were printed test by test, each by its name without a file.
    failed_inline: QuickMap<String, VecDeque<String>>,
}

/// Failures that are counted only. Each may be told twice: by a section, and by the summary.
#[derive(Debug, Default)]
struct Beyond {
    sections: u64,
    named: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    #[default]
    Outside,
    Progress,
    Failures,
    Summary,
}

impl Format for Pytest {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if let Some(totals) = pytest_line::totals(text) {
            self.end_draft();
            self.close(totals, findings);
            return Claim::Noise;
        }
        if let Some(title) = title(text, b'=') {
            return self.section(title, findings);
        }
        match self.section {
            Section::Failures => self.failure(line, findings),
            Section::Summary => self.summary(line, findings),
            Section::Progress => self.progress(text, findings),
            Section::Outside => Claim::Foreign,
        }
    }

    fn is_open(&self) -> bool {
        self.section != Section::Outside
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.flush(findings);
    }
}

impl Pytest {
    /// A line `===== title =====`.
    fn section(&mut self, title: &str, findings: &mut Findings) -> Claim {
        self.end_draft();
        let section = match title {
            "test session starts" => {
                self.flush(findings);
                findings.runs.begin_session(TOOL);
                Section::Progress
            }
            "FAILURES" | "ERRORS" => Section::Failures,
            "short test summary info" => Section::Summary,
            _ if self.section == Section::Outside => return Claim::Foreign,
            _ => Section::Progress,
        };
        findings.tool(TOOL);
        self.section = section;
        Claim::Noise
    }

    fn progress(&mut self, text: &str, findings: &mut Findings) -> Claim {
        let candidate = text.contains("::");
        let Some((id, word)) = candidate.then(|| pytest_line::result(text)).flatten() else {
            let dots =
                text.contains(".py ") || text.contains(".py::") || text.trim_end().ends_with("%]");
            return if dots { Claim::Noise } else { Claim::Foreign };
        };
        if !self.inline {
            self.inline = true;
            findings.runs.mode(TOOL, "verbose");
        }
        match word {
            "PASSED" | "XPASS" => findings.runs.test(TOOL, Outcome::Passed, Some(id)),
            "SKIPPED" | "XFAIL" => findings.runs.test(TOOL, Outcome::Skipped, Some(id)),
            _ if self.failed_inline.len() < PENDING => {
                let ids = self.failed_inline.entry(pytest_line::short_name(id));
                ids.or_default().push_back(id.to_owned());
            }
            _ => {}
        }
        Claim::Noise
    }

    fn failure(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if let Some(name) = title(text, b'_') {
            self.end_draft();
            if self.pending.len() >= PENDING {
                self.beyond.sections += 1;
                return Claim::Noise;
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
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.id = Some(name.to_owned());
            self.draft = Some(draft);
            self.doctest = text.contains(DOCTEST).then(Example::default);
            self.captured = false;
            self.foreign = false;
            self.led = false;
            return Claim::Evidence;
        }
        if text.starts_with("$ ") || text.starts_with("make") {
            self.flush(findings);
            findings.runs.end_session(TOOL);
            self.section = Section::Outside;
            return Claim::Foreign;
        }
        let Some(draft) = &mut self.draft else {
            // Of a failure that is only counted.
            return if self.beyond.sections > 0 {
                Claim::Noise
            } else {
                Claim::Foreign
            };
        };
        if text.starts_with("---") && text.contains(" Captured ") {
            self.captured = true;
        }
        if self.captured {
            draft.skip(line);
            return Claim::Evidence;
        }
        if text.starts_with("[gw") && text.contains("] ") {
            draft.skip(line);
            return Claim::Evidence;
        }
        let place = place(text);
        if let Some(place) = &place {
            self.foreign = is_foreign(place.file);
        } else if text.starts_with("<frozen ") {
            self.foreign = true;
        } else if text.starts_with("_ _ _") || text.starts_with("E  ") {
            self.foreign = false;
        }
        if self.foreign {
            draft.skip(line);
            return Claim::Evidence;
        }
        if let Some(message) = self.doctest.as_mut().and_then(|example| example.line(text)) {
            draft.message(&message);
        }
        let native = draft.failure.message.is_none() && is_exception(text);
        if native {
            draft.message(text);
            draft.excerpt(line);
        } else if let Some(message) = text.strip_prefix("E  ") {
            let message = message.strip_prefix(' ').unwrap_or(message);
            self.led |= draft.failure.message.is_none() && python_frame(message).is_some();
            self.led &= !is_exception(message);
            if !self.led {
                draft.message(message);
            }
            draft.excerpt(line);
        } else if text.starts_with("_ _ _") {
            draft.skip(line);
        } else {
            draft.excerpt(line);
        }
        if let Some(place) = place {
            draft.place_again(place.file, place.line, None);
        } else if let Some(place) = python_frame(text).filter(|place| !is_foreign(place.file)) {
            draft.place_again(place.file, place.line, None);
        }
        Claim::Evidence
    }

    /// `FAILED a.py::test_b - AssertionError: …`
    fn summary(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let heads_section = |short: &str| self.unnamed.get(short).is_some_and(|it| !it.is_empty());
        if line.text.contains("SUBFAIL")
            && let Some(named) = pytest_line::subtest(line.text, heads_section)
        {
            self.name(named, line);
            return Claim::Evidence;
        }
        let Some((word, rest)) = line.text.split_once(' ') else {
            return Claim::Foreign;
        };
        match word {
            "FAILED" | "ERROR" => {
                let named = pytest_line::failed(rest, heads_section);
                self.name(named, line);
                Claim::Evidence
            }
            "PASSED" if !self.inline => {
                findings.runs.mode(TOOL, "summary");
                findings.runs.test(TOOL, Outcome::Passed, Some(rest.trim()));
                Claim::Noise
            }
            "PASSED" | "SKIPPED" | "XFAIL" | "XPASS" => Claim::Noise,
            _ => Claim::Foreign,
        }
    }

    /// Gives a pending failure its full id, or records one that was not shown.
    fn name(&mut self, named: Named<'_>, line: &Line<'_>) {
        let index = self.unnamed.get_mut(&named.short);
        let index = index.and_then(VecDeque::pop_front);
        if let Some(draft) = index.and_then(|index| self.pending.get_mut(index)) {
            draft.failure.id = Some(named.id);
            return;
        }
        if self.pending.len() < PENDING {
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            if let Some((file, _)) = named.id.split_once("::") {
                draft.place(file, None, None);
            }
            draft.failure.id = Some(named.id);
            draft.message(named.message.unwrap_or_default());
            self.pending.push(draft);
        } else {
            self.beyond.named += 1;
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

    fn close(&mut self, totals: Totals, findings: &mut Findings) {
        findings.tool(TOOL);
        self.flush(findings);
        findings.runs.close(TOOL, totals);
        self.section = Section::Outside;
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
            findings.add_test(TOOL, draft);
        }
        self.failed_inline.clear();
        let Beyond { sections, named } = std::mem::take(&mut self.beyond);
        findings.count(TOOL, sections.max(named));
    }
}

/// The text within `=== title ===`.
#[inline]
fn title(text: &str, mark: u8) -> Option<&str> {
    let marked = text.as_bytes().starts_with(&[mark, mark]);
    marked.then(|| within(text, mark)).flatten()
}

fn within(text: &str, mark: u8) -> Option<&str> {
    let bytes = text.as_bytes();
    let (start, end) = (memchr(b' ', bytes)? + 1, memrchr(b' ', bytes)?);
    // Without a branch in it, the loop becomes a few instructions.
    let marks = |bytes: &[u8]| bytes.iter().fold(0, |other, byte| other | (byte ^ mark)) == 0;
    (start <= end && marks(&bytes[..start - 1]) && marks(&bytes[end + 1..]))
        .then(|| &text[start..end])
}

/// `tests/test_a.py:12: AssertionError`, or nothing after the place.
fn place(text: &str) -> Option<Place<'_>> {
    if text.starts_with([' ', '\t']) {
        return None;
    }
    let (file, rest) = text.split_once(':')?;
    let (line, rest) = rest.split_once(':')?;
    let is_python = matches!(extension(file), "py" | "pyx");
    let is_end = rest.is_empty() || rest.starts_with(' ');
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    (is_python && is_end && is_number).then_some(Place {
        file,
        line: line.parse().ok(),
        column: None,
    })
}

/// Whether it is `ValueError: message`: the last line of a native traceback, which has no `E`
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
