//! The figures as tables of words: what a terminal prints, and what stands beside a chart. One place
//! says what a number is called.

use selvedge_core::model::Cost;
use selvedge_core::words::{cost, duration};

use super::figures::{Bought, Figures, Group, Share};

/// A table: its title, its columns, its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// What its columns are.
    pub columns: Vec<&'static str>,
    /// Its rows; the first cell of each names it.
    pub rows: Vec<Vec<String>>,
}

/// Rows of a table that may be long.
const LONGEST: usize = 12;

/// All tables that have a row.
pub fn tables(figures: &Figures) -> Vec<Table> {
    let groups = |title: &str, of: &'static str, groups: &[Group]| Table {
        title: title.to_owned(),
        columns: vec![
            of,
            "tasks",
            "first attempt",
            "rescued",
            "not rescued",
            "cost",
            "per rescue",
        ],
        rows: groups.iter().take(LONGEST).map(group).collect(),
    };
    let tables = [
        endings(&figures.all),
        groups("By agent", "agent", &figures.by_agent),
        groups("By model", "model", &figures.by_model),
        groups("By repository", "directory", &figures.by_repository),
        groups("Over time", "when", latest(&figures.over_time)),
        checks(figures),
        flaky(figures),
        slow(figures),
        guard(figures),
    ];
    let has_rows = |table: &Table| !table.rows.is_empty();
    tables.into_iter().filter(has_rows).collect()
}

fn latest(groups: &[Group]) -> &[Group] {
    groups
        .get(groups.len().saturating_sub(LONGEST)..)
        .unwrap_or(groups)
}

/// "42 (60%)".
pub(crate) fn of_judged(share: &Share, bought: &Bought) -> String {
    match (share.runs * 100).checked_div(bought.judged()) {
        None => share.runs.to_string(),
        Some(percent) => format!("{} ({percent}%)", share.runs),
    }
}

/// A cost that may not be.
pub(crate) fn perhaps(amount: Option<Cost>) -> String {
    amount.map_or_else(|| "–".to_owned(), cost)
}

fn endings(all: &Bought) -> Table {
    let judged = [
        ("verified at the first attempt", all.first_attempt),
        ("rescued by a retry", all.rescued),
        ("not rescued", all.not_rescued),
    ];
    let others = [
        ("decided by a person, or waiting for one", all.by_a_person),
        ("unchecked", all.unchecked),
        (
            "not judged: agent or machinery failed, or stopped",
            all.not_judged,
        ),
        ("not over", all.open),
    ];
    let row = |name: &str, share: &Share, count: String| {
        let each = perhaps(share.each());
        vec![name.to_owned(), count, cost(share.cost), each]
    };
    let judged = judged
        .iter()
        .map(|(name, share)| row(name, share, of_judged(share, all)));
    let others = others.iter().filter(|(_, share)| share.runs > 0);
    let others = others.map(|(name, share)| row(name, share, share.runs.to_string()));
    Table {
        title: "What the loop bought".to_owned(),
        columns: vec!["tasks that ended so", "tasks", "cost", "each"],
        rows: judged.chain(others).collect(),
    }
}

fn group(group: &Group) -> Vec<String> {
    let bought = &group.bought;
    vec![
        group.name.clone(),
        bought.runs().to_string(),
        of_judged(&bought.first_attempt, bought),
        of_judged(&bought.rescued, bought),
        of_judged(&bought.not_rescued, bought),
        cost(bought.cost()),
        perhaps(bought.cost_per_rescue),
    ]
}

fn checks(figures: &Figures) -> Table {
    let checks = figures.checks.iter().filter(|it| it.failures > 0);
    let row = |it: &super::CheckFigures| {
        vec![
            it.name.clone(),
            it.runs.to_string(),
            it.failures.to_string(),
            it.mended.to_string(),
        ]
    };
    Table {
        title: "Checks that failed".to_owned(),
        columns: vec!["check", "times run", "times failed", "tasks mended"],
        rows: checks.take(LONGEST).map(row).collect(),
    }
}

fn flaky(figures: &Figures) -> Table {
    let flaky = figures.flakiest().into_iter().take(LONGEST);
    Table {
        title: "Flakiest checks".to_owned(),
        columns: vec!["check", "times run", "times flaky"],
        rows: flaky
            .map(|it| vec![it.name.clone(), it.runs.to_string(), it.flaky.to_string()])
            .collect(),
    }
}

fn slow(figures: &Figures) -> Table {
    let slow = figures.slowest().into_iter().take(LONGEST);
    Table {
        title: "Slowest checks".to_owned(),
        columns: vec!["check", "times run", "on average", "slowest"],
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

fn guard(figures: &Figures) -> Table {
    let row = |(kind, [offences, flags]): (&String, &[u64; 2])| {
        vec![kind.clone(), offences.to_string(), flags.to_string()]
    };
    Table {
        title: "What the guard caught".to_owned(),
        columns: vec!["kind", "checks weakened", "for a person to weigh"],
        rows: figures.guard.iter().map(row).collect(),
    }
}
