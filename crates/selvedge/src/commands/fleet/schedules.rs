//! `selvedge schedules`, and `selvedge submit --schedule`.

use selvedge_core::model::{Task, exit_code};
use selvedge_protocol::{CreatedSchedule, SchedulePage, ScheduleRequest, ScheduleRow};

use super::submit::print_warnings;
use super::{check_id, print_rows};
use crate::cli::{SchedulesArgs, SchedulesCommand};
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, json};
use crate::terminal::{one_line, style};

/// Maximum length of a name that is taken from the task.
const MAX_NAME_CHARS: usize = 60;
/// The name of a schedule whose task has no visible text.
const FALLBACK_NAME: &str = "scheduled task";

pub(super) async fn schedules(hub: &HubClient, args: &SchedulesArgs) -> Result<u8, CliError> {
    match &args.command {
        None => {
            let page: SchedulePage = hub.get("/schedules", &[]).await?;
            print_rows(&page.schedules, args.format, schedule_line);
        }
        Some(SchedulesCommand::Pause { id }) => change(hub, id, "pause", args.format).await?,
        Some(SchedulesCommand::Resume { id }) => change(hub, id, "resume", args.format).await?,
        Some(SchedulesCommand::Remove { id }) => {
            check_id("schedule", id, "selvedge schedules")?;
            hub.delete(&format!("/schedules/{id}")).await?;
            if args.format == OutputFormat::Human {
                outln!("removed: {id}");
            }
        }
    }
    Ok(exit_code::VERIFIED)
}

/// Creates a schedule for a task; without a name, it is named after the task.
pub(super) async fn add(
    hub: &HubClient,
    task: &Task,
    cron: &str,
    name: Option<&str>,
    format: OutputFormat,
) -> Result<u8, CliError> {
    let title = one_line(task.title(), MAX_NAME_CHARS);
    let own_name = if title.is_empty() {
        FALLBACK_NAME
    } else {
        &title
    };
    let request = ScheduleRequest {
        name: name.unwrap_or(own_name).to_owned(),
        cron: cron.to_owned(),
        task: serde_json::to_value(task).map_err(CliError::infrastructure)?,
    };
    let created: CreatedSchedule = hub.post("/schedules", &request, &[]).await?;
    match format {
        OutputFormat::Human => {
            print_warnings(&created.warnings);
            outln!("{}", schedule_line(&created.row));
        }
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&created),
    }
    Ok(exit_code::VERIFIED)
}

async fn change(
    hub: &HubClient,
    id: &str,
    action: &str,
    format: OutputFormat,
) -> Result<(), CliError> {
    check_id("schedule", id, "selvedge schedules")?;
    let path = format!("/schedules/{id}/{action}");
    let row: ScheduleRow = hub.post(&path, &serde_json::json!({}), &[]).await?;
    print_row(&row, format);
    Ok(())
}

fn print_row(row: &ScheduleRow, format: OutputFormat) {
    match format {
        OutputFormat::Human => outln!("{}", schedule_line(row)),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(row),
    }
}

fn schedule_line(row: &ScheduleRow) -> String {
    let next = row.next_at.map_or_else(
        || "paused".to_owned(),
        |at| format!("next at {}", at.strftime("%Y-%m-%d %H:%M UTC")),
    );
    let last = row
        .last
        .as_ref()
        .map(|last| match (last.task_id, &last.error) {
            (Some(task), _) => format!(", last task {task}"),
            (None, error) => {
                let error = one_line(error.as_deref().unwrap_or("unknown error"), 100);
                format!(", {}", style::bad(format!("last task refused: {error}")))
            }
        });
    format!(
        "{}  {:<24}  {}  {next}{}",
        style::strong(&row.id),
        one_line(&row.name, 24),
        one_line(&row.cron, 60),
        last.unwrap_or_default(),
    )
}
