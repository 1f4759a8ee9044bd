//! What test runners said of their tests: results one by one, and their closing totals.

use crate::record::{TestIds, TestReader, TestSummary};

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

/// Numbers of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TestTotals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl TestTotals {
    /// Of so many tests, those that neither failed nor were skipped have passed.
    pub(crate) fn from_total(all: u64, failed: u64, skipped: u64) -> Self {
        Self {
            passed: all.saturating_sub(failed.saturating_add(skipped)),
            failed,
            skipped,
        }
    }

    fn add(&mut self, other: Self) {
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

/// The runs of one runner: `cargo test` runs a binary after another.
#[derive(Debug)]
struct RunnerTotals {
    tool: &'static str,
    /// The sum of the closing totals so far.
    closed: TestTotals,
    /// Results seen since the last closing totals.
    seen: TestTotals,
    /// How many failed by all closing totals, and how many failures were seen in the whole log: a
    /// runner may print them after its totals.
    claimed: u64,
    failures: u64,
    /// How many tests were named.
    named: TestTotals,
    /// The forms of output that the names were read from, sorted.
    modes: Vec<&'static str>,
    open: bool,
    ever_closed: bool,
}

impl RunnerTotals {
    /// What it counts beyond the failures that were read. One of which none was prints totals only,
    /// as some reporters do.
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

    /// How far its tests are named, by its closing totals.
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

/// Adds an id to a list, as long as the list has room for it.
fn push_id(list: &mut TestIds, bytes: &mut usize, id: String) {
    if *bytes + id.len() > TestIds::MAX_BYTES {
        list.omitted += 1;
    } else {
        *bytes += id.len() + size_of::<String>();
        list.ids.push(id);
    }
}

/// A change that takes effect with the next line.
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
    /// The runner within whose session the log is: tests may print the results of other runners.
    session: Option<&'static str>,
    /// How that changes with the line that is being read.
    session_change: Option<SessionChange>,
}

impl TestRuns {
    /// A run begins: without its closing totals it is incomplete.
    pub(crate) fn begin(&mut self, tool: &'static str) {
        if self.is_inner(tool) {
            return;
        }
        let runner = self.runner_mut(tool);
        runner.closed.add(runner.seen);
        runner.seen = TestTotals::default();
        runner.open = true;
    }

    /// A session begins that ends with the runner's closing totals. What looks like the results of other
    /// runners until then is the output of its tests.
    pub(crate) fn begin_session(&mut self, tool: &'static str) {
        if !self.is_inner(tool) {
            self.begin(tool);
            self.session_change = Some(SessionChange::Begins(tool));
        }
    }

    /// The session ends, whether or not it was closed.
    pub(crate) fn end_session(&mut self, tool: &'static str) {
        if self.session == Some(tool) {
            self.session_change = Some(SessionChange::Ends);
        }
    }

    /// Whether the line that was read begins or ends a session. Results that readers still hold back do not
    /// belong to what follows it.
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

    /// Whether this runner is one that a test of another runner has started.
    pub(crate) fn is_inner(&self, tool: &'static str) -> bool {
        self.session.is_some_and(|outer| outer != tool)
    }

    /// The form of a runner's output that its ids are read from.
    pub(crate) fn set_mode(&mut self, tool: &'static str, mode: &'static str) {
        if !self.is_inner(tool) {
            self.runner_mut(tool).add_mode(mode);
        }
    }

    /// One test ended.
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

    /// Takes over results that were held back until it was clear whose they are.
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

    /// So many more tests failed, of which nothing else is known.
    pub(crate) fn count_unread_failures(&mut self, tool: &'static str, count: u64) {
        if count > 0 && !self.is_inner(tool) {
            let runner = self.runner_mut(tool);
            runner.seen.failed = runner.seen.failed.saturating_add(count);
            runner.failures = runner.failures.saturating_add(count);
            runner.open = true;
            self.failed.omitted = self.failed.omitted.saturating_add(count);
        }
    }

    /// A package ended of which only the failed tests were told.
    pub(crate) fn mark_package_only(&mut self) {
        self.by_package = true;
    }

    /// The runner's own closing totals, which count for more than what was seen.
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

    /// A runner that prints no totals has said that it is done: what was seen is the whole.
    pub(crate) fn close_as_seen(&mut self, tool: &'static str) {
        if !self.is_inner(tool) {
            let seen = self.runner_mut(tool).seen;
            self.close(tool, seen);
        }
    }

    /// All runners together, and what does not add up.
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
