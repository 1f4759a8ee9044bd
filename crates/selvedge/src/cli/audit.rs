//! Arguments of `selvedge audit`.

use clap::Args;

use super::values::{ANY_NUMBER, AT_LEAST_ONE, whole_number};
use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge audit`
#[derive(Debug, Args)]
#[command(after_help = "\
Entries are never changed. The hub removes them after `selvedge hub --audit-retention-days`.

Examples:
  selvedge audit                                      the newest entries
  selvedge audit --action task.cancel --actor ci      who cancelled what
  selvedge audit --format jsonl > audit.jsonl         all entries, oldest first
  selvedge audit --format jsonl --after 4711          only those after number 4711")]
pub(crate) struct AuditArgs {
    /// Entries after this number, oldest first.
    #[arg(long, value_name = "NUMBER", value_parser = whole_number::<u64>(ANY_NUMBER, 4711))]
    pub(crate) after: Option<u64>,
    /// Entries of the token with this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Entries with this action, such as `task.cancel`.
    #[arg(long, value_name = "ACTION")]
    pub(crate) action: Option<String>,
    /// Entries about the task, token, session, webhook or schedule with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) subject: Option<String>,
    /// Maximum number of entries [default: 50; `jsonl`: all].
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(AT_LEAST_ONE, 50))]
    pub(crate) limit: Option<u64>,
    /// Output format; `jsonl` prints all entries, oldest first, one per line.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}
