//! Collects the findings of the formats: failures and test results, bounded and without duplicates.

mod failure_builder;
mod test_runs;

use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

pub(crate) use failure_builder::FailureBuilder;
pub(crate) use test_runs::{TestOutcome, TestRuns, TestTotals};

use crate::hash::{QuickHasher, QuickMap};
use crate::line::CaptureOptions;
use crate::passing_output::{PassingTemplates, TemplateKey};
use crate::record::{Failure, FailureKind};

/// Maximum number of kept failures; further ones are counted.
const FAILURES: usize = 400;
/// Maximum size of the texts of kept failures; beyond that only their headings are kept.
const FAILURE_BYTES: usize = 1 << 20;
/// Maximum number of failures that are distinguished.
const DISTINCT: usize = 100_000;
/// After this many reports, one-line failures are no longer read.
const MAX_REPORTS: u64 = 20_000;

/// Maximum number of notes.
const NOTES: usize = 8;

/// Whether a finding fails a build by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureSeverity {
    Warning,
    #[default]
    Error,
}

/// A failure, and the lines of the log that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LocatedFailure {
    pub(crate) failure: Failure,
    pub(crate) severity: FailureSeverity,
    pub(crate) lines: RangeInclusive<u64>,
    /// Template of the first of these lines, if it is text for people.
    pub(crate) heading: Option<TemplateKey>,
}

/// The findings of the formats so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    passing_output: Arc<PassingTemplates>,
    /// Number of reports that are also in the last passing output.
    suppressed: u64,
    failures: Vec<LocatedFailure>,
    /// Index in `found` of the failure with this hash, if there was room for it.
    index: QuickMap<u64, Option<usize>>,
    bytes: usize,
    errors: u64,
    warnings: u64,
    /// Number of reports, including repetitions.
    reports: u64,
    tools: Vec<&'static str>,
    notes: Vec<String>,
    /// Lines that are already reported in other words, or are machine-readable.
    reported_lines: Vec<RangeInclusive<u64>>,
    pub(crate) runs: TestRuns,
}

impl Findings {
    /// Marks lines as reported: their content is recorded, so they are not shown.
    pub(crate) fn mark_reported(&mut self, lines: RangeInclusive<u64>) {
        if self.reported_lines.len() < DISTINCT {
            self.reported_lines.push(lines);
        }
    }

    /// Adds a note about an inconsistency, once.
    pub(crate) fn add_note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.notes.len() < NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Sets the last passing output: reports that are also there do not count as failures.
    pub(crate) fn set_passing_output(&mut self, green: Arc<PassingTemplates>) {
        self.passing_output = green;
    }

    /// The texts that must be captured of a failure that begins now.
    pub(crate) fn capture_options(&self) -> CaptureOptions {
        CaptureOptions {
            texts: self.failures.len() < FAILURES,
            heading: !self.passing_output.is_empty(),
        }
    }

    /// Records a tool whose output was recognised.
    pub(crate) fn add_tool(&mut self, name: &'static str) {
        let is = |known: &&'static str| std::ptr::eq(*known, name) || *known == name;
        if !self.tools.iter().any(is) {
            self.tools.push(name);
        }
    }

    /// Renames the tool of findings since a line, when a closing line identifies another tool.
    pub(crate) fn rename_tool(&mut self, since: u64, from: &'static str, to: &'static str) {
        let is = |found: &&mut LocatedFailure| found.failure.tool.as_deref() == Some(from);
        let later = |found: &&mut LocatedFailure| *found.lines.start() >= since;
        for found in self.failures.iter_mut().filter(is).filter(later) {
            found.failure.tool = Some(to.to_owned());
        }
        if !self.failures.iter_mut().any(|found| is(&found)) {
            self.tools.retain(|tool| *tool != from);
        }
        self.add_tool(to);
    }

    /// Whether the maximum number of reports is reached, after which failures add no information.
    pub(crate) fn is_flooded(&self) -> bool {
        self.reports >= MAX_REPORTS
    }

    /// Whether a failure was found at this line of a file, whose path may be written differently.
    pub(crate) fn has_failure_at(&self, file: &str, line: u32) -> bool {
        self.failures.iter().any(|found| {
            let known = found.failure.file.as_deref().unwrap_or_default();
            let same = !known.is_empty() && (known.ends_with(file) || file.ends_with(known));
            same && found.failure.line == Some(line)
        })
    }

    /// Whether a failure of the test, or of a test within it, was found. The recorded id may begin with
    /// further groups.
    pub(crate) fn has_test_failure(&self, id: &str) -> bool {
        self.failures.iter().any(|found| {
            let known = found.failure.id.as_deref();
            known.is_some_and(|known| {
                let rest = known.strip_suffix(id);
                rest.is_some_and(|group| group.is_empty() || group.ends_with(" > "))
                    || known
                        .strip_prefix(id)
                        .is_some_and(|rest| rest.starts_with(" > "))
            })
        })
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.contains(&name)
    }

    /// Records a failure; an identical one is only counted.
    pub(crate) fn add(&mut self, mut found: LocatedFailure) {
        self.reports += 1;
        let is_test = found.failure.kind == FailureKind::Test;
        if !is_test
            && found
                .heading
                .is_some_and(|key| self.passing_output.contains_key(key))
        {
            self.suppressed += 1;
            return;
        }
        let key = key_of(&found.failure);
        if let Some(known) = self.index.get(&key) {
            if let Some(old) = known.and_then(|index| self.failures.get_mut(index)) {
                old.failure.count = old.failure.count.saturating_add(1);
            }
            return;
        }
        match found.severity {
            FailureSeverity::Error => self.errors += 1,
            FailureSeverity::Warning => self.warnings += 1,
        }
        let room = self.failures.len() < FAILURES;
        if self.index.len() < DISTINCT {
            self.index.insert(key, room.then_some(self.failures.len()));
        }
        if room {
            if self.bytes > FAILURE_BYTES {
                found.failure.excerpt = None;
                found.failure.message = None;
            }
            self.bytes += size_of_texts(&found.failure);
            self.failures.push(found);
        }
    }

    /// Records the failure that was read so far, if any.
    pub(crate) fn add_draft(&mut self, draft: &mut Option<FailureBuilder>) {
        if let Some(draft) = draft.take() {
            self.add(draft.build());
        }
    }

    /// Records a failed test, also in the runner's results.
    pub(crate) fn add_test(&mut self, draft: FailureBuilder) {
        let id = draft.failure.id.as_deref();
        self.runs.record_test(draft.tool, TestOutcome::Failed, id);
        self.add(draft.build());
    }

    /// Records the result of one test in the runner's results.
    pub(crate) fn record_test(&mut self, tool: &'static str, outcome: TestOutcome, id: &str) {
        self.runs.record_test(tool, outcome, Some(id));
    }

    /// A runner's machine-readable report begins.
    pub(crate) fn begin_report(&mut self, tool: &'static str) {
        self.add_tool(tool);
        self.runs.begin(tool);
        self.runs.set_mode(tool, "report");
    }

    /// Records a runner's closing totals.
    pub(crate) fn close_run(&mut self, tool: &'static str, totals: TestTotals) {
        self.add_tool(tool);
        self.runs.close(tool, totals);
    }

    /// Counts failed tests whose details were not read.
    pub(crate) fn count_unread_failures(&mut self, tool: &'static str, failed: u64) {
        self.errors += failed;
        self.runs.count_unread_failures(tool, failed);
    }

    /// Returns the failures in the order of the log, and their number. Warnings count as failures only if
    /// nothing worse was found.
    pub(crate) fn finish(self) -> LogFindings {
        let flooded = self.is_flooded();
        let least = if self.errors > 0 {
            FailureSeverity::Error
        } else {
            FailureSeverity::Warning
        };
        let (kept, dropped): (Vec<LocatedFailure>, Vec<LocatedFailure>) = self
            .failures
            .into_iter()
            .partition(|found| found.severity >= least);
        let mut claimed: Vec<_> = kept
            .iter()
            .chain(&dropped)
            .map(|f| f.lines.clone())
            .chain(self.reported_lines)
            .collect();
        claimed.sort_by_key(|lines| *lines.start());
        LogFindings {
            failures: kept.into_iter().map(|found| found.failure).collect(),
            total: if self.errors > 0 {
                self.errors
            } else {
                self.warnings
            },
            warnings_only: self.errors == 0 && self.warnings > 0,
            claimed,
            tools: self.tools.into_iter().map(str::to_owned).collect(),
            flooded,
            notes: self.notes,
            suppressed: self.suppressed,
            runs: self.runs,
        }
    }
}

/// The findings of a whole log.
#[derive(Debug)]
pub(crate) struct LogFindings {
    pub(crate) failures: Vec<Failure>,
    pub(crate) total: u64,
    /// Only warnings were found, so the actual failure may be elsewhere.
    pub(crate) warnings_only: bool,
    /// Lines that belong to failures, in order.
    pub(crate) claimed: Vec<RangeInclusive<u64>>,
    pub(crate) tools: Vec<String>,
    /// There were more failures than were read.
    pub(crate) flooded: bool,
    /// Inconsistencies.
    pub(crate) notes: Vec<String>,
    /// Number of reports that are also in the last passing output, and are left out.
    pub(crate) suppressed: u64,
    pub(crate) runs: TestRuns,
}

fn size_of_texts(failure: &Failure) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    failure.summary.len() + text(&failure.excerpt) + text(&failure.message) + text(&failure.id)
}

fn key_of(failure: &Failure) -> u64 {
    let mut hasher = QuickHasher::default();
    (
        &failure.kind,
        &failure.id,
        &failure.file,
        failure.line,
        failure.column,
    )
        .hash(&mut hasher);
    (&failure.code, &failure.summary).hash(&mut hasher);
    hasher.finish()
}
