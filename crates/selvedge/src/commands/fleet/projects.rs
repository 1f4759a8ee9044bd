//! `selvedge projects`: creates, lists, shows, changes and deletes a hub's projects.

use selvedge_core::format::counted;
use selvedge_core::model::{MicroUsd, exit_code};
use selvedge_protocol::{ProjectPage, ProjectRow, ProjectUsage};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::{LimitArg, ProjectSettingsArgs, ProjectsArgs, ProjectsCommand};
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, json as json_output};
use crate::terminal::{one_line, style};

pub(super) async fn projects(hub: &HubClient, args: &ProjectsArgs) -> Result<u8, CliError> {
    match &args.command {
        None => list(hub, args.format).await?,
        Some(ProjectsCommand::Add { name, settings }) => {
            let request = json!({"name": name, "settings": changes(settings)});
            let row: ProjectRow = hub.post("/projects", &request, &[]).await?;
            print_project(&row, args.format);
        }
        Some(ProjectsCommand::Show { name }) => {
            let row: ProjectRow = hub.get(&path(name)?, &[]).await?;
            print_project(&row, args.format);
        }
        Some(ProjectsCommand::Update {
            name,
            settings,
            any_repository,
        }) => {
            let mut changes = changes(settings);
            if *any_repository {
                changes.insert("repositories".to_owned(), Value::Null);
            }
            if changes.is_empty() {
                return Err(CliError::usage("nothing to change").hint(
                    "name a setting, such as --max-running 4; see selvedge projects update --help",
                ));
            }
            let row: ProjectRow = hub.patch(&path(name)?, &changes).await?;
            print_project(&row, args.format);
        }
        Some(ProjectsCommand::Remove { name }) => {
            hub.delete(&path(name)?).await?;
            if args.format == OutputFormat::Human {
                outln!("removed: {name}");
            }
        }
    }
    Ok(exit_code::VERIFIED)
}

/// The name becomes a part of the URL.
fn path(name: &str) -> Result<String, CliError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain) {
        return Ok(format!("/projects/{name}"));
    }
    Err(CliError::usage(format!("invalid project name `{name}`"))
        .hint("list projects with `selvedge projects`"))
}

/// The named settings; `null` removes a limit.
fn changes(args: &ProjectSettingsArgs) -> Map<String, Value> {
    fn value<T: Serialize + Copy>(limit: Option<LimitArg<T>>) -> Option<Value> {
        Some(match limit? {
            LimitArg::None => Value::Null,
            LimitArg::At(limit) => json!(limit),
        })
    }
    let repositories = &args.repositories;
    let settings = [
        (
            "repositories",
            (!repositories.is_empty()).then(|| json!(repositories)),
        ),
        ("max_running", value(args.max_running)),
        ("max_queued", value(args.max_queued)),
        (
            "max_cost_micro_usd_per_day",
            value(args.max_cost_usd_per_day),
        ),
        (
            "max_running_per_submitter",
            value(args.max_running_per_submitter),
        ),
        (
            "max_cost_micro_usd_per_day_per_submitter",
            value(args.max_cost_usd_per_day_per_submitter),
        ),
    ];
    settings
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

async fn list(hub: &HubClient, format: OutputFormat) -> Result<(), CliError> {
    let page: ProjectPage = hub.get("/projects", &[]).await?;
    match format {
        OutputFormat::Json => json_output::print_json(&page.projects),
        OutputFormat::Jsonl => page.projects.iter().for_each(json_output::print_json),
        OutputFormat::Human => page.projects.iter().for_each(|row| {
            let limits = limits(row).join(", ");
            outln!("{:<24}  {}", style::strong(&row.name), style::dim(limits));
        }),
    }
    Ok(())
}

fn usd(amount: MicroUsd) -> String {
    format!("${:.2}", amount.as_usd())
}

/// The limits in words.
fn limits(row: &ProjectRow) -> Vec<String> {
    let settings = &row.settings;
    let tasks = |limit: Option<u32>, what: &str| {
        limit.map(|limit| format!("at most {} {what}", counted(limit.into(), "task")))
    };
    let cost = |limit: Option<MicroUsd>, what: &str| {
        limit.map(|limit| format!("{} a day{what}", usd(limit)))
    };
    let limits = [
        tasks(settings.max_running, "running"),
        tasks(settings.max_queued, "queued"),
        cost(settings.max_cost_micro_usd_per_day, ""),
        tasks(settings.max_running_per_submitter, "running per submitter"),
        cost(
            settings.max_cost_micro_usd_per_day_per_submitter,
            " per submitter",
        ),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if limits.is_empty() {
        return vec!["no limits".to_owned()];
    }
    limits
}

fn print_project(row: &ProjectRow, format: OutputFormat) {
    if format != OutputFormat::Human {
        json_output::print_json(row);
        return;
    }
    outln!("{}", style::strong(&row.name));
    let patterns = &row.settings.repositories;
    if patterns.is_empty() {
        outln!("  repositories  all");
    }
    for pattern in patterns {
        outln!("  repository    {}", one_line(pattern, 120));
    }
    for limit in limits(row) {
        outln!("  limit         {limit}");
    }
    if let Some(usage) = &row.usage {
        outln!("  now           {}", describe_usage(usage));
    }
    for submitter in &row.submitters {
        let name = one_line(&submitter.name, 40);
        outln!("  {name:<12}  {}", describe_usage(&submitter.usage));
    }
}

fn describe_usage(usage: &ProjectUsage) -> String {
    let cost = usd(usage.cost_micro_usd);
    let cost = match usage.calls_of_unknown_cost {
        0 => cost,
        count => format!(
            "at least {cost} ({} of unknown cost)",
            counted(count, "call")
        ),
    };
    format!(
        "{} running, {} queued, {cost} today",
        usage.running, usage.queued
    )
}
