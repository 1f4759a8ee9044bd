//! `selvedge config`: the settings in force and where they come from.

use selvedge_core::config::{DEFAULT_TOML, Flags};
use selvedge_core::model::exit_code;

use super::{directory, environment, settings};
use crate::cli::ConfigCommand;
use crate::error::CliError;
use crate::output::json;

pub(super) fn run(command: &ConfigCommand) -> Result<u8, CliError> {
    match command {
        ConfigCommand::Default => out!("{DEFAULT_TOML}"),
        ConfigCommand::Show { dir, json } => {
            let dir = directory(dir.as_deref())?;
            let resolved = settings(&dir, &Flags::default(), &environment())?.resolved;
            if *json {
                json::print(&resolved.settings());
            } else {
                out!("{}", resolved.to_toml());
            }
        }
    }
    Ok(exit_code::VERIFIED)
}
