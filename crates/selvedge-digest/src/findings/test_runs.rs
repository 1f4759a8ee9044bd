//! The results of test runners: individual tests, and closing totals.

use crate::pattern::{Groups, LinePattern};
use crate::record::{TestIds, TestReader, TestSummary};

/// Counts in a runner's closing line.
static COUNT: LinePattern = LinePattern::new(r"(\d+) (failed|passed|skipped|todo)");

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

impl TestOutcome {
    /// The outcome for a runner's word.
    pub(crate) fn named(word: &str) -> Self {
        match word {
            "passed" | "PASSED" | "ok" => Self::Passed,
            "failed" | "FAILED" => Self::Failed,
            _ => Self::Skipped,
        }
    }

    /// The outcome of a test that did not fail.
    pub(crate) fn unfailed(is_skipped: bool) -> Self {
        if is_skipped {
            Self::Skipped
        } else {
            Self::Passed
        }
    }
}

/// Numbers of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TestTotals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl TestTotals {
    /// The number of all tests.
    pub(crate) fn total(&self) -> u64 {
        let executed = self.passed.saturating_add(self.failed);
        executed.saturating_add(self.skipped)
    }

    /// Totals from the number of all tests: those that neither failed nor were skipped have passed.
    pub(crate) fn from_total(all: u64, failed: u64, skipped: u64) -> Self {
        Self {
            passed: all.saturating_sub(failed.saturating_add(skipped)),
            failed,
            skipped,
        }
    }

    /// Totals from the groups of a closing line: `failed` and `errors`, `skipped`, and one of `passed`, `run`
    /// (without the skipped ones) and `all`.
    pub(crate) fn captured(found: &Groups<'_>) -> Self {
        let failed = found.count("failed").saturating_add(found.count("errors"));
        let skipped = found.count("skipped");
        let mut totals = Self::from_total(found.count("all"), failed, skipped);
        if let Some(run) = found.number::<u64>("run") {
            totals.passed = run.saturating_sub(failed);
        } else if let Some(passed) = found.number("passed") {
            totals.passed = passed;
        }
        totals
    }

    /// Totals from the counts in a closing line: `2 failed, 3 passed`.
    pub(crate) fn listed(text: &str) -> Self {
        let mut totals = Self::default();
        for count in COUNT.captures_iter(text) {
            totals.add_count(&count[2], count[1].parse().unwrap_or(0));
        }
        totals
    }

    /// Adds a count under the runner's word for the result.
    pub(crate) fn add_count(&mut self, word: &str, count: u64) {
        let slot = self.slot_mut(word);
        *slot = slot.saturating_add(count);
    }

    /// The counter for a runner's word.
    pub(crate) fn slot_mut(&mut self, word: &str) -> &mut u64 {
        match word {
            "passed" | "passing" | "pass" | "successful" | "flaky" | "xpassed" => &mut self.passed,
            "failed"
            | "failing"
            | "fail"
            | "cancelled"
            | "interrupted"
            | "failures"
            | "errors"
            | "error"
            | "unexpected successes"
            | "Failures"
            | "Errors" => &mut self.failed,
            _ => &mut self.skipped,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }

    fn count(&mut self, outcome: TestOutcome) {
        let slot = match outcome {
            TestOutcome::Passed => &mut self.passed,
            TestOutcome::Failed => &mut self.failed,
            TestOutcome::Skipped => &mut self.skipped,
        };
        *slot = slot.saturating_add(1);
    }
}

/// The totals of one runner over several runs: `cargo test` runs one binary after another.
#[derive(Debug)]
struct RunnerTotals {
    tool: &'static str,
    /// The sum of the closing totals so far.
    closed: TestTotals,
    /// Results seen since the last closing totals.
    seen: TestTotals,
    /// Number of failures by all closing totals, and number of failures in the whole log: a runner may print
    /// them after its totals.
    claimed: u64,
    failures: u64,
    /// How many tests were named.
    named: TestTotals,
    /// The output modes that the names were read from, sorted.
    modes: Vec<&'static str>,
    open: bool,
    ever_closed: bool,
}

impl RunnerTotals {
    /// A note about failures that the totals count but that were not read; none if no failure was read,
    /// because some reporters print totals only.
    fn mismatch(&self) -> Option<String> {
        let Self {
            tool,
            claimed,
            failures,
            ..
        } = self;
        (*failures > 0 && claimed > failures)
            .then(|| format!("{tool} counts {claimed} failed, but {failures} were read"))
    }

    fn is_complete(&self) -> bool {
        self.ever_closed && !self.open
    }

    /// How completely its tests are named, according to its closing totals.
    fn to_test_reader(&self) -> TestReader {
        let mut totals = self.closed;
        totals.add(self.seen);
        let (named, complete) = (self.named, self.is_complete());
        let mode = match self.modes.as_slice() {
            [] => "text".to_owned(),
            modes => modes.join("+"),
        };
        TestReader {
            name: self.tool.to_owned(),
            mode,
            names_passed: complete && named.passed == totals.passed,
            names_failed: complete && named.failed == totals.failed,
            names_skipped: complete && named.skipped == totals.skipped,
        }
    }

    fn add_mode(&mut self, mode: &'static str) {
        if let Err(at) = self.modes.binary_search(&mode) {
            self.modes.insert(at, mode);
        }
    }
}

/// Adds an id to a list that has room for it; otherwise counts it as omitted.
fn push_id(list: &mut TestIds, bytes: &mut usize, id: String) {
    if *bytes + id.len() > TestIds::MAX_BYTES {
        list.omitted += 1;
    } else {
        *bytes += id.len() + size_of::<String>();
        list.ids.push(id);
    }
}

/// A change of session that takes effect with the next line.
#[derive(Debug, Clone, Copy)]
enum SessionChange {
    Begins(&'static str),
    Ends,
}

/// The runs of all runners in a log.
#[derive(Debug, Default)]
pub(crate) struct TestRuns {
    runners: Vec<RunnerTotals>,
    passed: TestIds,
    failed: TestIds,
    skipped: TestIds,
    bytes: [usize; 3],
    by_package: bool,
    /// The runner whose session is open: its tests may print the results of other runners.
    session: Option<&'static str>,
    /// The change of session by the current line.
    session_change: Option<SessionChange>,
}

impl TestRuns {
    /// A run begins; it is incomplete until its closing totals are read.
    pub(crate) fn begin(&mut self, tool: &'static str) {
        if self.is_inner(tool) {
            return;
        }
        let runner = self.runner_mut(tool);
        runner.closed.add(runner.seen);
        runner.seen = TestTotals::default();
        runner.open = true;
    }

    /// A session begins and lasts until the runner's closing totals. Results of other runners in it are the
    /// output of its tests.
    pub(crate) fn begin_session(&mut self, tool: &'static str) {
        if !self.is_inner(tool) {
            self.begin(tool);
            self.session_change = Some(SessionChange::Begins(tool));
        }
    }

    /// Ends the session, with or without closing totals.
    pub(crate) fn end_session(&mut self, tool: &'static str) {
        if self.session == Some(tool) {
            self.session_change = Some(SessionChange::Ends);
        }
    }

    /// Whether the current line begins or ends a session. Results that readers still hold back belong to the
    /// time before.
    pub(crate) fn changes_session(&self) -> bool {
        self.session_change.is_some()
    }

    pub(crate) fn change_session(&mut self) {
        match self.session_change.take() {
            Some(SessionChange::Begins(tool)) => self.session = Some(tool),
            Some(SessionChange::Ends) => self.session = None,
            None => {}
        }
    }

    /// Whether this runner was started by a test of another runner.
    pub(crate) fn is_inner(&self, tool: &'static str) -> bool {
        self.session.is_some_and(|outer| outer != tool)
    }

    /// Records the output mode that a runner's ids are read from.
    pub(crate) fn set_mode(&mut self, tool: &'static str, mode: &'static str) {
        if !self.is_inner(tool) {
            self.runner_mut(tool).add_mode(mode);
        }
    }

    /// Records the result of one test.
    pub(crate) fn record_test(
        &mut self,
        tool: &'static str,
        outcome: TestOutcome,
        id: Option<&str>,
    ) {
        if self.is_inner(tool) {
            return;
        }
        let runner = self.runner_mut(tool);
        runner.seen.count(outcome);
        runner.failures += u64::from(outcome == TestOutcome::Failed);
        runner.open = true;
        let Some(id) = id else { return };
        runner.named.count(outcome);
        let (list, bytes) = match outcome {
            TestOutcome::Passed => (&mut self.passed, &mut self.bytes[0]),
            TestOutcome::Failed => (&mut self.failed, &mut self.bytes[1]),
            TestOutcome::Skipped => (&mut self.skipped, &mut self.bytes[2]),
        };
        push_id(list, bytes, id.to_owned());
    }

    /// Adds results that were held back until their runner was known.
    pub(crate) fn absorb(&mut self, other: Self) {
        if other.runners.iter().any(|held| self.is_inner(held.tool)) {
            return;
        }
        for held in other.runners {
            let runner = self.runner_mut(held.tool);
            runner.seen.add(held.seen);
            runner.named.add(held.named);
            for mode in held.modes {
                runner.add_mode(mode);
            }
            runner.failures = runner.failures.saturating_add(held.failures);
            runner.open = true;
        }
        let lists = [
            (&mut self.passed, other.passed),
            (&mut self.failed, other.failed),
            (&mut self.skipped, other.skipped),
        ];
        for ((list, held), bytes) in lists.into_iter().zip(&mut self.bytes) {
            list.omitted = list.omitted.saturating_add(held.omitted);
            for id in held.ids {
                push_id(list, bytes, id);
            }
        }
    }

    /// Counts further failed tests without details.
    pub(crate) fn count_unread_failures(&mut self, tool: &'static str, count: u64) {
        if count > 0 && !self.is_inner(tool) {
            let runner = self.runner_mut(tool);
            runner.seen.failed = runner.seen.failed.saturating_add(count);
            runner.failures = runner.failures.saturating_add(count);
            runner.open = true;
            self.failed.omitted = self.failed.omitted.saturating_add(count);
        }
    }

    /// Records a package of which only the failed tests were named.
    pub(crate) fn mark_package_only(&mut self) {
        self.by_package = true;
    }

    /// Records the runner's own closing totals, which take precedence over the observed results.
    pub(crate) fn close(&mut self, tool: &'static str, totals: TestTotals) {
        if self.is_inner(tool) {
            return;
        }
        self.end_session(tool);
        let runner = self.runner_mut(tool);
        runner.closed.add(totals);
        runner.claimed = runner.claimed.saturating_add(totals.failed);
        runner.seen = TestTotals::default();
        runner.open = false;
        runner.ever_closed = true;
    }

    /// Closes a runner that prints no totals but reported its end: the observed results are complete.
    pub(crate) fn close_as_seen(&mut self, tool: &'static str) {
        if !self.is_inner(tool) {
            let seen = self.runner_mut(tool).seen;
            self.close(tool, seen);
        }
    }

    /// The sum over all runners, and inconsistencies.
    pub(crate) fn finish(self) -> (Option<TestSummary>, Vec<String>) {
        if self.runners.is_empty() {
            return (None, Vec::new());
        }
        let mut all = TestTotals::default();
        let mut notes = Vec::new();
        for runner in &self.runners {
            all.add(runner.closed);
            all.add(runner.seen);
            notes.extend(runner.mismatch());
            if runner.open {
                notes.push(format!(
                    "{} printed no closing summary: its run may be incomplete",
                    runner.tool
                ));
            }
        }
        let mut readers: Vec<_> = self
            .runners
            .iter()
            .map(RunnerTotals::to_test_reader)
            .collect();
        readers.sort_by(|one, other| one.name.cmp(&other.name));
        let summary = TestSummary {
            executed: all.passed.saturating_add(all.failed),
            passed: all.passed,
            failed: all.failed,
            skipped: all.skipped,
            complete: self.runners.iter().all(RunnerTotals::is_complete),
            by_package: self.by_package,
            failed_ids: self.failed,
            passed_ids: self.passed,
            skipped_ids: self.skipped,
            readers,
        };
        (Some(summary), notes)
    }

    fn runner_mut(&mut self, tool: &'static str) -> &mut RunnerTotals {
        // The name is nearly always the same constant.
        let is = |runner: &RunnerTotals| std::ptr::eq(runner.tool, tool) || runner.tool == tool;
        let index = self.runners.iter().position(is);
        let index = index.unwrap_or_else(|| {
            self.runners.push(RunnerTotals {
                tool,
                closed: TestTotals::default(),
                seen: TestTotals::default(),
                claimed: 0,
                failures: 0,
                named: TestTotals::default(),
                modes: Vec::new(),
                open: false,
                ever_closed: false,
            });
            self.runners.len() - 1
        });
        &mut self.runners[index]
    }
}
