//! The `selvedge` program.
//!
//! Two hidden faces come first, before anything is parsed or allocated for: the supervisor of a
//! process tree, which must start in about a millisecond, and the scripted agent that the demo and
//! the tests use. Everything else is the command line in [`cli`], one file a command in
//! [`commands`].

mod cli;
mod commands;
mod demo;
mod error;
mod freeze;
mod init;
mod judges;
mod launch;
mod local;
mod output;
mod scripted_agent;
mod settings;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match args.get(1).and_then(|arg| arg.to_str()) {
        Some("__supervise") => return selvedge_engine::process::supervisor::main(),
        Some("__agent") => return scripted_agent::main(args.get(2..).unwrap_or_default()),
        _ => {}
    }
    let cli = cli::Cli::parse_from(args);
    match commands::run(cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.print();
            ExitCode::from(error.code)
        }
    }
}
