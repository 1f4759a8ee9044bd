//! Retry statistics.

use askama::Template;
use selvedge_core::describe::cost;
use selvedge_core::format::{counted, duration};

use super::frame::PageFrame;
use crate::backend::TaskQuery;
use crate::charts::{self, ChartSegment};
use crate::stats::{
    RetryStats, StatsReport, StatsTable, format_optional_cost, format_shares, tables,
};
use crate::text::{Markup, single_line};

/// The page.
#[derive(Template)]
#[template(path = "stats.html")]
pub(crate) struct StatsPage {
    frame: PageFrame,
    none: bool,
    spans: Vec<(String, &'static str, bool)>,
    shares: Vec<BucketView>,
    share_chart: Markup,
    time_chart: Markup,
    times: Option<(String, String)>,
    /// Labels and values.
    numbers: Vec<(&'static str, String)>,
    highest: String,
    tables: Vec<TableView>,
}

/// A table whose rows lead to their tasks.
struct TableView {
    title: String,
    columns: Vec<&'static str>,
    /// The address of the tasks and the cells of each row.
    rows: Vec<(Option<String>, Vec<String>)>,
}

impl TableView {
    fn new(table: StatsTable, days: Option<u32>) -> Self {
        let subject = table.columns.first().copied().unwrap_or_default();
        let address = |name: &str| {
            let mut query = TaskQuery {
                days,
                page: 1,
                ..TaskQuery::default()
            };
            match subject {
                "agent" => name.clone_into(&mut query.agent),
                "model" => name.clone_into(&mut query.model),
                "directory" => name.clone_into(&mut query.place),
                "check" => name.clone_into(&mut query.text),
                _ => return None,
            }
            Some(query.address())
        };
        let rows = table.rows.into_iter().map(|row| {
            let link = row.first().and_then(|name| address(name));
            let cells = row.iter().map(|cell| single_line(cell, 120)).collect();
            (link, cells)
        });
        Self {
            title: table.title,
            columns: table.columns,
            rows: rows.collect(),
        }
    }
}

struct BucketView {
    class: &'static str,
    name: &'static str,
    count: String,
    each: String,
}

/// Periods in days; `None` for all time.
pub(crate) const PERIODS: [(Option<u32>, &str); 4] = [
    (Some(7), "7 days"),
    (Some(30), "30 days"),
    (Some(90), "90 days"),
    (None, "all time"),
];

impl StatsPage {
    pub(crate) fn new(frame: PageFrame, figures: &StatsReport, days: Option<u32>) -> Self {
        let all = &figures.all;
        let spans = PERIODS.iter().map(|(span, name)| {
            let address =
                span.map_or_else(|| "/stats".to_owned(), |days| format!("/stats?days={days}"));
            (address, *name, *span == days)
        });
        let [first, recovered, lost] = format_shares(all);
        let share = |class, name, share: &crate::stats::StatsBucket, count| BucketView {
            class,
            name,
            count,
            each: format_optional_cost(share.mean_cost()),
        };
        let times = &figures.over_time;
        let first_and_last = times.first().zip(times.last());
        let columns: Vec<(String, Vec<ChartSegment>)> = times
            .iter()
            .map(|group| {
                let stats = &group.bought;
                let label = format!("{}: {}", group.name, describe_stats(stats));
                (label, chart_segments(stats))
            })
            .collect();
        let highest = times.iter().map(|group| group.bought.judged_runs()).max();
        Self {
            none: all.runs() == 0,
            spans: spans.collect(),
            shares: vec![
                share(
                    "first",
                    "verified at the first attempt",
                    &all.first_attempt,
                    first,
                ),
                share("rescued", "recovered by a retry", &all.rescued, recovered),
                share("lost", "not recovered", &all.not_rescued, lost),
            ],
            share_chart: charts::bar(&chart_segments(all), &describe_stats(all)),
            time_chart: charts::columns(
                &columns,
                "Judged tasks for each day or week, as in the table",
            ),
            times: first_and_last.map(|(first, last)| (first.name.clone(), last.name.clone())),
            numbers: vec![
                ("Total cost", cost(all.cost())),
                (
                    "Cost per verified task",
                    format_optional_cost(figures.cost_per_verified),
                ),
                ("Cost of retries", cost(all.retries.cost)),
                (
                    "Cost per recovered task",
                    format_optional_cost(all.cost_per_rescue),
                ),
                (
                    "Median time to a verdict",
                    figures
                        .median_verdict_ms
                        .map_or_else(|| "–".to_owned(), duration),
                ),
                (
                    "Caught by the original tests",
                    counted(figures.caught_by_original_tests, "task"),
                ),
            ],
            highest: counted(highest.unwrap_or(0), "task"),
            tables: tables(figures)
                .into_iter()
                .map(|table| TableView::new(table, days))
                .collect(),
            frame,
        }
    }
}

fn chart_segments(bought: &RetryStats) -> Vec<ChartSegment> {
    let amount = |runs: u64| f64::from(u32::try_from(runs).unwrap_or(u32::MAX));
    vec![
        ("first", amount(bought.first_attempt.runs)),
        ("rescued", amount(bought.rescued.runs)),
        ("lost", amount(bought.not_rescued.runs)),
    ]
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
