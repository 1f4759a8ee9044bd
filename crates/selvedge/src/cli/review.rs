//! `selvedge review`.

use clap::Args;

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge review`
#[derive(Debug, Args)]
#[command(after_help = "\
The attempt and the tree that are decided on are printed. Name them, and nothing else is ever decided on:
  selvedge review 4f2a9c1e --accept --attempt 2 --tree TREE
Exits as the run does; with 2, and nothing is decided, where another attempt or tree is awaiting review,
or none is.")]
pub(crate) struct ReviewArgs {
    /// The run: its id, four digits or more from either end of it, or `last` for the newest on this machine [default: the latest run of this directory]. With --hub, the newest task.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The work is right: the run ends as verified, by you.
    #[arg(long, required_unless_present = "reject")]
    pub(crate) accept: bool,
    /// The work is not right: the run ends, or tries again with --retry.
    #[arg(long, conflicts_with = "accept")]
    pub(crate) reject: bool,
    /// Give the agent another attempt, with the reason as feedback.
    #[arg(long, requires = "reject")]
    pub(crate) retry: bool,
    /// Decide on this attempt only: refused when another one is awaiting review.
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<u32>,
    /// Decide on this tree only: refused when another one is awaiting review.
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<String>,
    /// Why, in your words.
    #[arg(
        long,
        value_name = "TEXT",
        required_if_eq("reject", "true"),
        default_value = ""
    )]
    pub(crate) reason: String,
    /// How to speak.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Which hub; without one the runs of this machine are meant.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
