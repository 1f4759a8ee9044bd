//! `selvedge man` and `selvedge completions`: generated from the clap definition.

use clap::CommandFactory;
use selvedge_core::model::exit_code;

use crate::cli::Cli;
use crate::error::CliError;
use crate::streams::write_output;

pub(super) fn page() -> Result<u8, CliError> {
    let page = clap_mangen::Man::new(Cli::command());
    let mut text = Vec::new();
    page.render(&mut text).map_err(CliError::infrastructure)?;
    write_output(&text);
    Ok(exit_code::VERIFIED)
}

pub(super) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "selvedge", &mut script);
    write_output(&script);
    exit_code::VERIFIED
}
