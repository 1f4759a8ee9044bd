//! Figures over many runs, whose numbers lead to their tasks: all runs, those of a repository, or those of a worker.

use std::collections::BTreeMap;
use std::iter::successors;

use jiff::ToSpan as _;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use selvedge_core::format::{counted, duration};

use crate::backend::{TaskQuery, TaskQueryOrder};
use crate::charts::{self, ChartSegment};
use crate::stats::{
    CheckTotals, LOWER_BOUND_NOTE, RetryStats, StatsBucket, StatsGroup, StatsReport, StatsTable,
    format_cost, format_optional_cost, format_shares, is_lower_bound, tables,
};
use crate::text::{Markup, single_line};

/// The figures.
pub(crate) struct InsightsView {
    pub(crate) none: bool,
    pub(crate) shares: Vec<BucketView>,
    pub(crate) share_chart: Markup,
    pub(crate) numbers: Vec<NumberView>,
    pub(crate) plots: Vec<PlotView>,
    pub(crate) tables: Vec<TableView>,
    /// Explanation of the sign in front of costs that are lower bounds.
    pub(crate) note: Option<&'static str>,
}

/// A number with its label and its tasks.
pub(crate) struct NumberView {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) address: String,
}

/// A share of the judged tasks.
pub(crate) struct BucketView {
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
    pub(crate) count: String,
    /// Mean cost of a task, if there is one.
    pub(crate) each: Option<String>,
    pub(crate) address: String,
}

/// Columns over time, with axes.
pub(crate) struct PlotView {
    pub(crate) title: &'static str,
    /// Labels of the vertical axis, from the top.
    pub(crate) ticks: [String; 3],
    pub(crate) bars: Vec<BarView>,
    /// Classes and names of the colours.
    pub(crate) legend: Vec<(&'static str, &'static str)>,
}

/// A column of a plot.
pub(crate) struct BarView {
    pub(crate) address: String,
    /// The day or week and its values.
    pub(crate) label: String,
    /// Label on the horizontal axis; empty for most columns of a long period.
    pub(crate) tick: String,
    pub(crate) chart: Markup,
    /// Whether it is in the right half.
    pub(crate) is_late: bool,
}

/// A table whose cells lead to their tasks.
pub(crate) struct TableView {
    pub(crate) title: String,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<CellView>>,
}

/// A cell, with the address that it leads to.
pub(crate) struct CellView {
    pub(crate) text: String,
    pub(crate) address: Option<String>,
}

/// Maximum number of labels on the horizontal axis.
const MAX_TICKS: usize = 8;

impl InsightsView {
    /// The figures of the tasks that `base` selects.
    pub(crate) fn new(figures: &StatsReport, base: &TaskQuery) -> Self {
        // Tasks that have not started are in no figure.
        let base = &TaskQuery {
            result: TaskQuery::STARTED.to_owned(),
            ..base.clone()
        };
        let all = &figures.all;
        let [first, recovered, lost] = format_shares(all);
        let share = |class, name, result: &str, share: &StatsBucket, count| BucketView {
            class,
            name,
            count,
            each: share.mean_cost().map(format_cost),
            address: with_result(base, result),
        };
        let [first_name, recovered_name, lost_name, ..] =
            TaskQuery::RESULTS.map(|(_, name, _)| name);
        Self {
            none: all.runs() == 0,
            note: is_lower_bound(all.cost()).then_some(LOWER_BOUND_NOTE),
            shares: vec![
                share(
                    "first",
                    first_name,
                    "first_attempt",
                    &all.first_attempt,
                    first,
                ),
                share(
                    "rescued",
                    recovered_name,
                    "recovered",
                    &all.rescued,
                    recovered,
                ),
                share("lost", lost_name, "not_recovered", &all.not_rescued, lost),
            ],
            share_chart: charts::bar(&chart_segments(all), &describe_stats(all)),
            numbers: numbers(figures, base),
            plots: plots(figures, base),
            tables: tables(figures)
                .into_iter()
                .map(|table| TableView::new(table, base, &figures.checks))
                .collect(),
        }
    }
}

fn with_result(base: &TaskQuery, result: &str) -> String {
    TaskQuery {
        result: result.to_owned(),
        ..base.clone()
    }
    .address()
}

fn numbers(figures: &StatsReport, base: &TaskQuery) -> Vec<NumberView> {
    let all = &figures.all;
    let sorted = |order: TaskQueryOrder| base.sorted_by(order).address();
    let verified = base.with_group("verified");
    let number = |name, value, address| NumberView {
        name,
        value,
        address,
    };
    let median = figures.median_verdict_ms;
    vec![
        number(
            "Total cost",
            format_cost(all.cost()),
            sorted(TaskQueryOrder::Cost),
        ),
        number(
            "Cost per verified task",
            format_optional_cost(figures.cost_per_verified),
            verified.sorted_by(TaskQueryOrder::Cost).address(),
        ),
        number(
            "Cost of retries",
            format_cost(all.retries.cost),
            sorted(TaskQueryOrder::Attempts),
        ),
        number(
            "Cost per recovered task",
            format_optional_cost(all.cost_per_rescue),
            with_result(base, "recovered"),
        ),
        number(
            "Median time to a verdict",
            median.map_or_else(|| "–".to_owned(), duration),
            sorted(TaskQueryOrder::Duration),
        ),
        number(
            "Caught by the original tests",
            counted(figures.caught_by_original_tests, "task"),
            with_result(base, "caught"),
        ),
    ]
}

/// The last days or weeks up to that of the last group, with those between them that have no tasks.
fn without_gaps(groups: &[StatsGroup]) -> Vec<StatsGroup> {
    let is_weeks = groups.iter().any(|group| group.name.contains("-W"));
    let start = |group: &StatsGroup| -> Option<Date> {
        match group.name.split_once("-W") {
            Some((year, week)) => {
                let (year, week) = (year.parse().ok()?, week.parse().ok()?);
                Some(ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date())
            }
            None => group.name.parse().ok(),
        }
    };
    let dated = groups.iter().filter_map(|it| Some((start(it)?, it)));
    let dated: BTreeMap<Date, &StatsGroup> = dated.collect();
    let (Some(first), Some(last)) = (dated.keys().next(), dated.keys().next_back()) else {
        return Vec::new();
    };
    let empty = |date: Date| {
        let week = date.iso_week_date();
        StatsGroup {
            name: if is_weeks {
                format!("{}-W{:02}", week.year(), week.week())
            } else {
                date.to_string()
            },
            ..StatsGroup::default()
        }
    };
    let period = if is_weeks { 7.days() } else { 1.day() };
    let dates = successors(Some(*last), |date| date.checked_sub(period).ok());
    let dates = dates.take_while(|date| date >= first).take(MAX_BARS);
    let group = |date: Date| {
        dated
            .get(&date)
            .map_or_else(|| empty(date), |it| (*it).clone())
    };
    let mut all: Vec<StatsGroup> = dates.map(group).collect();
    all.reverse();
    all
}

/// Maximum number of columns of a plot: the latest ones.
const MAX_BARS: usize = 60;

fn plots(figures: &StatsReport, base: &TaskQuery) -> Vec<PlotView> {
    let groups = without_gaps(&figures.over_time);
    if groups.is_empty() {
        return Vec::new();
    }
    let count = groups.len();
    let every = count.div_ceil(MAX_TICKS);
    let bars = |label: &dyn Fn(&StatsGroup) -> String, chart: &dyn Fn(&StatsGroup) -> Markup| {
        let bar = |(index, group): (usize, &StatsGroup)| BarView {
            address: TaskQuery {
                day: group.name.clone(),
                ..base.clone()
            }
            .address(),
            label: format!("{}: {}", group.name, label(group)),
            tick: if (count - 1 - index).is_multiple_of(every) {
                group.name.get(5..).unwrap_or_default().to_owned()
            } else {
                String::new()
            },
            chart: chart(group),
            is_late: index * 2 >= count,
        };
        groups.iter().enumerate().map(bar).collect()
    };
    let highest = groups.iter().map(|group| group.retries.judged_runs()).max();
    let end = charts::axis_end(highest.unwrap_or(0));
    let judged = PlotView {
        title: "Judged tasks",
        ticks: [end.to_string(), (end / 2).to_string(), "0".to_owned()],
        bars: bars(&|group| short_stats(&group.retries), &|group| {
            charts::column(&chart_segments(&group.retries), amount(end))
        }),
        legend: vec![
            ("first", "first attempt"),
            ("rescued", "recovered"),
            ("lost", "not recovered"),
        ],
    };
    let slowest = groups
        .iter()
        .filter_map(|group| group.median_verdict_ms)
        .max();
    let Some(slowest) = slowest else {
        return vec![judged];
    };
    let end = charts::duration_axis_end(slowest);
    let times = PlotView {
        title: "Median time to a verdict",
        ticks: [duration(end), duration(end / 2), "0".to_owned()],
        bars: bars(
            &|group| {
                let tasks = counted(group.retries.runs(), "task");
                match group.median_verdict_ms {
                    Some(median) => format!("{}, {tasks}", duration(median)),
                    None => "no verdict".to_owned(),
                }
            },
            &|group| {
                let median = group.median_verdict_ms.unwrap_or(0);
                charts::column(&[("agent", amount(median))], amount(end))
            },
        ),
        legend: Vec::new(),
    };
    vec![judged, times]
}

impl TableView {
    fn new(table: StatsTable, base: &TaskQuery, checks: &[CheckTotals]) -> Self {
        let subject = table.columns.first().copied().unwrap_or_default();
        let columns = table.columns;
        let rows = table.rows.into_iter().map(|row| {
            let name = row.first().cloned().unwrap_or_default();
            let query = row_query(subject, &name, base);
            let check = checks
                .iter()
                .find(|it| subject == "check" && it.name == name);
            let slowest_ms = check.map(|it| it.slowest_ms);
            let cells = row.iter().zip(&columns).enumerate();
            let cells = cells.map(|(index, (text, column))| CellView {
                text: single_line(text, 120),
                address: query
                    .as_ref()
                    .filter(|_| index == 0 || !is_nothing(text))
                    .and_then(|query| match (*column, slowest_ms) {
                        ("slowest", Some(ms)) => Some(slower_than(query, ms)),
                        _ => cell_address(subject, column, index, &name, query),
                    }),
            });
            cells.collect()
        });
        Self {
            title: table.title,
            rows: rows.collect(),
            columns,
        }
    }
}

/// Whether a cell counts no task: "0", "0 (0%)" or "–".
fn is_nothing(text: &str) -> bool {
    matches!(text.split(' ').next(), Some("0" | "–"))
}

/// The tasks of a row, if its name can be a filter.
fn row_query(subject: &str, name: &str, base: &TaskQuery) -> Option<TaskQuery> {
    let mut query = base.clone();
    match subject {
        _ if !TaskQuery::is_filterable(name) => return None,
        "agent" => name.clone_into(&mut query.agent),
        "model" => name.clone_into(&mut query.model),
        "directory" => name.clone_into(&mut query.place),
        "worker" => name.clone_into(&mut query.worker),
        "check" => name.clone_into(&mut query.check),
        "when" => name.clone_into(&mut query.day),
        "kind" => query.finding = name.replace(' ', "_"),
        "outcome" => {
            let mut results = TaskQuery::RESULTS.iter();
            let (result, ..) = results.find(|(_, label, _)| name.starts_with(label))?;
            (*result).clone_into(&mut query.result);
        }
        _ => return None,
    }
    Some(query)
}

/// The tasks that a cell counts, or whose events, costs or times it contains.
fn cell_address(
    subject: &str,
    column: &str,
    index: usize,
    name: &str,
    query: &TaskQuery,
) -> Option<String> {
    let check_result = |result: &str| TaskQuery {
        check_result: result.to_owned(),
        ..query.clone()
    };
    let severity = |severity: &str| TaskQuery {
        severity: severity.to_owned(),
        ..query.clone()
    };
    Some(match (column, subject) {
        (_, "directory") if index == 0 => source_address("repository", name),
        (_, "worker") if index == 0 => source_address("worker", name),
        _ if index == 0 => query.address(),
        ("tasks" | "each" | "times run" | "mean", _) => query.address(),
        ("first attempt", _) => with_result(query, "first_attempt"),
        ("recovered" | "per recovered task", _) => with_result(query, "recovered"),
        ("not recovered", _) => with_result(query, "not_recovered"),
        ("cost", _) => query.sorted_by(TaskQueryOrder::Cost).address(),
        ("time to verdict", _) => query.sorted_by(TaskQueryOrder::Duration).address(),
        ("times failed" | "tasks failed", _) => check_result("failed").address(),
        ("times flaky" | "tasks flaky", _) => check_result("flaky").address(),
        ("tasks fixed", _) => check_result("fixed").address(),
        ("violations", _) => severity("violation").address(),
        ("for review", _) => severity("review").address(),
        _ => return None,
    })
}

/// The tasks in which the check of a query took at least this long.
fn slower_than(query: &TaskQuery, ms: u64) -> String {
    TaskQuery {
        check_ms: Some(ms),
        ..query.clone()
    }
    .address()
}

/// The address of the page of a repository or worker.
pub(crate) fn source_address(kind: &str, name: &str) -> String {
    let name = selvedge_core::format::percent_encode(name, b"-._~");
    format!("/{kind}?name={name}")
}

fn amount(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn chart_segments(stats: &RetryStats) -> Vec<ChartSegment> {
    vec![
        ("first", amount(stats.first_attempt.runs)),
        ("rescued", amount(stats.rescued.runs)),
        ("lost", amount(stats.not_rescued.runs)),
    ]
}

fn short_stats(stats: &RetryStats) -> String {
    format!(
        "{} at the first attempt, {} recovered, {} not recovered",
        stats.first_attempt.runs, stats.rescued.runs, stats.not_rescued.runs
    )
}

fn describe_stats(all: &RetryStats) -> String {
    format!(
        "Of {} judged tasks {} were verified at the first attempt, {} recovered by a retry, {} not recovered",
        all.judged_runs(),
        all.first_attempt.runs,
        all.rescued.runs,
        all.not_rescued.runs
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_have_no_gaps() {
        let group = |name: &str| StatsGroup {
            name: name.to_owned(),
            ..StatsGroup::default()
        };
        let names = |groups: &[StatsGroup]| -> Vec<String> {
            let groups = without_gaps(groups).into_iter();
            groups.map(|group| group.name).collect()
        };
        assert_eq!(
            names(&[group("2026-02-27"), group("2026-03-02")]),
            ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
        );
        assert_eq!(
            names(&[group("2025-W52"), group("2026-W02")]),
            ["2025-W52", "2026-W01", "2026-W02"]
        );
        // The last 60 days or weeks, including those without tasks.
        let days = names(&[
            group("2020-01-01"),
            group("2025-12-01"),
            group("2026-01-01"),
        ]);
        assert_eq!((days.len(), days[0].as_str()), (60, "2025-11-03"));
        assert_eq!(days[28..30], ["2025-12-01", "2025-12-02"]);
        assert_eq!(days[59], "2026-01-01");
        let weeks = names(&[group("2020-W01"), group("2020-W02"), group("2026-W10")]);
        assert_eq!((weeks.len(), weeks[0].as_str()), (60, "2025-W03"));
        assert_eq!(weeks[57..], ["2026-W08", "2026-W09", "2026-W10"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn numbers_lead_to_their_tasks() {
        let base = TaskQuery {
            days: Some(7),
            page: 1,
            ..TaskQuery::default()
        };
        let address = |subject: &str, name: &str, column: &str, index: usize| {
            let query = row_query(subject, name, &base)?;
            cell_address(subject, column, index, name, &query)
        };
        let expect = |subject: &str, name: &str, column: &str, index: usize, expected: &str| {
            assert_eq!(
                address(subject, name, column, index).as_deref(),
                Some(expected)
            );
        };
        expect("agent", "opus", "agent", 0, "/?agent=opus&days=7");
        expect(
            "agent",
            "opus",
            "recovered",
            3,
            "/?agent=opus&days=7&result=recovered",
        );
        expect("directory", "a b", "directory", 0, "/repository?name=a%20b");
        expect("directory", "a b", "tasks", 1, "/?repo=a%20b&days=7");
        expect(
            "kind",
            "early exit",
            "kind",
            0,
            "/?days=7&finding=early_exit",
        );
        let check = |column, expected: &str| {
            let expected = format!("/?days=7&check=make{expected}");
            expect("check", "make", column, 1, &expected);
        };
        check("times run", "");
        check("times failed", "&check_result=failed");
        check("tasks failed", "&check_result=failed");
        check("tasks flaky", "&check_result=flaky");
        check("tasks fixed", "&check_result=fixed");
        let finding = |column, severity: &str| {
            let expected = format!("/?days=7&finding=early_exit&severity={severity}");
            expect("kind", "early exit", column, 2, &expected);
        };
        finding("violations", "violation");
        finding("for review", "review");
        let not_finished = "/?days=7&result=not_finished";
        expect("outcome", "not finished", "tasks", 1, not_finished);
        let outcome = "not judged: agent or infrastructure failed, or cancelled";
        expect("outcome", outcome, "tasks", 1, "/?days=7&result=not_judged");
        expect("when", "2026-W48", "when", 0, "/?days=7&day=2026-W48");
        let unnamed = "/?model=not%20reported&days=7";
        expect("model", "not reported", "tasks", 1, unnamed);
        // A name that the URL would change leads nowhere.
        assert_eq!(address("check", &"x".repeat(2_000), "times run", 1), None);
    }
}
