//! `selvedge list`: lists runs, newest first.

use selvedge_core::model::exit_code;
use selvedge_store::{Journal, RunFilter, RunStatus, RunSummary};

use super::{canonical_directory, environment, fleet};
use crate::cli::ListArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::run_table::{RunRow, format_table};
use crate::output::{OutputFormat, json, print_notice};
use crate::terminal::{one_line, output_width, style};

pub(super) fn run(args: &ListArgs) -> Result<u8, CliError> {
    if let Some(credentials) = fleet::hub_credentials(&args.hub)? {
        return fleet::list(args, &credentials);
    }
    let home = StateDir::from_environment(&environment())?;
    let filter = RunFilter {
        workspace: args
            .dir
            .as_deref()
            .map(|dir| canonical_directory(Some(dir)))
            .transpose()?,
        finished: args.open.then_some(false),
        ..RunFilter::default()
    };
    let mut runs = match home.open_existing_journal()? {
        Some(journal) => journal
            .runs(&filter, args.limit.saturating_add(1), None)
            .map_err(CliError::infrastructure)?,
        None => Vec::new(),
    };
    let has_more = runs.len() > args.limit;
    runs.truncate(args.limit);
    match args.format {
        OutputFormat::Json => json::print_json(&runs),
        OutputFormat::Jsonl => runs.iter().for_each(json::print_json),
        OutputFormat::Human if runs.is_empty() && (args.open || args.dir.is_some()) => {
            errln!("no such runs");
        }
        OutputFormat::Human if runs.is_empty() => errln!("no runs yet; try `selvedge demo`"),
        OutputFormat::Human => {
            let rows: Vec<RunRow> = runs.iter().map(run_row).collect();
            out!("{}", format_table(&rows, output_width()));
            if has_more {
                print_more_exist("runs");
            }
        }
    }
    Ok(exit_code::VERIFIED)
}

/// Prints that older runs or tasks are not shown.
pub(super) fn print_more_exist(what: &str) {
    print_notice(&format!(
        "older {what} are not shown; use --limit to show more"
    ));
}

fn run_row(run: &RunSummary) -> RunRow {
    let task = run.task.as_ref();
    let part = task.and_then(|task| task.part_of.as_ref());
    let part = part.map(|part| format!("↳ {}: ", one_line(&part.subtask, 24)));
    let description = task.map_or("(written by a newer release)", |task| {
        task.description.as_str()
    });
    let (state, paint_state) = state_label(run.status);
    RunRow {
        id: run.run_id.short(),
        created_at: run.created_at,
        state,
        paint_state,
        attempts: run.attempts,
        max_attempts: task.map_or(0, |task| task.max_attempts),
        agent: task.map_or("?", |task| task.agent.as_str()).to_owned(),
        cost: run.cost,
        directory: task.map_or_else(String::new, |task| task.workspace.display().to_string()),
        task: part.unwrap_or_default() + description,
    }
}

/// The label of a status, and its style.
fn state_label(status: RunStatus) -> (String, fn(String) -> String) {
    match status {
        RunStatus::Open => ("open".to_owned(), style::warning),
        RunStatus::Suspended => ("suspended".to_owned(), style::warning),
        RunStatus::AwaitingReview => ("needs review".to_owned(), style::warning),
        RunStatus::Finished { outcome } => {
            let label = outcome.as_str().replace('_', " ");
            if outcome.exit_code() == exit_code::VERIFIED {
                (label, style::good)
            } else {
                (label, style::bad)
            }
        }
    }
}
