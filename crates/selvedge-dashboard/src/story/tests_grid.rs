//! Tests × attempts: every test that failed in the baseline or in an attempt, with its result in each.

use std::collections::{BTreeMap, HashSet};

use selvedge_core::model::CheckReport;
use selvedge_core::run::Run;

use crate::text::single_line;

/// Maximum number of tests in the grid.
const MAX_ROWS: usize = 12;

/// The result of a test in one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestCell {
    /// It failed.
    Failed,
    /// It passed.
    Passed,
    /// It was skipped.
    Skipped,
    /// The test was not executed: the report names every test, but not this one.
    Missing,
    /// There is no result.
    Unknown,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRow {
    /// Its id.
    pub name: String,
    /// The baseline, if there is one, then one cell per attempt.
    pub cells: Vec<TestCell>,
}

/// The grid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestGrid {
    /// The tests: those that fail at the end first.
    pub rows: Vec<TestRow>,
    /// Number of tests without a row.
    pub left_out: usize,
}

/// The test results of one check in one column.
struct ColumnResults<'a> {
    failed: HashSet<&'a str>,
    passed: HashSet<&'a str>,
    skipped: HashSet<&'a str>,
    names_failed: bool,
    names_all: bool,
}

impl<'a> ColumnResults<'a> {
    fn of(check: &'a CheckReport) -> Option<Self> {
        let tests = check.tests.as_ref()?;
        let set = |ids: &'a [String]| ids.iter().map(String::as_str).collect();
        Some(Self {
            failed: set(&tests.failed_ids.ids),
            passed: set(&tests.passed_ids.ids),
            skipped: set(&tests.skipped_ids.ids),
            names_failed: tests.names_failed(),
            names_all: tests.names_all(),
        })
    }

    fn cell(&self, test: &str) -> TestCell {
        if self.failed.contains(test) {
            TestCell::Failed
        } else if self.passed.contains(test) {
            TestCell::Passed
        } else if self.skipped.contains(test) {
            TestCell::Skipped
        } else if self.names_all {
            TestCell::Missing
        } else if self.names_failed {
            // The report names all failed tests, but not this one.
            TestCell::Passed
        } else {
            TestCell::Unknown
        }
    }
}

impl TestGrid {
    /// The grid of a run in its current state.
    pub fn from_run(run: &Run) -> Self {
        let baseline = run.baseline.as_ref().map(|it| it.checks.as_slice());
        let reports = run.attempts.iter();
        let reports = reports.map(|it| it.report.as_ref().map_or(&[][..], |it| &it.checks));
        let columns: Vec<&[CheckReport]> = baseline.into_iter().chain(reports).collect();
        // Tests with the same id may belong to different checks.
        let mut by_check: BTreeMap<&str, Vec<Option<ColumnResults<'_>>>> = BTreeMap::new();
        for (index, column) in columns.iter().enumerate() {
            for check in *column {
                let results = by_check.entry(&check.target).or_default();
                results.resize_with(index, || None);
                results.push(ColumnResults::of(check));
            }
        }
        let mut rows = Vec::new();
        for results in by_check.values_mut() {
            results.resize_with(columns.len(), || None);
            let mut failed: Vec<&str> = Vec::new();
            let mut known = HashSet::new();
            for column in results.iter().flatten() {
                failed.extend(column.failed.iter().filter(|test| known.insert(**test)));
            }
            let cells = |test: &str| {
                let cell = |column: &Option<ColumnResults<'_>>| {
                    let column = column.as_ref();
                    column.map_or(TestCell::Unknown, |column| column.cell(test))
                };
                results.iter().map(cell).collect()
            };
            rows.extend(failed.iter().map(|test| TestRow {
                name: single_line(test, 120),
                cells: cells(test),
            }));
        }
        let fails_last = |row: &TestRow| {
            let mut known = row
                .cells
                .iter()
                .rev()
                .filter(|it| **it != TestCell::Unknown);
            known.next() == Some(&TestCell::Failed)
        };
        rows.sort_by(|a, b| (!fails_last(a), &a.name).cmp(&(!fails_last(b), &b.name)));
        let left_out = rows.len().saturating_sub(MAX_ROWS);
        rows.truncate(MAX_ROWS);
        Self { rows, left_out }
    }
}

impl TestCell {
    /// Class of the stylesheet, sign and words.
    pub const fn shown(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Failed => ("fail", "✗", "failed"),
            Self::Passed => ("pass", "✓", "passed"),
            Self::Skipped => ("skip", "–", "skipped"),
            Self::Missing => ("error", "∅", "not executed"),
            Self::Unknown => ("none", "", "no result"),
        }
    }
}
