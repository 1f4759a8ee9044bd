//! Arguments of `selvedge webhooks`.

use clap::{Args, Subcommand, ValueEnum};

use super::values::whole_number;
use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge webhooks`
#[derive(Debug, Args)]
#[command(after_help = "\
Requests are signed as the Standard Webhooks specification defines it, and repeated for about a day until the \
receiver accepts one. See `docs/reference/hub.md`.

Examples:
  selvedge webhooks                                        list all webhooks
  selvedge webhooks add ci https://ci.example/hook
  selvedge webhooks add reviews https://hooks.slack.com/… --body slack --event task.needs_review
  selvedge webhooks deliveries 0190163d-8694-739b-aea5-966c26f8ad91")]
pub(crate) struct WebhooksArgs {
    /// The command to run [default: list the webhooks].
    #[command(subcommand)]
    pub(crate) command: Option<WebhooksCommand>,
    /// Output format.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Commands of `selvedge webhooks`.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Create a webhook. The secret of its signatures is printed only once.
    Add {
        /// Name of the webhook.
        name: String,
        /// URL that receives the requests.
        url: String,
        /// Events to send [default: all]. Repeatable.
        #[arg(
            long = "event",
            value_name = "EVENT",
            value_enum,
            value_delimiter = ','
        )]
        events: Vec<WebhookEventArg>,
        /// Form of the requests.
        #[arg(long = "body", value_name = "FORM", value_enum, default_value_t)]
        body: WebhookFormatArg,
    },
    /// Remove a webhook. What it has not delivered yet is not sent.
    Remove {
        /// Id of the webhook, as in the list.
        id: String,
    },
    /// List the latest deliveries of a webhook, newest first.
    Deliveries {
        /// Id of the webhook, as in the list.
        id: String,
        /// Maximum number of deliveries.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole_number::<u32>(1..=500, 20))]
        limit: u32,
    },
}

/// Events of webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WebhookEventArg {
    /// A task ended with an outcome, or was cancelled.
    #[value(name = "task.finished")]
    Finished,
    /// A task needs review.
    #[value(name = "task.needs_review")]
    NeedsReview,
    /// A task was given up after infrastructure failures.
    #[value(name = "task.dead")]
    Dead,
}

/// Forms of a webhook's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WebhookFormatArg {
    /// JSON for programs.
    #[default]
    Json,
    /// A message for an incoming webhook of Slack.
    Slack,
    /// An Adaptive Card for a workflow of Microsoft Teams.
    Teams,
}
