//! Arguments of `selvedge tokens`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::values::whole_number;
use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge tokens`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge tokens                                          list all tokens
  selvedge tokens add worker-7 --scope worker --out worker.token
  selvedge tokens add web-admin --scope admin --project web
  selvedge tokens revoke 0197c5d2-…
  selvedge tokens sessions                                 who is signed in to the dashboard")]
pub(crate) struct TokensArgs {
    /// The command to run [default: list the tokens].
    #[command(subcommand)]
    pub(crate) command: Option<TokensCommand>,
    /// List the tokens of this project; for administrators of the project `default`.
    #[arg(long = "project", value_name = "NAME")]
    pub(crate) of_project: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: OutputFormat,
    /// Hub URL.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Commands of `selvedge tokens`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Create a token. Its secret is printed or written only once.
    Add {
        /// Name of the token.
        name: String,
        /// Permissions of the token. Repeatable.
        #[arg(long = "scope", value_enum, value_delimiter = ',', required = true)]
        scopes: Vec<ScopeArg>,
        /// Project of the token [default: the project of your own token].
        #[arg(long, value_name = "NAME")]
        project: Option<String>,
        /// Number of days until the token expires.
        #[arg(long, value_name = "DAYS", value_parser = whole_number::<u32>(1..=3650, 90))]
        days: Option<u32>,
        /// Write the secret to this new file, readable only by you, instead of printing it.
        #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
    /// Revoke a token. Its sessions, event streams and workers' connections end at once.
    Revoke {
        /// Id of the token, as in the list.
        id: String,
    },
    /// List the sessions of the dashboard.
    Sessions,
    /// End a session of the dashboard.
    EndSession {
        /// Id of the session, as `selvedge tokens sessions` lists it.
        id: String,
    },
}

/// Permissions of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Read tasks and workers.
    Read,
    /// Submit, cancel, retry and review tasks.
    Submit,
    /// Run tasks.
    Worker,
    /// Manage tokens, and everything that `submit` permits.
    Admin,
}
