//! Arguments of `selvedge schedules`.

use clap::{Args, Subcommand};

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge schedules`
#[derive(Debug, Args)]
#[command(after_help = "\
Create a schedule with `selvedge submit … --schedule CRON`.

Examples:
  selvedge submit --file update.toml --schedule '0 3 * * MON Europe/Berlin'
  selvedge schedules                                       list all schedules
  selvedge schedules pause 0190163d-8694-739b-aea5-966c26f8ad91")]
pub(crate) struct SchedulesArgs {
    /// The command to run [default: list the schedules].
    #[command(subcommand)]
    pub(crate) command: Option<SchedulesCommand>,
    /// Output format.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Commands of `selvedge schedules`.
#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    /// Submit no more tasks until the schedule is resumed.
    Pause {
        /// Id of the schedule, as in the list.
        id: String,
    },
    /// Submit tasks again, beginning with the next due time.
    Resume {
        /// Id of the schedule, as in the list.
        id: String,
    },
    /// Remove a schedule. Tasks that it has submitted stay.
    Remove {
        /// Id of the schedule, as in the list.
        id: String,
    },
}
