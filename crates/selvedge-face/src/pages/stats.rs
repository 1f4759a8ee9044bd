//! What the loop buys.

use askama::Template;
use selvedge_core::words::cost;

use super::frame::Frame;
use crate::charts::{self, Part};
use crate::stats::{Bought, Figures, Table, of_judged, perhaps, tables};
use crate::text::{Markup, line};

/// The page.
#[derive(Template)]
#[template(path = "stats.html")]
pub(crate) struct StatsPage {
    frame: Frame,
    none: bool,
    spans: Vec<(String, &'static str, bool)>,
    shares: Vec<ShareView>,
    share_chart: Markup,
    time_chart: Markup,
    times: Option<(String, String)>,
    total: String,
    retries: String,
    per_rescue: String,
    tables: Vec<Table>,
}

struct ShareView {
    class: &'static str,
    name: &'static str,
    count: String,
    each: String,
}

/// How far back, in days; nothing for all.
pub(crate) const SPANS: [(Option<u32>, &str); 4] = [
    (Some(7), "7 days"),
    (Some(30), "30 days"),
    (Some(90), "90 days"),
    (None, "all time"),
];

impl StatsPage {
    pub(crate) fn new(frame: Frame, figures: &Figures, days: Option<u32>) -> Self {
        let all = &figures.all;
        let spans = SPANS.iter().map(|(span, name)| {
            let address =
                span.map_or_else(|| "/stats".to_owned(), |days| format!("/stats?days={days}"));
            (address, *name, *span == days)
        });
        let share = |class, name, share: &crate::stats::Share| ShareView {
            class,
            name,
            count: of_judged(share, all),
            each: perhaps(share.each()),
        };
        let times = &figures.over_time;
        let ends = times.first().zip(times.last());
        let columns: Vec<Vec<Part>> = times.iter().map(|group| parts(&group.bought)).collect();
        let mut tables = tables(figures);
        for cell in tables
            .iter_mut()
            .flat_map(|table| &mut table.rows)
            .flatten()
        {
            *cell = line(cell, 120);
        }
        Self {
            none: all.runs() == 0,
            spans: spans.collect(),
            shares: vec![
                share("first", "verified at the first attempt", &all.first_attempt),
                share("rescued", "rescued by a retry", &all.rescued),
                share("lost", "not rescued", &all.not_rescued),
            ],
            share_chart: charts::bar(&parts(all), &said(all)),
            time_chart: charts::columns(&columns, "The same for each day or week, as in the table"),
            times: ends.map(|(first, last)| (first.name.clone(), last.name.clone())),
            total: cost(all.cost()),
            retries: cost(all.retries.cost),
            per_rescue: perhaps(all.cost_per_rescue),
            tables,
            frame,
        }
    }
}

fn parts(bought: &Bought) -> Vec<Part> {
    let amount = |runs: u64| f64::from(u32::try_from(runs).unwrap_or(u32::MAX));
    vec![
        ("first", amount(bought.first_attempt.runs)),
        ("rescued", amount(bought.rescued.runs)),
        ("lost", amount(bought.not_rescued.runs)),
    ]
}

fn said(all: &Bought) -> String {
    format!(
        "Of {} judged tasks {} were verified at the first attempt, {} rescued by a retry, {} not rescued",
        all.judged(),
        all.first_attempt.runs,
        all.rescued.runs,
        all.not_rescued.runs
    )
}
