//! The table of `selvedge list`: runs of this machine, or tasks of a hub. It uses the full width of the terminal.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use selvedge_core::describe::cost;
use selvedge_core::model::Cost;

use crate::terminal::{last_chars, one_line, style};

const COLUMNS: usize = 8;

const HEADING: [&str; COLUMNS] = [
    "run",
    "started",
    "state",
    "attempts",
    "agent",
    "cost",
    "directory",
    "task",
];

/// Columns with a style.
const RUN_COLUMN: usize = 0;
const STATE_COLUMN: usize = 2;

/// Space between columns.
const GAP: &str = "  ";

const MAX_AGENT_CHARS: usize = 20;
const MAX_DIRECTORY_CHARS: usize = 40;

/// The task's part of a line in a narrow terminal, which then wraps the line.
const MIN_TASK_CHARS: usize = 20;

/// A run or a task, as one line of the table.
pub(crate) struct RunRow {
    pub(crate) id: String,
    pub(crate) created_at: Timestamp,
    pub(crate) state: String,
    /// Adds the style of the state.
    pub(crate) paint_state: fn(String) -> String,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    pub(crate) agent: String,
    pub(crate) cost: Cost,
    pub(crate) directory: String,
    pub(crate) task: String,
}

impl RunRow {
    fn cells(&self) -> [String; COLUMNS] {
        let started = self.created_at.to_zoned(TimeZone::system());
        [
            self.id.clone(),
            started.strftime("%Y-%m-%d %H:%M").to_string(),
            self.state.clone(),
            format!("{}/{}", self.attempts, self.max_attempts),
            one_line(&self.agent, MAX_AGENT_CHARS),
            cost(self.cost),
            last_chars(&one_line(&self.directory, usize::MAX), MAX_DIRECTORY_CHARS),
            one_line(&self.task, usize::MAX),
        ]
    }
}

/// Formats the table for a terminal with this number of columns, or untruncated.
pub(crate) fn format_table(rows: &[RunRow], terminal_width: Option<usize>) -> String {
    let cells: Vec<_> = rows.iter().map(RunRow::cells).collect();
    let mut widths = HEADING.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    if let (Some(columns), [fixed @ .., task]) = (terminal_width, &mut widths) {
        let used: usize = fixed.iter().map(|width| width + GAP.len()).sum();
        *task = columns.saturating_sub(used).max(MIN_TASK_CHARS);
    }
    let heading = format_line(&HEADING.map(str::to_owned), &widths, |_, cell| cell);
    let mut text = format!("{}\n", style::dim(heading));
    for (row, cells) in rows.iter().zip(&cells) {
        let line = format_line(cells, &widths, |column, cell| match column {
            RUN_COLUMN => style::strong(cell),
            STATE_COLUMN => (row.paint_state)(cell),
            _ => cell,
        });
        text += &format!("{line}\n");
    }
    text
}

fn format_line(
    cells: &[String; COLUMNS],
    widths: &[usize; COLUMNS],
    paint: impl Fn(usize, String) -> String,
) -> String {
    let cells = cells.iter().zip(widths).enumerate();
    let cells = cells.map(|(column, (cell, width))| {
        let is_last = column + 1 == COLUMNS;
        let cell = if is_last {
            one_line(cell, *width)
        } else {
            format!("{cell:<width$}")
        };
        paint(column, cell)
    });
    cells.collect::<Vec<_>>().join(GAP)
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;

    fn table(directory: &str, task: &str, width: Option<usize>) -> Vec<String> {
        let row = RunRow {
            id: "4f2a9c1e".to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
            state: "verified".to_owned(),
            paint_state: style::good,
            attempts: 1,
            max_attempts: 3,
            agent: "claude".to_owned(),
            cost: Cost::ZERO,
            directory: directory.to_owned(),
            task: task.to_owned(),
        };
        let text = strip_str(&format_table(&[row], width)).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn run_table_has_a_heading_and_the_directory() {
        let lines = table("/srv/shop", "fix it", None);
        let [heading, line] = &lines[..] else {
            panic!("{lines:?}");
        };
        for (name, value) in [
            ("run", "4f2a9c1e"),
            ("directory", "/srv/shop"),
            ("task", "fix it"),
        ] {
            assert_eq!(heading.find(name), line.find(value), "{name}: {lines:?}");
        }
    }

    #[test]
    fn run_table_uses_the_full_width() {
        let task = "word ".repeat(60);
        for width in [120, 200] {
            let line = &table("/srv/shop", &task, Some(width))[1];
            assert_eq!(line.chars().count(), width, "{line}");
            assert!(line.ends_with('…'), "{line}");
        }
        assert!(table("/srv/shop", &task, None)[1].ends_with("word"));
    }

    #[test]
    fn run_table_keeps_the_end_of_a_long_directory() {
        let directory = format!("/srv/{}/shop", "deep/".repeat(20));
        let line = &table(&directory, "fix it", None)[1];
        assert!(
            line.contains('…') && line.contains("/shop  fix it"),
            "{line}"
        );
    }
}
