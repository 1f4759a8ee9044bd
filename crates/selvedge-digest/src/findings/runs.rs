//! What test runners said of their tests: results one by one, and their closing totals.

use crate::record::{TestIds, TestSummary};

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// Numbers of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Totals {
    /// Of so many tests, those that neither failed nor were skipped have passed.
    pub(crate) fn of_all(all: u64, failed: u64, skipped: u64) -> Self {
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

    fn count(&mut self, outcome: Outcome) {
        let slot = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Skipped => &mut self.skipped,
        };
        *slot = slot.saturating_add(1);
    }
}

/// The runs of one runner: `cargo test` runs a binary after another.
#[derive(Debug)]
struct Runner {
    tool: &'static str,
    /// The sum of the closing totals so far.
    closed: Totals,
    /// Results seen since the last closing totals.
    seen: Totals,
    /// How many failed by all closing totals, and how many failures were seen in the whole log: a
    /// runner may print them after its totals.
    claimed: u64,
    failures: u64,
    open: bool,
    ever_closed: bool,
}

impl Runner {
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
}

/// Adds an id to a list, as long as the list has room for it.
fn keep(list: &mut TestIds, bytes: &mut usize, id: String) {
    if *bytes + id.len() > TestIds::MAX_BYTES {
        list.omitted += 1;
    } else {
        *bytes += id.len() + size_of::<String>();
        list.ids.push(id);
    }
}

/// The runs of all runners in a log.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runners: Vec<Runner>,
    passed: TestIds,
    failed: TestIds,
    skipped: TestIds,
    bytes: [usize; 3],
    by_package: bool,
}

impl Runs {
    /// A run begins: without its closing totals it is incomplete.
    pub(crate) fn begin(&mut self, tool: &'static str) {
        let runner = self.runner(tool);
        runner.closed.add(runner.seen);
        runner.seen = Totals::default();
        runner.open = true;
    }

    /// One test ended.
    pub(crate) fn test(&mut self, tool: &'static str, outcome: Outcome, id: Option<&str>) {
        let runner = self.runner(tool);
        runner.seen.count(outcome);
        runner.failures += u64::from(outcome == Outcome::Failed);
        runner.open = true;
        let Some(id) = id else { return };
        let (list, bytes) = match outcome {
            Outcome::Passed => (&mut self.passed, &mut self.bytes[0]),
            Outcome::Failed => (&mut self.failed, &mut self.bytes[1]),
            Outcome::Skipped => (&mut self.skipped, &mut self.bytes[2]),
        };
        keep(list, bytes, id.to_owned());
    }

    /// Takes over results that were held back until it was clear whose they are.
    pub(crate) fn absorb(&mut self, other: Self) {
        for held in other.runners {
            let runner = self.runner(held.tool);
            runner.seen.add(held.seen);
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
                keep(list, bytes, id);
            }
        }
    }

    /// So many more tests failed, of which nothing else is known.
    pub(crate) fn failed_unread(&mut self, tool: &'static str, count: u64) {
        if count > 0 {
            let runner = self.runner(tool);
            runner.seen.failed = runner.seen.failed.saturating_add(count);
            runner.failures = runner.failures.saturating_add(count);
            runner.open = true;
            self.failed.omitted = self.failed.omitted.saturating_add(count);
        }
    }

    /// A package ended of which only the failed tests were told.
    pub(crate) fn package_alone(&mut self) {
        self.by_package = true;
    }

    /// The runner's own closing totals, which count for more than what was seen.
    pub(crate) fn close(&mut self, tool: &'static str, totals: Totals) {
        let runner = self.runner(tool);
        runner.closed.add(totals);
        runner.claimed = runner.claimed.saturating_add(totals.failed);
        runner.seen = Totals::default();
        runner.open = false;
        runner.ever_closed = true;
    }

    /// A runner that prints no totals has said that it is done: what was seen is the whole.
    pub(crate) fn close_as_seen(&mut self, tool: &'static str) {
        let seen = self.runner(tool).seen;
        self.close(tool, seen);
    }

    /// All runners together, and what does not add up.
    pub(crate) fn finish(self) -> (Option<TestSummary>, Vec<String>) {
        if self.runners.is_empty() {
            return (None, Vec::new());
        }
        let mut all = Totals::default();
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
        let summary = TestSummary {
            executed: all.passed.saturating_add(all.failed),
            passed: all.passed,
            failed: all.failed,
            skipped: all.skipped,
            complete: self
                .runners
                .iter()
                .all(|runner| runner.ever_closed && !runner.open),
            by_package: self.by_package,
            failed_ids: self.failed,
            passed_ids: self.passed,
            skipped_ids: self.skipped,
        };
        (Some(summary), notes)
    }

    fn runner(&mut self, tool: &'static str) -> &mut Runner {
        // The name is nearly always the same constant.
        let is = |runner: &Runner| std::ptr::eq(runner.tool, tool) || runner.tool == tool;
        let index = self.runners.iter().position(is);
        let index = index.unwrap_or_else(|| {
            self.runners.push(Runner {
                tool,
                closed: Totals::default(),
                seen: Totals::default(),
                claimed: 0,
                failures: 0,
                open: false,
                ever_closed: false,
            });
            self.runners.len() - 1
        });
        &mut self.runners[index]
    }
}
