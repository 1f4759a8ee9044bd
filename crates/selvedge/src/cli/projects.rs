//! Arguments of `selvedge projects`.

use clap::{Args, Subcommand};
use selvedge_core::model::MicroUsd;

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge projects`
#[derive(Debug, Args)]
#[command(after_help = "\
A project has its own tasks, tokens, webhooks, schedules and limits; its tokens see nothing else. Everything that names \
no project belongs to `default`, whose administrators may use this command. A day is a day of UTC.

Examples:
  selvedge projects                                        list all projects
  selvedge projects add web --repository 'https://git.example/web/*' --max-cost-usd-per-day 20
  selvedge tokens add web-admin --scope admin --project web
  selvedge projects show web                               limits, and who uses what
  selvedge projects update web --max-running 4 --max-cost-usd-per-day none")]
pub(crate) struct ProjectsArgs {
    /// The command to run [default: list the projects].
    #[command(subcommand)]
    pub(crate) command: Option<ProjectsCommand>,
    /// Output format.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Commands of `selvedge projects`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectsCommand {
    /// Create a project. The name of a deleted project cannot be used again.
    Add {
        /// Name of the project: lower-case letters, digits, `-`, `_` and `.`.
        name: String,
        /// Its settings.
        #[command(flatten)]
        settings: Box<ProjectSettingsArgs>,
    },
    /// Show the limits of a project and the current usage of its submitters.
    Show {
        /// Name of the project.
        name: String,
    },
    /// Change settings of a project; the others stay.
    Update {
        /// Name of the project.
        name: String,
        /// Settings to change.
        #[command(flatten)]
        settings: Box<ProjectSettingsArgs>,
        /// Allow all repositories.
        #[arg(long, conflicts_with = "repositories")]
        any_repository: bool,
    },
    /// Delete a project that has no unfinished tasks. Its tokens are revoked, its webhooks and schedules removed.
    Remove {
        /// Name of the project.
        name: String,
    },
}

/// Settings of a project.
#[derive(Debug, Args)]
pub(crate) struct ProjectSettingsArgs {
    /// Pattern of repositories that tasks may use [default: all]: `*` matches a part between slashes, `**` any number.
    /// Repeatable.
    #[arg(id = "repositories", long = "repository", value_name = "PATTERN")]
    pub(crate) repositories: Vec<String>,
    /// Maximum number of running tasks, or `none`.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) max_running: Option<LimitArg<u32>>,
    /// Maximum number of queued tasks, or `none`; further tasks are refused.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) max_queued: Option<LimitArg<u32>>,
    /// Cost in US dollars, or `none`, from which queued tasks wait for the next day.
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    pub(crate) max_cost_usd_per_day: Option<LimitArg<MicroUsd>>,
    /// Maximum number of running tasks of one submitter, or `none`.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) max_running_per_submitter: Option<LimitArg<u32>>,
    /// Cost in US dollars, or `none`, from which queued tasks of one submitter wait for the next day.
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    pub(crate) max_cost_usd_per_day_per_submitter: Option<LimitArg<MicroUsd>>,
}

/// A limit, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitArg<T> {
    /// Unlimited.
    None,
    /// The highest value.
    At(T),
}

fn parse_count(word: &str) -> Result<LimitArg<u32>, String> {
    match word {
        "none" => Ok(LimitArg::None),
        number => number
            .parse()
            .map(LimitArg::At)
            .map_err(|_| "must be a number or `none`".to_owned()),
    }
}

fn parse_cost(word: &str) -> Result<LimitArg<MicroUsd>, String> {
    match word {
        "none" => Ok(LimitArg::None),
        number => number
            .parse()
            .ok()
            .and_then(MicroUsd::from_usd)
            .map(LimitArg::At)
            .ok_or_else(|| "must be an amount in US dollars or `none`".to_owned()),
    }
}
