//! `selvedge man` and `selvedge completions`: generated from the clap definition.

use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use selvedge_core::model::exit_code;

use crate::cli::{Cli, ManArgs};
use crate::error::CliError;
use crate::streams::write_output;

/// The heading of the section that shows how a command is called.
const SYNOPSIS: &str = ".SH SYNOPSIS\n";

pub(super) fn run(args: &ManArgs) -> Result<u8, CliError> {
    match &args.dir {
        Some(dir) => write_pages(dir),
        None => print_page(&args.command),
    }
}

/// Writes the pages of all commands, such as `selvedge.1` and `selvedge-config-show.1`.
fn write_pages(dir: &Path) -> Result<u8, CliError> {
    std::fs::create_dir_all(dir)
        .and_then(|()| write_pages_of(&built_program(), dir))
        .map_err(|error| CliError::usage(format!("cannot write to {}: {error}", dir.display())))?;
    Ok(exit_code::VERIFIED)
}

fn write_pages_of(command: &Command, dir: &Path) -> io::Result<()> {
    let subcommands = command.get_subcommands();
    for subcommand in subcommands.filter(|it| !it.is_hide_set()) {
        write_pages_of(subcommand, dir)?;
    }
    let name = Man::new(command.clone()).get_filename();
    std::fs::write(dir.join(name), render_page(command)?)
}

fn print_page(words: &[String]) -> Result<u8, CliError> {
    let mut command = built_program();
    for word in words {
        let subcommand = command.find_subcommand(word).cloned();
        command = subcommand.ok_or_else(|| {
            CliError::usage(format!("command `{}` does not exist", words.join(" ")))
                .hint("`selvedge --help` lists the commands")
        })?;
    }
    let page = render_page(&command).map_err(CliError::infrastructure)?;
    write_output(page.as_bytes());
    Ok(exit_code::VERIFIED)
}

/// The whole command line, with the full names of the subcommands. The subcommand `help` has no page.
fn built_program() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Renders a page. The generator names options without their values in the synopsis; they are added.
fn render_page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8_lossy(&page).into_owned();
    let Some((before, rest)) = page.split_once(SYNOPSIS) else {
        return Ok(page);
    };
    let (synopsis, after) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut synopsis = synopsis.to_owned();
    for option in command.get_opts() {
        let (Some(long), Some(values)) = (option.get_long(), option.get_value_names()) else {
            continue;
        };
        let name = format!("\\-\\-{}\\fR", long.replace('-', "\\-"));
        let value = values.join(" ").replace('-', "\\-");
        synopsis = synopsis.replace(&name, &format!("{name} \\fI{value}\\fR"));
    }
    Ok(format!("{before}{SYNOPSIS}{synopsis}\n{after}"))
}

pub(super) fn completions(shell: clap_complete::Shell) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "selvedge", &mut script);
    write_output(&script);
    exit_code::VERIFIED
}
