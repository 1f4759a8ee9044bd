//! `selvedge review`.

use clap::{ArgGroup, Args};
use selvedge_core::model::TreeId;

use super::values::{AT_LEAST_ONE, whole_number};
use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge review`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("decision").args(["accept", "reject"]).required(true)), after_help = "\
Prints the attempt and the tree that are reviewed. To ensure that nothing else is reviewed, pass \
them:
  selvedge review 4f2a9c1e --accept --attempt 2 --tree TREE
Exits with the code of the run; with 2, and without a decision, if another attempt or tree, or none, \
is awaiting review.")]
pub(crate) struct ReviewArgs {
    /// Run id, at least four digits of its beginning or end, or `last` for the newest run on this machine [default:
    /// the newest run of this directory]. With --hub, the newest task is the default.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Accept the work: the run ends as verified, by you.
    #[arg(long)]
    pub(crate) accept: bool,
    /// Reject the work: the run ends, or starts another attempt with --retry.
    #[arg(long)]
    pub(crate) reject: bool,
    /// Start another attempt, with the reason as feedback.
    #[arg(long, requires = "reject")]
    pub(crate) retry: bool,
    /// Fail if an attempt other than this one is awaiting review.
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(AT_LEAST_ONE, 2))]
    pub(crate) attempt: Option<u32>,
    /// Fail if a tree other than this one is awaiting review.
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Option<TreeId>,
    /// Reason for the decision.
    #[arg(
        long,
        value_name = "TEXT",
        required_if_eq("reject", "true"),
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) reason: String,
    /// Output format; `jsonl` prints one event per line, and then the result.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub whose tasks to use instead of the runs of this machine.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
