//! Commands about many runs: the dashboard and retry statistics.

use std::path::PathBuf;

use clap::Args;

use super::values::whole_number;
use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge ui`
#[derive(Debug, Args)]
#[command(after_help = "\
The dashboard shows the runs in this machine's journal. It is read-only, except for reviews. It \
loads nothing from other hosts.")]
pub(crate) struct UiArgs {
    /// Port on the loopback address [default: any free port].
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true,
        value_parser = whole_number::<u16>(0..=65_535, 8080)
    )]
    pub(crate) port: u16,
    /// Output format; `json` and `jsonl` print the link as an object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge stats`
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Only runs in this directory.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Only runs of the last N days.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(1..=36_500, 30))]
    pub(crate) days: Option<u32>,
    /// Output format; `json` and `jsonl` print one object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
