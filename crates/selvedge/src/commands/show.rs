//! `selvedge show`: the details of a run; on request its diff, prompts and stored outputs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

use anstream::adapter::strip_str;
use selvedge_core::export::ReportInput;
use selvedge_core::model::{OutputRef, RunId, RunResult, exit_code};
use selvedge_core::plan::Plan;
use selvedge_core::run::{Attempt, Run};
use selvedge_core::sanitize::sanitize_text;
use selvedge_engine::workspace::DiffOptions;
use selvedge_store::{Journal, RunFilter, SqliteJournal};

use super::{environment, fleet, resolve_run, workspace_runs};
use crate::cli::ShowArgs;
use crate::error::CliError;
use crate::local::{StateDir, run_results};
use crate::output::run_details::{self, DetailOptions};
use crate::output::{self, OutputFormat, json};
use crate::streams::write_output;

pub(super) fn run(args: &ShowArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = super::output_options(args.format, &args.reports, &environment)?;
    if let Some(account) = fleet::hub_credentials(&args.hub)? {
        if !output.reports.is_empty() {
            return Err(
                CliError::usage("reports cannot be written for a hub's runs")
                    .hint("use --format json to show all data of the hub"),
            );
        }
        return fleet::show(args, &account);
    }
    let home = StateDir::from_environment(&environment)?;
    if args.run.is_none() && output.reports.is_empty() && has_no_runs(&home)? {
        return Ok(show_nothing(
            args.format,
            "no runs yet; try `selvedge demo`",
        ));
    }
    let journal = home.open_journal_read_only()?;
    // `show` is read-only, so it may fall back to the newest run of all if this directory has none.
    let is_elsewhere = args.run.is_none() && workspace_runs(&home, &journal)?.latest().is_err();
    let name = args.run.as_deref().or(is_elsewhere.then_some("last"));
    let run_id = resolve_run(&home, &journal, name)?;
    if args.format == OutputFormat::Jsonl && output.reports.is_empty() {
        return print_events(&journal, run_id);
    }
    let state = home.replay(&journal, run_id)?;
    let runs = match &state.plan {
        Some(plan) => home.subtask_runs(&journal, plan)?,
        None => BTreeMap::new(),
    };
    let result = state
        .plan
        .as_ref()
        .map(|plan| plan.result(&run_results(&runs)));
    let (account, dir) = match (&state.plan, &result, &state.run) {
        (Some(plan), Some(result), _) => (
            ReportInput::of_plan(result, &plan.spec.description, &runs),
            &plan.spec.workspace,
        ),
        (_, _, Some(run)) => (ReportInput::of_run(run), &run.spec.workspace),
        _ => return Err(later_release_error(run_id)),
    };
    let attestation = &output.reports.attestation;
    let code = if let Some(run) = &state.run {
        attestation.write_for_run(exit_code::VERIFIED, run, &home)
    } else {
        attestation.ensure_not_plan()?;
        exit_code::VERIFIED
    };
    let code = output.reports.write(code, &account, &home, dir);
    if code != exit_code::VERIFIED || output.reports.uses_stdout() {
        return Ok(code);
    }
    if args.format == OutputFormat::Jsonl {
        return print_events(&journal, run_id);
    }
    match (&state.plan, &state.run) {
        (Some(plan), _) => show_plan(args, plan, &run_results(&runs)),
        (None, Some(run)) => show_run(args, &home, run, &state.unknown),
        (None, None) => Ok(exit_code::VERIFIED),
    }
}

fn has_no_runs(home: &StateDir) -> Result<bool, CliError> {
    let Some(journal) = home.open_existing_journal()? else {
        return Ok(true);
    };
    let newest = journal.runs(&RunFilter::default(), 1, None);
    Ok(newest.map_err(CliError::infrastructure)?.is_empty())
}

/// Reports that there is nothing to show, which is not an error.
pub(super) fn show_nothing(format: OutputFormat, message: &str) -> u8 {
    errln!("{message}");
    if format == OutputFormat::Json {
        json::print_json(&serde_json::Map::new());
    }
    exit_code::VERIFIED
}

fn show_run(
    args: &ShowArgs,
    home: &StateDir,
    run: &Run,
    unknown: &[String],
) -> Result<u8, CliError> {
    let attempt = requested_attempt(args, run)?;
    if let (Some(attempt), true) = (attempt, args.check.is_some() || args.transcript) {
        let output = stored_output(attempt, args.check)?;
        return print_stored_output(&home.run_dir(run.run_id), output);
    }
    if args.diff {
        return print_diff(home, run, attempt);
    }
    let detail = DetailOptions {
        attempt: args.attempt,
        prompt: args.prompt,
    };
    match args.format {
        OutputFormat::Human => out!("{}", run_details::format_run(run, detail)),
        OutputFormat::Json | OutputFormat::Jsonl => {
            json::print_json(&run_details::run_json(run, detail));
        }
    }
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        errln!(
            "events of a newer release are not shown: {}",
            sanitize_text(&unknown)
        );
    }
    Ok(exit_code::VERIFIED)
}

fn show_plan(
    args: &ShowArgs,
    plan: &Plan,
    runs: &BTreeMap<RunId, RunResult>,
) -> Result<u8, CliError> {
    if args.attempt.is_some() || args.diff || args.check.is_some() || args.transcript {
        let error = CliError::usage("a plan has no attempts of its own; each subtask has a run");
        return Err(error.hint("`selvedge show RUN` without other options lists the runs"));
    }
    match args.format {
        OutputFormat::Human => out!("{}", output::plan::format_plan(plan, runs)),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&plan.result(runs)),
    }
    Ok(exit_code::VERIFIED)
}

/// Formats the details of a run or a plan as plain text, without styles.
pub(super) fn run_details_text(run: &str, number: Option<u32>) -> Result<String, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let run_id = home.find_run(&journal, run)?;
    let state = home.replay(&journal, run_id)?;
    if let Some(plan) = &state.plan {
        let runs = run_results(&home.subtask_runs(&journal, plan)?);
        return Ok(strip_str(&output::plan::format_plan(plan, &runs)).to_string());
    }
    let run = state
        .run
        .as_ref()
        .ok_or_else(|| later_release_error(run_id))?;
    if let Some(number) = number {
        find_attempt(run, number)?;
    }
    let detail = DetailOptions {
        attempt: number,
        prompt: false,
    };
    Ok(strip_str(&run_details::format_run(run, detail)).to_string())
}

fn later_release_error(run_id: RunId) -> CliError {
    let short = run_id.short();
    CliError::usage(format!("run {short} was written by a newer release"))
        .hint("use --format jsonl to print its raw events")
}

fn print_events(journal: &SqliteJournal, run_id: RunId) -> Result<u8, CliError> {
    for envelope in journal.events(run_id, 0) {
        json::print_json(&envelope.map_err(CliError::infrastructure)?);
    }
    Ok(exit_code::VERIFIED)
}

pub(super) fn find_attempt(run: &Run, number: u32) -> Result<&Attempt, CliError> {
    run.attempt(number).ok_or_else(|| {
        let count = run.attempts.len();
        CliError::usage(format!(
            "attempt {number} does not exist: the run has {count}"
        ))
    })
}

/// The attempt that the arguments mean. Stored outputs belong to an attempt: without a number, to the only one.
pub(super) fn requested_attempt<'a>(
    args: &ShowArgs,
    run: &'a Run,
) -> Result<Option<&'a Attempt>, CliError> {
    if let Some(number) = args.attempt {
        return find_attempt(run, number).map(Some);
    }
    if args.check.is_none() && !args.transcript {
        return Ok(None);
    }
    match &run.attempts[..] {
        [] => Err(CliError::usage("the run has no attempts yet")),
        [only] => Ok(Some(only)),
        several => Err(
            CliError::usage(format!("the run has {} attempts", several.len()))
                .hint("name one with `--attempt N`"),
        ),
    }
}

/// Prints the changes of one attempt, or of all attempts together.
fn print_diff(home: &StateDir, run: &Run, attempt: Option<&Attempt>) -> Result<u8, CliError> {
    let last = run.attempts.iter().rev().find_map(|it| it.tree.clone());
    let (from, to) = match attempt {
        Some(attempt) => (attempt.from_tree.clone(), attempt.tree.clone()),
        None => (run.start_tree.clone(), last),
    };
    let (Some(from), Some(to)) = (from, to) else {
        return Err(CliError::usage("no snapshots are stored to compare")
            .hint("snapshots need a git repository and a completed attempt"));
    };
    let compare = || {
        let workspace = home.open_workspace(&run.spec.workspace)?;
        workspace.diff(&from, &to, DiffOptions::default())
    };
    let diff = compare().map_err(CliError::infrastructure)?;
    print_bytes(&diff.bytes);
    if diff.truncated {
        errln!("the diff is truncated: only its first part is shown");
    }
    Ok(exit_code::VERIFIED)
}

/// The stored output of a check, or of the agent if no check is named.
pub(super) fn stored_output(
    attempt: &Attempt,
    check: Option<usize>,
) -> Result<&OutputRef, CliError> {
    let number = attempt.attempt_number;
    let output = match check {
        None => attempt
            .session
            .as_ref()
            .and_then(|session| session.transcript.as_ref()),
        Some(check) => {
            let checks = attempt.report.as_ref().map(|report| &report.checks);
            let check_report = checks.and_then(|checks| checks.get(check.checked_sub(1)?));
            let check_report = check_report.ok_or_else(|| {
                let count = checks.map_or(0, Vec::len);
                CliError::usage(format!(
                    "check {check} does not exist: attempt {number} has {count}"
                ))
            })?;
            check_report.output_ref.as_ref()
        }
    };
    output
        .ok_or_else(|| CliError::usage(format!("no output of attempt {number} is stored for that")))
}

/// Prints a stored output: unchanged, or sanitized for a terminal.
fn print_stored_output(run_dir: &Path, output: &OutputRef) -> Result<u8, CliError> {
    let failed = |error: std::io::Error| {
        CliError::infrastructure(format!("cannot read {}: {error}", output.file))
    };
    let mut file = File::open(run_dir.join(&output.file)).map_err(failed)?;
    let mut chunk = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut chunk).map_err(failed)?;
        let bytes = chunk.get(..length).unwrap_or_default();
        if bytes.is_empty() || !print_bytes(bytes) {
            return Ok(exit_code::VERIFIED);
        }
    }
}

/// Prints untrusted bytes: unchanged, or sanitized for a terminal. Returns `false` if standard output accepts no more.
pub(super) fn print_bytes(bytes: &[u8]) -> bool {
    if std::io::stdout().is_terminal() {
        let text = sanitize_text(&String::from_utf8_lossy(bytes));
        return write_output(text.as_bytes());
    }
    write_output(bytes)
}
