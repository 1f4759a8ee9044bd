//! `selvedge man` and `selvedge completions`: generated from the command line's own definition.

use clap::CommandFactory;
use selvedge_core::model::exit_code;

use crate::cli::Cli;
use crate::error::CliError;

pub(super) fn page() -> Result<u8, CliError> {
    let page = clap_mangen::Man::new(Cli::command());
    page.render(&mut std::io::stdout().lock())
        .map_err(CliError::infrastructure)?;
    Ok(exit_code::VERIFIED)
}

pub(super) fn completions(shell: clap_complete::Shell) -> u8 {
    clap_complete::generate(
        shell,
        &mut Cli::command(),
        "selvedge",
        &mut std::io::stdout().lock(),
    );
    exit_code::VERIFIED
}
