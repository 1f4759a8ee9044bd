//! Insights: the figures over all tasks.

use askama::Template;

use super::frame::PageFrame;
use super::insights::InsightsView;
use crate::backend::TaskQuery;
use crate::stats::StatsReport;

/// The page.
#[derive(Template)]
#[template(path = "stats.html")]
pub(crate) struct StatsPage {
    frame: PageFrame,
    spans: Vec<(String, &'static str, bool)>,
    insights: InsightsView,
}

/// Periods in days; `None` for all time.
const PERIODS: [(Option<u32>, &str); 4] = [
    (Some(7), "7 days"),
    (Some(30), "30 days"),
    (Some(90), "90 days"),
    (None, "all time"),
];

/// The links to the periods of a page: address, name, and whether it is shown.
pub(crate) fn period_links(page: &str, days: Option<u32>) -> Vec<(String, &'static str, bool)> {
    let separator = if page.contains('?') { '&' } else { '?' };
    let link = |(span, name): &(Option<u32>, &'static str)| {
        let address = span.map_or_else(
            || page.to_owned(),
            |days| format!("{page}{separator}days={days}"),
        );
        (address, *name, *span == days)
    };
    PERIODS.iter().map(link).collect()
}

impl StatsPage {
    pub(crate) fn new(frame: PageFrame, figures: &StatsReport, days: Option<u32>) -> Self {
        let base = TaskQuery {
            days,
            page: 1,
            ..TaskQuery::default()
        };
        Self {
            frame,
            spans: period_links("/stats", days),
            insights: InsightsView::new(figures, &base),
        }
    }
}
