//! `selvedge stats`: the dashboard's retry statistics, in a terminal or as JSON.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_core::format::counted;
use selvedge_core::model::exit_code;
use selvedge_dashboard::stats::{
    LOWER_BOUND_NOTE, StatsPeriod, StatsReport, StatsTable, format_cost, is_lower_bound, tables,
};

use super::{canonical_directory, environment, fleet};
use crate::cli::StatsArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::{OutputFormat, json};
use crate::terminal::{last_chars, one_line, output_width, style};
use crate::ui::load_facts;

pub(super) fn run(args: &StatsArgs) -> Result<u8, CliError> {
    if let Some(credentials) = fleet::hub_credentials(&args.hub)? {
        return Ok(print_figures(args, &fleet::figures(args, &credentials)?));
    }
    let home = StateDir::from_environment(&environment())?;
    let dir = args
        .dir
        .as_deref()
        .map(|dir| canonical_directory(Some(dir)));
    let dir = dir.transpose()?;
    let facts = match home.open_existing_journal()? {
        Some(journal) => load_facts(&home, &journal, dir)?,
        None => Vec::new(),
    };
    let since = StatsPeriod::last_days(args.days, Timestamp::now());
    let figures = StatsReport::from_runs(&facts, since, &TimeZone::system());
    Ok(print_figures(args, &figures))
}

fn print_figures(args: &StatsArgs, figures: &StatsReport) -> u8 {
    let is_empty = figures.all.runs() == 0;
    match args.format {
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(figures),
        OutputFormat::Human if is_empty && (args.days.is_some() || args.dir.is_some()) => {
            errln!("no such runs");
        }
        OutputFormat::Human if is_empty => errln!("no runs yet"),
        OutputFormat::Human => out!("{}", format_figures(figures)),
    }
    exit_code::VERIFIED
}

fn format_figures(figures: &StatsReport) -> String {
    let all = &figures.all;
    let mut text = format!(
        "{}, {}, total {}\n",
        counted(all.runs(), "task"),
        counted(all.attempts, "attempt"),
        format_cost(all.cost()),
    );
    if let Some(each) = all.cost_per_rescue {
        text += &format!(
            "per recovered task {} (cost of all retries divided by recovered tasks)\n",
            format_cost(each)
        );
    }
    for table in tables(figures) {
        text += &format!(
            "\n{}\n{}",
            style::strong(&table.title),
            format_table(&table)
        );
    }
    if is_lower_bound(all.cost()) {
        text += &format!("\n{LOWER_BOUND_NOTE}\n");
    }
    text
}

/// Longest cell in a terminal, in characters.
const MAX_CELL_CHARS: usize = 60;

/// Aligns the first column to the left, the others to the right.
fn format_table(table: &StatsTable) -> String {
    let heading: Vec<String> = table.columns.iter().map(|it| (*it).to_owned()).collect();
    let max_chars = output_width().map_or(usize::MAX, |_| MAX_CELL_CHARS);
    // Of a long path the end is of interest.
    let cut = |row: &Vec<String>| {
        row.iter()
            .map(|cell| last_chars(&one_line(cell, usize::MAX), max_chars))
            .collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(heading)
        .chain(table.rows.iter().map(cut))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::from(" ");
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line += &if column == 0 {
                format!(" {cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            };
        }
        let line = line.trim_end();
        text += &if number == 0 {
            format!("{}\n", style::dim(line))
        } else {
            format!("{line}\n")
        };
    }
    text
}
