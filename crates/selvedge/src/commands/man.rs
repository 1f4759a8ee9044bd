//! `selvedge man` and `selvedge completions`: generated from the clap definition.

use std::path::Path;

use clap::CommandFactory;
use selvedge_core::model::exit_code;

use crate::cli::{Cli, ManArgs};
use crate::error::CliError;
use crate::streams::write_output;

pub(super) fn run(args: &ManArgs) -> Result<u8, CliError> {
    match &args.dir {
        Some(dir) => write_pages(dir),
        None => print_page(&args.command),
    }
}

/// Writes the pages of all commands, such as `selvedge.1` and `selvedge-config-show.1`.
fn write_pages(dir: &Path) -> Result<u8, CliError> {
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(|error| CliError::usage(format!("cannot write to {}: {error}", dir.display())))?;
    Ok(exit_code::VERIFIED)
}

fn print_page(words: &[String]) -> Result<u8, CliError> {
    // The subcommand `help` has no page.
    let mut command = Cli::command().disable_help_subcommand(true);
    // Sets the full names of the subcommands.
    command.build();
    for word in words {
        let subcommand = command.find_subcommand(word).cloned();
        command = subcommand.ok_or_else(|| {
            CliError::usage(format!("command `{}` does not exist", words.join(" ")))
                .hint("`selvedge --help` lists the commands")
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(CliError::infrastructure)?;
    write_output(&page);
    Ok(exit_code::VERIFIED)
}

pub(super) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "selvedge", &mut script);
    write_output(&script);
    exit_code::VERIFIED
}
