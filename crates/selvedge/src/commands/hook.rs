//! `selvedge hook`: answers the hooks of an agent's program. An exit code of 2 would hold the agent, so no failure of
//! the hook may use it.

use std::io::Read;
use std::path::{Path, PathBuf};

use selvedge_core::config::Flags;

use super::run::is_in_git;
use super::{canonical_directory, environment, load_settings, working_directory};
use crate::cli::HookArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::json;
use crate::stop_gate::{GateAnswer, GateProject, StopGate};
use crate::streams::output_failed;
use crate::terminal::one_line;

/// Exit code if the answer cannot be written: the agent stops.
const EXIT_NOT_WRITTEN: u8 = 1;
/// Size limit for the input, in bytes. The input contains the agent's last message.
const MAX_INPUT_BYTES: u64 = 16 << 20;
/// Maximum length of an error in the message for the user, in characters.
const ERROR_CHARS: usize = 500;

pub(super) fn run(args: &HookArgs) -> u8 {
    let answer = answer(args).unwrap_or_else(|error| {
        error.print();
        let error = one_line(&error.to_plain_text(), ERROR_CHARS);
        GateAnswer::Allow {
            message: format!(
                "Selvedge: NOT VERIFIED: the stop gate failed and does not block the agent: {error}"
            ),
        }
    });
    if let Some(message) = answer.message().filter(|_| !args.agent.shows_messages()) {
        errln!("{message}");
    }
    json::print_json(&args.agent.format_answer(&answer));
    if output_failed() { EXIT_NOT_WRITTEN } else { 0 }
}

fn answer(args: &HookArgs) -> Result<GateAnswer, CliError> {
    let environment = environment();
    let variable = |name: &str| {
        let found = environment.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    };
    let request = args
        .agent
        .parse_request(&read_input()?)
        .map_err(CliError::usage)?;
    if variable("SELVEDGE_RUN_ID").is_some() {
        // The run that started this agent verifies its work.
        return Ok(GateAnswer::Silent);
    }
    let mut project = args.agent.project_variables().iter();
    let project = project.find_map(|name| variable(name)).map(PathBuf::from);
    let dir = args.dir.clone().or(project).or(request.dir);
    let dir = canonical_directory(dir.as_deref())?;
    let home = StateDir::from_environment(&environment)?;
    let gate = StopGate {
        home: &home,
        agent: args.agent,
        session_id: &request.session_id,
        dir: &dir,
        max_refusals: args.max_refusals,
        load_project: &|| load_project(&home, &dir, &environment),
    };
    gate.handle(&request.event)
}

fn load_project(
    home: &StateDir,
    dir: &Path,
    environment: &[(String, String)],
) -> Result<GateProject, CliError> {
    let settings = load_settings(dir, &Flags::default(), environment)?;
    let dir = working_directory(&settings, dir);
    Ok(GateProject {
        in_git: is_in_git(home, &dir)?,
        dir,
        settings: settings.resolved,
    })
}

fn read_input() -> Result<String, CliError> {
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_INPUT_BYTES)
        .read_to_string(&mut text);
    read.map_err(|error| CliError::usage(format!("cannot read the hook's input: {error}")))?;
    Ok(text)
}
