//! `selvedge config`: prints the effective settings and their sources.

use selvedge_core::config::{DEFAULT_TOML, Flags};
use selvedge_core::model::exit_code;

use super::{canonical_directory, environment, load_settings};
use crate::cli::ConfigCommand;
use crate::error::CliError;
use crate::output::{OutputFormat, json};

pub(super) fn run(command: &ConfigCommand) -> Result<u8, CliError> {
    match command {
        ConfigCommand::Default => out!("{DEFAULT_TOML}"),
        ConfigCommand::Show { dir, format } => {
            let dir = canonical_directory(dir.as_deref())?;
            let resolved = load_settings(&dir, &Flags::default(), &environment())?.resolved;
            match format {
                OutputFormat::Human => out!("{}", resolved.to_toml()),
                OutputFormat::Json | OutputFormat::Jsonl => {
                    json::print_json(&resolved.settings());
                }
            }
        }
    }
    Ok(exit_code::VERIFIED)
}
