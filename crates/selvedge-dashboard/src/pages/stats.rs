//! Retry statistics.

use askama::Template;
use selvedge_core::describe::cost;

use super::frame::PageFrame;
use crate::charts::{self, ChartSegment};
use crate::stats::{
    RetryStats, StatsReport, StatsTable, format_optional_cost, format_share, tables,
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
    total: String,
    retries: String,
    per_rescue: String,
    tables: Vec<StatsTable>,
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
        let share = |class, name, share: &crate::stats::StatsBucket| BucketView {
            class,
            name,
            count: format_share(share, all),
            each: format_optional_cost(share.mean_cost()),
        };
        let times = &figures.over_time;
        let first_and_last = times.first().zip(times.last());
        let columns: Vec<Vec<ChartSegment>> = times
            .iter()
            .map(|group| chart_segments(&group.bought))
            .collect();
        let mut tables = tables(figures);
        for cell in tables
            .iter_mut()
            .flat_map(|table| &mut table.rows)
            .flatten()
        {
            *cell = single_line(cell, 120);
        }
        Self {
            none: all.runs() == 0,
            spans: spans.collect(),
            shares: vec![
                share("first", "verified at the first attempt", &all.first_attempt),
                share("rescued", "recovered by a retry", &all.rescued),
                share("lost", "not recovered", &all.not_rescued),
            ],
            share_chart: charts::bar(&chart_segments(all), &describe_stats(all)),
            time_chart: charts::columns(
                &columns,
                "Judged tasks for each day or week, as in the table",
            ),
            times: first_and_last.map(|(first, last)| (first.name.clone(), last.name.clone())),
            total: cost(all.cost()),
            retries: cost(all.retries.cost),
            per_rescue: format_optional_cost(all.cost_per_rescue),
            tables,
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
