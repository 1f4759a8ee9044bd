//! What many runs come to. A sum with an unknown part keeps saying so; a share of nothing is no share.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use selvedge_core::guard::FindingSeverity;
use selvedge_core::model::{Cost, MicroUsd};
use serde::{Deserialize, Serialize};

use super::run_stats::{RunCategory, RunStats};

/// How far back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatsPeriod(pub Option<Timestamp>);

impl StatsPeriod {
    /// So many days before now; all there is for none.
    pub fn last_days(days: Option<u32>, now: Timestamp) -> Self {
        let ago = |days: u32| SignedDuration::from_hours(i64::from(days) * 24);
        Self(days.and_then(|days| now.checked_sub(ago(days)).ok()))
    }
}

/// Some of the runs, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsBucket {
    /// How many.
    pub runs: u64,
    /// What they cost together.
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

    /// What one of them cost, on average.
    pub fn mean_cost(&self) -> Option<Cost> {
        divide_cost(self.cost, self.runs)
    }
}

/// What the loop bought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryStats {
    /// Verified at the first attempt.
    pub first_attempt: StatsBucket,
    /// Rescued by a retry.
    pub rescued: StatsBucket,
    /// Verification failed to the last.
    pub not_rescued: StatsBucket,
    /// A person decided, or has to.
    pub by_a_person: StatsBucket,
    /// Nothing was checked.
    pub unchecked: StatsBucket,
    /// The agent or the machinery failed, or somebody stopped it.
    pub not_judged: StatsBucket,
    /// Not over.
    pub open: StatsBucket,
    /// Attempts that were verified.
    pub attempts: u64,
    /// What the retries cost, those that rescued nothing included.
    pub retries: StatsBucket,
    /// What a rescue cost: all retries, by the runs that they rescued.
    pub cost_per_rescue: Option<Cost>,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
}

impl RetryStats {
    /// Runs that were judged by their checks: what the shares are of.
    pub fn judged_runs(&self) -> u64 {
        self.first_attempt.runs + self.rescued.runs + self.not_rescued.runs
    }

    /// All runs.
    pub fn runs(&self) -> u64 {
        let rest = [self.by_a_person, self.unchecked, self.not_judged, self.open];
        self.judged_runs() + rest.iter().map(|share| share.runs).sum::<u64>()
    }

    /// All that was spent.
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

/// The same of some of the runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsGroup {
    /// What they have in common.
    pub name: String,
    /// What it came to.
    #[serde(flatten)]
    pub bought: RetryStats,
}

/// One check over all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckTotals {
    /// What people call it.
    pub name: String,
    /// Runs that had it.
    pub tasks: u64,
    /// How often it ran.
    pub runs: u64,
    /// How often it failed.
    pub failures: u64,
    /// How often it passed and failed on the same bytes.
    pub flaky: u64,
    /// Runs in which it failed first and passed later.
    pub mended: u64,
    /// Milliseconds on average.
    pub mean_ms: u64,
    /// Milliseconds of the slowest.
    pub slowest_ms: u64,
    #[serde(skip)]
    total_ms: u64,
}

/// Everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatsReport {
    /// Of all runs.
    pub all: RetryStats,
    /// By the agent that began, the one with the most runs first.
    pub by_agent: Vec<StatsGroup>,
    /// By the model that answered last.
    pub by_model: Vec<StatsGroup>,
    /// By the directory of the work.
    pub by_repository: Vec<StatsGroup>,
    /// By day, the oldest first; by week where that would be many.
    pub over_time: Vec<StatsGroup>,
    /// All checks, the one that failed most first.
    pub checks: Vec<CheckTotals>,
    /// What the guard caught, by kind: offences, and flags for a person.
    pub guard: BTreeMap<String, [u64; 2]>,
}

/// Days that are shown as days.
const MAX_DAILY_GROUPS: usize = 35;

impl StatsReport {
    /// Of all runs since then. Days are those of a time zone.
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
                run.model.clone().unwrap_or_else(|| "not told".to_owned())
            }),
            by_repository: largest_groups(&runs, |run| run.workspace.clone()),
            over_time: group_by_time(&runs, zone),
            checks: check_totals(&runs),
            guard: guard_counts(&runs),
        }
    }

    /// Checks that were flaky, the flakiest first.
    pub fn flaky_checks(&self) -> Vec<&CheckTotals> {
        let mut flaky: Vec<_> = self.checks.iter().filter(|it| it.flaky > 0).collect();
        flaky.sort_by_key(|it| std::cmp::Reverse((it.flaky, it.name.as_str())));
        flaky
    }

    /// Checks, the slowest first.
    pub fn slowest_checks(&self) -> Vec<&CheckTotals> {
        let mut checks: Vec<_> = self.checks.iter().collect();
        checks.sort_by_key(|it| std::cmp::Reverse(it.mean_ms));
        checks
    }
}

fn largest_groups(runs: &[&RunStats], name: impl Fn(&RunStats) -> String) -> Vec<StatsGroup> {
    let mut groups = group_by_name(runs, name);
    groups.sort_by(|a, b| (b.bought.runs(), &a.name).cmp(&(a.bought.runs(), &b.name)));
    groups
}

fn group_by_name(runs: &[&RunStats], name: impl Fn(&RunStats) -> String) -> Vec<StatsGroup> {
    let mut groups: BTreeMap<String, RetryStats> = BTreeMap::new();
    for run in runs {
        groups.entry(name(run)).or_default().add(run);
    }
    let group = |(name, bought)| StatsGroup { name, bought };
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
    for (name, facts) in runs.iter().flat_map(|run| &run.checks) {
        let figures = all.entry(name).or_default();
        figures.name.clone_from(name);
        figures.tasks += 1;
        figures.runs += u64::from(facts.runs);
        figures.failures += u64::from(facts.failures);
        figures.flaky += u64::from(facts.flaky);
        figures.mended += u64::from(facts.mended);
        figures.total_ms = figures.total_ms.saturating_add(facts.total_ms);
        figures.slowest_ms = figures.slowest_ms.max(facts.slowest_ms);
        figures.mean_ms = figures.total_ms / figures.runs.max(1);
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_by(|a, b| (b.failures, &a.name).cmp(&(a.failures, &b.name)));
    all
}

fn guard_counts(runs: &[&RunStats]) -> BTreeMap<String, [u64; 2]> {
    let mut caught: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (kind, strength) in runs.iter().flat_map(|run| &run.guard) {
        let kind = serde_json::to_value(kind).unwrap_or_default();
        let name = kind.as_str().unwrap_or("unknown").replace('_', " ");
        let [offences, flags] = caught.entry(name).or_default();
        match strength {
            FindingSeverity::Violation => *offences += 1,
            FindingSeverity::Strong | FindingSeverity::Weak => *flags += 1,
        }
    }
    caught
}
