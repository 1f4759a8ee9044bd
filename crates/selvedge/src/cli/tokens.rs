//! `selvedge tokens`: who may speak to a hub.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::hub_client::HubArgs;
use crate::output::OutputFormat;

/// `selvedge tokens`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  selvedge tokens                                          who has one
  selvedge tokens add worker-7 --scope worker --out worker.token
  selvedge tokens revoke 4f2a9c1e")]
pub(crate) struct TokensArgs {
    /// What to do [default: list them].
    #[command(subcommand)]
    pub(crate) command: Option<TokensCommand>,
    /// How to speak.
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: OutputFormat,
    /// Which hub.
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// What is done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Make one. Its secret is shown, or written, this once.
    Add {
        /// What people call it.
        name: String,
        /// What it may be used for; may be given several times.
        #[arg(long = "scope", value_enum, value_delimiter = ',', required = true)]
        scopes: Vec<ScopeArg>,
        /// When it ends by itself, in days from now.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
        /// Write the secret to this file, readable by you alone, instead of printing it.
        #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
    /// End one.
    Revoke {
        /// Its id, as the list shows it.
        id: String,
    },
}

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// To look.
    Read,
    /// To submit, cancel, retry and review.
    Submit,
    /// To carry out tasks.
    Worker,
    /// To make tokens, and all that people do.
    Admin,
}
