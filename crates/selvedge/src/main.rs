//! The `selvedge` program.
//!
//! Internal subcommands are handled first, before any parsing or setup: the supervisor of a process tree, which must
//! start in about a millisecond; the sandbox's init process, which restricts itself and executes a program; the parsers
//! that a hostile file may crash; the baseline of an agent's session, in the background; and the scripted agent of the
//! demo and the tests. Everything else is the command line
//! in [`cli`], with one file per command in [`commands`].

#[macro_use]
mod streams;

mod attest;
mod cli;
mod commands;
mod demo;
mod error;
mod hub_client;
mod init;
mod install;
mod judges;
mod launch;
mod local;
mod logging;
mod output;
mod progress_events;
mod resolve;
mod sandbox_setup;
mod scripted_agent;
mod secrets;
mod settings;
mod stop_gate;
mod telemetry;
mod terminal;
mod ui;
mod worker;

use std::ffi::OsString;
use std::process::ExitCode;

use selvedge_core::model::exit_code;
use selvedge_engine::environment::protect_this_process;

use self::cli::ParseError;
use self::output::print_notice;
use self::streams::final_exit_code;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match args.get(1).and_then(|arg| arg.to_str()) {
        Some("__supervise") => return selvedge_engine::process::supervisor::main(),
        Some("__sandbox-init") => {
            return selvedge_engine::sandbox::init_main(args.get(2..).unwrap_or_default());
        }
        Some("__sandbox-probe") => {
            return selvedge_engine::sandbox::probe_main(args.get(2..).unwrap_or_default());
        }
        Some("__gate-baseline") => {
            return stop_gate::baseline_main(args.get(2..).unwrap_or_default());
        }
        Some("__parse") => return selvedge_engine::syntax::run_parser(),
        Some("__agent") => {
            return scripted_agent::main(args.get(2..).unwrap_or_default(), demo::script);
        }
        _ => {}
    }
    protect_this_process();
    let cli = match cli::parse(&args) {
        Ok(cli) => cli,
        Err(ParseError::Settings(error)) => {
            error.print();
            return ExitCode::from(final_exit_code(error.code));
        }
        Err(ParseError::Arguments { error, notes }) => {
            let text = cli::render_error(&error);
            if error.use_stderr() {
                err!("{text}");
                for note in notes {
                    print_notice(&note);
                }
            } else {
                out!("{text}");
            }
            return ExitCode::from(final_exit_code(usage_exit_code(&error, &args)));
        }
    };
    let code = match commands::run(cli.command) {
        Ok(code) => code,
        Err(error) => {
            error.print();
            error.code
        }
    };
    ExitCode::from(final_exit_code(code))
}

/// The exit code of an invalid command line. For a hook, 2 would mean "block the agent", which a mistake in the
/// settings must not do.
fn usage_exit_code(error: &clap::Error, args: &[OsString]) -> u8 {
    match u8::try_from(error.exit_code()) {
        Ok(0) => 0,
        _ if args.get(1).is_some_and(|arg| arg == "hook") => 1,
        code => code.unwrap_or(exit_code::USAGE),
    }
}
