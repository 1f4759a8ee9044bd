//! `selvedge hook`: the checks as an agent's hook. An exit code of 2 would hold the agent back, so
//! nothing that goes wrong in here may have it.

use std::io::Read;
use std::path::Path;

use selvedge_core::export::{Standing, Verdict};
use selvedge_core::prompt;

use super::environment;
use super::once::{checks_of, once, runtime};
use crate::cli::{ClaudeStopArgs, HookCommand};
use crate::error::CliError;
use crate::hook::{Answer, Found, Memory, Stop, answer};
use crate::local::Home;
use crate::output::json::{self, Machine};
use crate::streams::output_failed;

/// Exits with this when the hook itself fails: shown to the person, and the agent stops.
const HOOK_FAILED: u8 = 1;
/// An input larger than this is none. The agent's last message is part of it.
const LARGEST_INPUT: u64 = 16 << 20;
/// What all digests together may cost the agent's context.
const DIGEST_TOKENS: usize = 1_000;

pub(super) fn run(command: &HookCommand) -> u8 {
    let HookCommand::ClaudeStop(args) = command;
    match claude_stop(args) {
        Ok(answer) => {
            json::print(&answer);
            if output_failed() { HOOK_FAILED } else { 0 }
        }
        Err(error) => {
            error.print();
            HOOK_FAILED
        }
    }
}

fn claude_stop(args: &ClaudeStopArgs) -> Result<Answer, CliError> {
    let environment = environment();
    let stop = Stop::read(&input()?).map_err(CliError::usage)?;
    let variable = |name: &str| {
        let found = environment.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    };
    if variable("SELVEDGE_RUN_ID").is_some() {
        // The run that started this agent checks its work itself.
        return Ok(Answer::default());
    }
    let project = variable("CLAUDE_PROJECT_DIR").map(Path::new);
    let dir = args.dir.as_deref().or(project).or(stop.cwd.as_deref());
    let home = Home::find(&environment)?;
    let memory = Memory::of(home.root(), &stop.session_id);
    if !stop.held_back_before {
        memory.clear();
    }
    let blocks = memory.blocks();
    let found = look(dir, &environment)?;
    let reason = match &found {
        Found::Fails { reason, .. } => reason.clone(),
        Found::Holds(_) | Found::NotRun(_) | Found::Nothing => String::new(),
    };
    let answer = answer(found, blocks, args.max_blocks);
    if !answer.is_block() {
        return Ok(answer);
    }
    // Held back only when it is counted, or when the agent's program itself knows that it is the first time.
    match memory.write(blocks + 1) {
        Err(error) if stop.held_back_before => {
            let why = format!("how often cannot be counted ({error})");
            Ok(Answer::give_up(&reason, &why))
        }
        _ => Ok(answer),
    }
}

fn input() -> Result<String, CliError> {
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(LARGEST_INPUT)
        .read_to_string(&mut text);
    read.map_err(|error| CliError::usage(format!("cannot read the hook's input: {error}")))?;
    Ok(text)
}

fn look(dir: Option<&Path>, environment: &[(String, String)]) -> Result<Found, CliError> {
    let Some(checks) = checks_of(dir, environment)? else {
        return Ok(Found::Nothing);
    };
    let checks = match checks {
        Ok(checks) => checks,
        Err(error) => return Ok(Found::NotRun(error.to_string())),
    };
    let progress = Machine { events: false };
    let report = runtime()?.block_on(once(&checks, &progress))?;
    let verdict = Verdict::of_report(&report);
    let reason = verdict.reason;
    Ok(match verdict.standing {
        Standing::Verified => Found::Holds(reason),
        Standing::Unchecked => Found::Nothing,
        Standing::NotVerified => Found::Fails {
            feedback: prompt::feedback(&report, DIGEST_TOKENS),
            reason,
        },
        Standing::NotJudged => Found::NotRun(reason),
    })
}
