//! `selvedge hook`: runs the checks as an agent's stop hook. An exit code of 2 would block the agent, so no failure of
//! the hook may use it.

use std::io::Read;
use std::path::Path;

use selvedge_core::export::{ReportVerdict, ResultCategory};
use selvedge_core::prompt;

use super::environment;
use super::run_checks::{build_runtime, load_project_checks, run_checks};
use crate::cli::{ClaudeStopArgs, HookCommand};
use crate::error::CliError;
use crate::hook::{BlockCounter, HookCheckResult, HookResponse, StopHookInput, decide_response};
use crate::local::StateDir;
use crate::output::json::{self, JsonReporter};
use crate::streams::output_failed;

/// Exit code if the hook itself fails: shown to the user, and the agent stops.
const EXIT_HOOK_FAILED: u8 = 1;
/// Size limit for the input, in bytes. The input contains the agent's last message.
const MAX_INPUT_BYTES: u64 = 16 << 20;
/// Token limit for all digests together, to save the agent's context.
const DIGEST_TOKENS: usize = 1_000;

pub(super) fn run(command: &HookCommand) -> u8 {
    let HookCommand::ClaudeStop(args) = command;
    match claude_stop(args) {
        Ok(answer) => {
            json::print_json(&answer);
            if output_failed() { EXIT_HOOK_FAILED } else { 0 }
        }
        Err(error) => {
            error.print();
            EXIT_HOOK_FAILED
        }
    }
}

fn claude_stop(args: &ClaudeStopArgs) -> Result<HookResponse, CliError> {
    let environment = environment();
    let stop = StopHookInput::parse(&read_input()?).map_err(CliError::usage)?;
    let variable = |name: &str| {
        let found = environment.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    };
    if variable("SELVEDGE_RUN_ID").is_some() {
        // The run that started this agent verifies its work.
        return Ok(HookResponse::default());
    }
    let project = variable("CLAUDE_PROJECT_DIR").map(Path::new);
    let dir = args.dir.as_deref().or(project).or(stop.cwd.as_deref());
    let home = StateDir::from_environment(&environment)?;
    let counter = BlockCounter::for_session(home.root(), &stop.session_id);
    if !stop.was_blocked_before {
        counter.reset();
    }
    let blocks = counter.count();
    let found = run_hook_checks(dir, &environment)?;
    let reason = match &found {
        HookCheckResult::Failed { reason, .. } => reason.clone(),
        HookCheckResult::Passed(_) | HookCheckResult::NotRun(_) | HookCheckResult::NoChecks => {
            String::new()
        }
    };
    let answer = decide_response(found, blocks, args.max_blocks);
    if !answer.is_blocking() {
        return Ok(answer);
    }
    // Block only if the block can be counted, or if the agent's program reports that it is the first one.
    match counter.store(blocks + 1) {
        Err(error) if stop.was_blocked_before => {
            let why = format!("the number of blocks cannot be stored ({error})");
            Ok(HookResponse::allow_unverified(&reason, &why))
        }
        _ => Ok(answer),
    }
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

fn run_hook_checks(
    dir: Option<&Path>,
    environment: &[(String, String)],
) -> Result<HookCheckResult, CliError> {
    let Some(checks) = load_project_checks(dir, environment)? else {
        return Ok(HookCheckResult::NoChecks);
    };
    let checks = match checks {
        Ok(checks) => checks,
        Err(error) => return Ok(HookCheckResult::NotRun(error.to_string())),
    };
    let progress = JsonReporter::default();
    let report = build_runtime()?.block_on(run_checks(&checks, &progress))?;
    let verdict = ReportVerdict::of_report(&report);
    let reason = verdict.reason;
    Ok(match verdict.category {
        ResultCategory::Verified => HookCheckResult::Passed(reason),
        ResultCategory::Unchecked => HookCheckResult::NoChecks,
        ResultCategory::NotVerified => HookCheckResult::Failed {
            feedback: prompt::feedback(&report, DIGEST_TOKENS),
            reason,
        },
        ResultCategory::NotJudged => HookCheckResult::NotRun(reason),
    })
}
