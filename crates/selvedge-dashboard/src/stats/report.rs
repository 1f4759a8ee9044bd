//! Aggregates many runs. A sum with an unknown part stays marked as incomplete; a share of zero runs is
//! undefined.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use selvedge_core::model::{Cost, FindingKind, FindingSeverity, MicroUsd};
use serde::{Deserialize, Serialize};

use super::run_stats::{RunCategory, RunStats, kind_name};

/// The name of the group of runs whose agent reported no model.
pub const NO_MODEL: &str = "not reported";

/// Start of the period; `None` for all time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatsPeriod(pub Option<Timestamp>);

impl StatsPeriod {
    /// The last `days` days before `now`; all time for `None`.
    pub fn last_days(days: Option<u32>, now: Timestamp) -> Self {
        let ago = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
        Self(days.and_then(|days| now.checked_sub(ago(days)).ok()))
    }
}

/// Some of the runs, and their cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsBucket {
    /// Number of runs.
    pub runs: u64,
    /// Their total cost.
    pub cost: Cost,
}

impl Default for StatsBucket {
    fn default() -> Self {
        Self {
            runs: 0,
            cost: Cost::ZERO,
        }
    }
}

impl StatsBucket {
    fn add(&mut self, cost: Cost) {
        self.runs += 1;
        self.cost = self.cost + cost;
    }

    /// Mean cost of a run.
    pub fn mean_cost(&self) -> Option<Cost> {
        divide_cost(self.cost, self.runs)
    }
}

/// Results of the retries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryStats {
    /// Verified at the first attempt.
    pub first_attempt: StatsBucket,
    /// Verified after at least one retry.
    pub rescued: StatsBucket,
    /// Verification failed to the end.
    pub not_rescued: StatsBucket,
    /// Decided by a person, or awaiting review.
    pub by_a_person: StatsBucket,
    /// Without checks.
    pub unchecked: StatsBucket,
    /// The agent or the infrastructure failed, or the run was cancelled.
    pub not_judged: StatsBucket,
    /// Not finished.
    pub open: StatsBucket,
    /// Attempts that were verified.
    pub attempts: u64,
    /// Retries and their cost, including those that did not lead to a recovery.
    pub retries: StatsBucket,
    /// Cost per recovery: the cost of all retries, divided by the recovered runs.
    pub cost_per_rescue: Option<Cost>,
    /// Input tokens.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
}

impl RetryStats {
    /// Runs that were judged by their checks: the denominator of the shares.
    pub fn judged_runs(&self) -> u64 {
        self.first_attempt.runs + self.rescued.runs + self.not_rescued.runs
    }

    /// Number of all runs.
    pub fn runs(&self) -> u64 {
        let rest = [self.by_a_person, self.unchecked, self.not_judged, self.open];
        self.judged_runs() + rest.iter().map(|share| share.runs).sum::<u64>()
    }

    /// Total cost.
    pub fn cost(&self) -> Cost {
        [
            self.first_attempt,
            self.rescued,
            self.not_rescued,
            self.by_a_person,
            self.unchecked,
            self.not_judged,
            self.open,
        ]
        .iter()
        .fold(Cost::ZERO, |sum, share| sum + share.cost)
    }

    fn add(&mut self, run: &RunStats) {
        let share = match run.ending {
            RunCategory::FirstAttempt => &mut self.first_attempt,
            RunCategory::Recovered => &mut self.rescued,
            RunCategory::NotRecovered => &mut self.not_rescued,
            RunCategory::ByAPerson => &mut self.by_a_person,
            RunCategory::Unchecked => &mut self.unchecked,
            RunCategory::NotJudged => &mut self.not_judged,
            RunCategory::Open => &mut self.open,
        };
        share.add(run.cost());
        self.attempts += u64::from(run.attempts);
        if run.attempts > 1 || run.retry_cost != Cost::ZERO {
            self.retries.add(run.retry_cost);
        }
        self.tokens_in = self.tokens_in.saturating_add(run.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(run.tokens_out);
        self.cost_per_rescue = divide_cost(self.retries.cost, self.rescued.runs);
    }
}

fn divide_cost(cost: Cost, parts: u64) -> Option<Cost> {
    (parts > 0).then(|| Cost {
        micro_usd: cost.micro_usd.map(|amount| MicroUsd(amount.0 / parts)),
        ..cost
    })
}

/// Statistics of a group of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsGroup {
    /// The common property of the runs, such as the agent.
    pub name: String,
    /// The group's statistics.
    #[serde(flatten)]
    pub retries: RetryStats,
    /// Median time from the creation of a run to its end, in milliseconds.
    #[serde(default)]
    pub median_verdict_ms: Option<u64>,
}

/// One check over all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckTotals {
    /// Label for people.
    pub name: String,
    /// Number of runs with this check.
    pub tasks: u64,
    /// Number of executions.
    pub runs: u64,
    /// Number of failures.
    pub failures: u64,
    /// Number of runs in which it failed.
    #[serde(default)]
    pub failed_tasks: u64,
    /// Number of times that it both passed and failed on the same files.
    pub flaky: u64,
    /// Number of runs in which it did so.
    #[serde(default)]
    pub flaky_tasks: u64,
    /// Number of runs in which it first failed and later passed.
    pub mended: u64,
    /// Mean duration in milliseconds.
    pub mean_ms: u64,
    /// Longest duration in milliseconds.
    pub slowest_ms: u64,
    #[serde(skip)]
    total_ms: u64,
}

/// All statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsReport {
    /// Over all runs.
    pub all: RetryStats,
    /// By the first agent, most runs first.
    pub by_agent: Vec<StatsGroup>,
    /// By the last model.
    pub by_model: Vec<StatsGroup>,
    /// By repository; runs without one by their directory.
    pub by_repository: Vec<StatsGroup>,
    /// By worker, where there are any.
    #[serde(default)]
    pub by_worker: Vec<StatsGroup>,
    /// By day, oldest first; by week for long periods.
    pub over_time: Vec<StatsGroup>,
    /// All checks, most failures first.
    pub checks: Vec<CheckTotals>,
    /// Findings of the guard by kind: number of violations, and of flags for a person.
    pub guard: BTreeMap<String, [u64; 2]>,
    /// Number of runs with a finding of each kind.
    #[serde(default)]
    pub guard_tasks: BTreeMap<String, u64>,
    /// Total cost per verified run, including the cost of those that were not verified.
    pub cost_per_verified: Option<Cost>,
    /// Median time from the creation of a run to its end, in milliseconds.
    pub median_verdict_ms: Option<u64>,
    /// Runs in which an attempt passed its own tests but not the original ones.
    #[serde(default)]
    pub caught_by_original_tests: u64,
}

/// Maximum number of daily groups; longer periods are grouped by week.
const MAX_DAILY_GROUPS: usize = 35;

impl StatsReport {
    /// Statistics of all runs since `since`, with days in time zone `zone`.
    pub fn from_runs(runs: &[RunStats], since: StatsPeriod, zone: &TimeZone) -> Self {
        let wanted = |run: &&RunStats| since.0.is_none_or(|since| run.created_at >= since);
        let runs: Vec<&RunStats> = runs.iter().filter(wanted).collect();
        let mut all = RetryStats::default();
        for run in &runs {
            all.add(run);
        }
        Self {
            all,
            by_agent: largest_groups(&runs, |run| run.agent.clone()),
            by_model: largest_groups(&runs, |run| {
                run.model.clone().unwrap_or_else(|| NO_MODEL.to_owned())
            }),
            by_repository: largest_groups(&runs, |run| run.workspace.clone()),
            by_worker: largest_groups(
                &runs
                    .iter()
                    .copied()
                    .filter(|run| run.worker.is_some())
                    .collect::<Vec<_>>(),
                |run| run.worker.clone().unwrap_or_default(),
            ),
            over_time: group_by_time(&runs, zone),
            checks: check_totals(&runs),
            guard: guard_counts(&runs),
            guard_tasks: guard_tasks(&runs),
            cost_per_verified: divide_cost(all.cost(), all.first_attempt.runs + all.rescued.runs),
            median_verdict_ms: median(runs.iter().filter_map(|run| run.verdict_ms).collect()),
            caught_by_original_tests: runs
                .iter()
                .filter(|run| run.caught_by_original_tests)
                .count() as u64,
        }
    }

    /// Flaky checks, most flaky first.
    pub fn flaky_checks(&self) -> Vec<&CheckTotals> {
        let mut flaky: Vec<_> = self.checks.iter().filter(|it| it.flaky > 0).collect();
        flaky.sort_by_key(|it| std::cmp::Reverse((it.flaky, it.name.as_str())));
        flaky
    }

    /// Checks, slowest first.
    pub fn slowest_checks(&self) -> Vec<&CheckTotals> {
        let mut checks: Vec<_> = self.checks.iter().collect();
        checks.sort_by_key(|it| std::cmp::Reverse(it.mean_ms));
        checks
    }
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn largest_groups(runs: &[&RunStats], name: impl Fn(&RunStats) -> String) -> Vec<StatsGroup> {
    let mut groups = group_by_name(runs, name);
    groups.sort_by(|a, b| (b.retries.runs(), &a.name).cmp(&(a.retries.runs(), &b.name)));
    groups
}

fn group_by_name(runs: &[&RunStats], name: impl Fn(&RunStats) -> String) -> Vec<StatsGroup> {
    let mut groups: BTreeMap<String, (RetryStats, Vec<u64>)> = BTreeMap::new();
    for run in runs {
        let (stats, times) = groups.entry(name(run)).or_default();
        stats.add(run);
        times.extend(run.verdict_ms);
    }
    let group = |(name, (retries, times))| StatsGroup {
        name,
        retries,
        median_verdict_ms: median(times),
    };
    groups.into_iter().map(group).collect()
}

fn group_by_time(runs: &[&RunStats], zone: &TimeZone) -> Vec<StatsGroup> {
    let date = |run: &RunStats| run.created_at.to_zoned(zone.clone()).date();
    let days = group_by_name(runs, |run| date(run).to_string());
    if days.len() <= MAX_DAILY_GROUPS {
        return days;
    }
    group_by_name(runs, |run| {
        let week = date(run).iso_week_date();
        format!("{}-W{:02}", week.year(), week.week())
    })
}

fn check_totals(runs: &[&RunStats]) -> Vec<CheckTotals> {
    let mut all: BTreeMap<&str, CheckTotals> = BTreeMap::new();
    for (name, check_stats) in runs.iter().flat_map(|run| &run.checks) {
        let figures = all.entry(name).or_default();
        figures.name.clone_from(name);
        figures.tasks += 1;
        figures.runs += u64::from(check_stats.runs);
        figures.failures += u64::from(check_stats.failures);
        figures.failed_tasks += u64::from(check_stats.failures > 0);
        figures.flaky += u64::from(check_stats.flaky);
        figures.flaky_tasks += u64::from(check_stats.flaky > 0);
        figures.mended += u64::from(check_stats.mended);
        figures.total_ms = figures.total_ms.saturating_add(check_stats.total_ms);
        figures.slowest_ms = figures.slowest_ms.max(check_stats.slowest_ms);
        figures.mean_ms = figures.total_ms / figures.runs.max(1);
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_by(|a, b| (b.failures, &a.name).cmp(&(a.failures, &b.name)));
    all
}

fn guard_counts(runs: &[&RunStats]) -> BTreeMap<String, [u64; 2]> {
    let mut caught_by_name: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (kind, strength) in runs.iter().flat_map(|run| &run.guard) {
        let name = kind_label(*kind);
        let [offences, flags] = caught_by_name.entry(name).or_default();
        match strength {
            FindingSeverity::Violation => *offences += 1,
            FindingSeverity::Strong | FindingSeverity::Weak => *flags += 1,
        }
    }
    caught_by_name
}

fn guard_tasks(runs: &[&RunStats]) -> BTreeMap<String, u64> {
    let mut tasks: BTreeMap<String, u64> = BTreeMap::new();
    for run in runs {
        let kinds: BTreeSet<_> = run
            .guard
            .iter()
            .map(|(kind, _)| kind_label(*kind))
            .collect();
        for kind in kinds {
            *tasks.entry(kind).or_default() += 1;
        }
    }
    tasks
}

/// The name of a kind of finding in tables.
fn kind_label(kind: FindingKind) -> String {
    kind_name(kind).replace('_', " ")
}
