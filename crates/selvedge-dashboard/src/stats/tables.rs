//! The statistics as text tables, for terminals and next to charts. The labels of all numbers are defined here.

use selvedge_core::describe;
use selvedge_core::format::duration;
use selvedge_core::model::{Cost, CostSource};

use super::report::{RetryStats, StatsBucket, StatsGroup, StatsReport};

/// A table: its title, its columns, its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatsTable {
    /// Title.
    pub title: String,
    /// Column headings.
    pub columns: Vec<&'static str>,
    /// Rows; the first cell of each is its label.
    pub rows: Vec<Vec<String>>,
}

/// Maximum number of rows in a long table.
const MAX_ROWS: usize = 12;

/// All tables that have at least one row.
pub fn tables(figures: &StatsReport) -> Vec<StatsTable> {
    let groups = |title: &str, of: &'static str, groups: &[StatsGroup]| StatsTable {
        title: title.to_owned(),
        columns: vec![
            of,
            "tasks",
            "first attempt",
            "recovered",
            "not recovered",
            "cost",
            "per recovered task",
            "time to verdict",
        ],
        rows: groups.iter().take(MAX_ROWS).map(group_row).collect(),
    };
    let tables = [
        category_table(&figures.all),
        groups("By agent", "agent", &figures.by_agent),
        groups("By model", "model", &figures.by_model),
        groups("By repository", "directory", &figures.by_repository),
        groups("By worker", "worker", &figures.by_worker),
        groups("Over time", "when", latest(&figures.over_time)),
        check_table(figures),
        flaky_table(figures),
        slowest_table(figures),
        guard_table(figures),
    ];
    let has_rows = |table: &StatsTable| !table.rows.is_empty();
    tables.into_iter().filter(has_rows).collect()
}

fn latest(groups: &[StatsGroup]) -> &[StatsGroup] {
    groups
        .get(groups.len().saturating_sub(MAX_ROWS)..)
        .unwrap_or(groups)
}

/// The shares of a group: first attempt, recovered, not recovered, as "42 (60%)". The percentages add up to 100: those
/// with the largest remainders are rounded up.
pub(crate) fn format_shares(stats: &RetryStats) -> [String; 3] {
    let runs = [
        stats.first_attempt.runs,
        stats.rescued.runs,
        stats.not_rescued.runs,
    ];
    let total = stats.judged_runs();
    if total == 0 {
        return runs.map(|runs| runs.to_string());
    }
    let mut percents = runs.map(|runs| runs * 100 / total);
    let missing = 100 - percents.iter().sum::<u64>();
    let mut order = [0, 1, 2];
    order.sort_by_key(|index| {
        let runs = runs.get(*index).copied().unwrap_or(0);
        std::cmp::Reverse(runs * 100 % total)
    });
    let rounded_up = usize::try_from(missing).unwrap_or(0);
    for index in order.into_iter().take(rounded_up) {
        if let Some(percent) = percents.get_mut(index) {
            *percent += 1;
        }
    }
    let [a, b, c] = percents;
    let text = |runs: u64, percent: u64| format!("{runs} ({percent}%)");
    [text(runs[0], a), text(runs[1], b), text(runs[2], c)]
}

/// Explanation of the sign that [`format_cost`] uses.
pub const LOWER_BOUND_NOTE: &str = "≥: a lower bound, because not every session reported its cost";

/// Whether a cost is a lower bound.
pub fn is_lower_bound(cost: Cost) -> bool {
    cost.micro_usd.is_some() && cost.source == CostSource::Unknown
}

/// "$0.0423", or "≥ $0.0423" if it is a lower bound: [`LOWER_BOUND_NOTE`] is shown once, and not in every cell.
pub fn format_cost(cost: Cost) -> String {
    if is_lower_bound(cost) {
        let known = Cost {
            source: CostSource::Reported,
            ..cost
        };
        format!("≥ {}", describe::cost(known))
    } else {
        describe::cost(cost)
    }
}

/// An optional cost.
pub(crate) fn format_optional_cost(amount: Option<Cost>) -> String {
    amount.map_or_else(|| "–".to_owned(), format_cost)
}

fn category_table(all: &RetryStats) -> StatsTable {
    let judged = [
        ("verified at the first attempt", all.first_attempt),
        ("recovered by a retry", all.rescued),
        ("not recovered", all.not_rescued),
    ];
    let others = [
        ("reviewed, or awaiting review", all.by_a_person),
        ("unchecked", all.unchecked),
        (
            "not judged: agent or infrastructure failed, or cancelled",
            all.not_judged,
        ),
        ("not finished", all.open),
    ];
    let row = |name: &str, share: &StatsBucket, count: String| {
        let each = format_optional_cost(share.mean_cost());
        vec![name.to_owned(), count, format_cost(share.cost), each]
    };
    let judged = judged
        .iter()
        .zip(format_shares(all))
        .map(|((name, share), count)| row(name, share, count));
    let others = others.iter().filter(|(_, share)| share.runs > 0);
    let others = others.map(|(name, share)| row(name, share, share.runs.to_string()));
    StatsTable {
        title: "Retry statistics".to_owned(),
        columns: vec!["outcome", "tasks", "cost", "each"],
        rows: judged.chain(others).collect(),
    }
}

fn group_row(group: &StatsGroup) -> Vec<String> {
    let retries = &group.retries;
    let [first, recovered, lost] = format_shares(retries);
    vec![
        group.name.clone(),
        retries.runs().to_string(),
        first,
        recovered,
        lost,
        format_cost(retries.cost()),
        format_optional_cost(retries.cost_per_rescue),
        group
            .median_verdict_ms
            .map_or_else(|| "–".to_owned(), duration),
    ]
}

fn check_table(figures: &StatsReport) -> StatsTable {
    let checks = figures.checks.iter().filter(|it| it.failures > 0);
    let row = |it: &super::CheckTotals| {
        vec![
            it.name.clone(),
            it.runs.to_string(),
            it.failures.to_string(),
            it.failed_tasks.to_string(),
            it.mended.to_string(),
        ]
    };
    StatsTable {
        title: "Checks that failed".to_owned(),
        columns: vec![
            "check",
            "times run",
            "times failed",
            "tasks failed",
            "tasks fixed",
        ],
        rows: checks.take(MAX_ROWS).map(row).collect(),
    }
}

fn flaky_table(figures: &StatsReport) -> StatsTable {
    let flaky = figures.flaky_checks().into_iter().take(MAX_ROWS);
    StatsTable {
        title: "Flakiest checks".to_owned(),
        columns: vec!["check", "times run", "times flaky", "tasks flaky"],
        rows: flaky
            .map(|it| {
                vec![
                    it.name.clone(),
                    it.runs.to_string(),
                    it.flaky.to_string(),
                    it.flaky_tasks.to_string(),
                ]
            })
            .collect(),
    }
}

fn slowest_table(figures: &StatsReport) -> StatsTable {
    let slow = figures.slowest_checks().into_iter().take(MAX_ROWS);
    StatsTable {
        title: "Slowest checks".to_owned(),
        columns: vec!["check", "times run", "mean", "slowest"],
        rows: slow
            .map(|it| {
                vec![
                    it.name.clone(),
                    it.runs.to_string(),
                    duration(it.mean_ms),
                    duration(it.slowest_ms),
                ]
            })
            .collect(),
    }
}

fn guard_table(figures: &StatsReport) -> StatsTable {
    let row = |(kind, [offences, flags]): (&String, &[u64; 2])| {
        let tasks = figures.guard_tasks.get(kind).copied().unwrap_or(0);
        let counts = [tasks, *offences, *flags].map(|count| count.to_string());
        std::iter::once(kind.clone()).chain(counts).collect()
    };
    StatsTable {
        title: "Guard findings".to_owned(),
        columns: vec!["kind", "tasks", "violations", "for review"],
        rows: figures.guard.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_100_percent() {
        let mut stats = RetryStats::default();
        assert_eq!(format_shares(&stats), ["0", "0", "0"]);
        stats.first_attempt.runs = 1;
        stats.rescued.runs = 1;
        stats.not_rescued.runs = 1;
        assert_eq!(format_shares(&stats), ["1 (34%)", "1 (33%)", "1 (33%)"]);
        stats.first_attempt.runs = 4;
        assert_eq!(format_shares(&stats), ["4 (67%)", "1 (17%)", "1 (16%)"]);
    }
}
