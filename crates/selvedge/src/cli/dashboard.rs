//! Commands that look at many runs at once: the dashboard in a browser, and what the loop buys.

use std::path::PathBuf;

use clap::Args;

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge ui`
#[derive(Debug, Args)]
#[command(after_help = "\
The page shows what the journal of this machine holds. It changes nothing but what you decide about
work that waits for a review. Nothing is loaded from any other host.")]
pub(crate) struct UiArgs {
    /// The port, on the loopback address alone [default: one that is free].
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// How to speak; `json` and `jsonl` print the link as an object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// `selvedge stats`
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Only runs in this directory.
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Only runs of so many last days.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: Option<u32>,
    /// How to speak; `json` and `jsonl` print one object.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
