//! `selvedge list`: lists runs, newest first.

use jiff::tz::TimeZone;
use selvedge_core::model::exit_code;
use selvedge_store::{Journal, RunFilter, RunStatus, RunSummary};

use super::{canonical_directory, environment, fleet};
use crate::cli::ListArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::{OutputFormat, json};
use crate::terminal::{one_line, style};
use selvedge_core::describe::cost;

pub(super) fn run(args: &ListArgs) -> Result<u8, CliError> {
    if let Some(credentials) = fleet::hub_credentials(&args.hub)? {
        return fleet::list(args, &credentials);
    }
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let filter = RunFilter {
        workspace: args
            .dir
            .as_deref()
            .map(|dir| canonical_directory(Some(dir)))
            .transpose()?,
        finished: args.open.then_some(false),
        ..RunFilter::default()
    };
    let runs = journal
        .runs(&filter, args.limit, None)
        .map_err(CliError::infrastructure)?;
    match args.format {
        OutputFormat::Json => json::print_json(&runs),
        OutputFormat::Jsonl => runs.iter().for_each(json::print_json),
        OutputFormat::Human if runs.is_empty() => outln!("no runs"),
        OutputFormat::Human => runs.iter().for_each(|run| outln!("{}", run_line(run))),
    }
    Ok(exit_code::VERIFIED)
}

fn run_line(run: &RunSummary) -> String {
    let when = run
        .created_at
        .to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M");
    let (agent, max, task) =
        run.task
            .as_ref()
            .map_or(("?", 0, "(written by a newer release)"), |task| {
                (
                    task.agent.as_str(),
                    task.max_attempts,
                    task.description.as_str(),
                )
            });
    let part = run.task.as_ref().and_then(|task| task.part_of.as_ref());
    let part = part.map(|part| format!("↳ {}: ", one_line(&part.subtask, 24)));
    let part = part.unwrap_or_default();
    let attempts = format!("{}/{max}", run.attempts);
    format!(
        "{}  {when}  {}  {attempts:>5}  {:<10}  {:<18}  {part}{}",
        style::strong(run.run_id.short()),
        standing_label(run.standing),
        one_line(agent, 10),
        cost(run.cost),
        one_line(task, 60),
    )
}

fn standing_label(status: RunStatus) -> String {
    const WIDTH: usize = 21;
    match status {
        RunStatus::Open => style::warning(format!("{:WIDTH$}", "open")),
        RunStatus::Suspended => style::warning(format!("{:WIDTH$}", "suspended")),
        RunStatus::AwaitingReview => style::warning(format!("{:WIDTH$}", "needs review")),
        RunStatus::Finished { outcome } => {
            let label = format!("{:WIDTH$}", outcome.as_str().replace('_', " "));
            if outcome.exit_code() == exit_code::VERIFIED {
                style::good(label)
            } else {
                style::bad(label)
            }
        }
    }
}
