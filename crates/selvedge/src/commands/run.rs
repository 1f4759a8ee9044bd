//! `selvedge run`: runs a task.

use std::collections::BTreeSet;
use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::model::{RunId, Task, VoteStrategy};
use uuid::Uuid;

use super::task_file::read_task;
use super::{
    canonical_directory, environment, fleet, isolated_clone, load_settings, output_options,
    working_directory,
};
use crate::cli::RunArgs;
use crate::error::CliError;
use crate::local::{IsolatedClone, StateDir};
use crate::output::{OutputOptions, print_notice};
use crate::settings::{DiagnosticSeverity, print_diagnostic};
use crate::{launch, resolve};

pub(super) fn run(args: &RunArgs) -> Result<u8, CliError> {
    if let Some(credentials) = fleet::hub_credentials(&args.hub)? {
        return fleet::run(args, &credentials);
    }
    let environment = environment();
    let output = output_options(args.format, &args.reports, &environment)?;
    let mut task = task_from_args(args)?;
    let run_id = RunId::new(Uuid::now_v7());
    let home = StateDir::from_environment(&environment)?;
    let clone = isolated_clone::prepare_clone(args, task.workspace.as_deref(), &home, run_id)?;
    let result = start_run(
        args,
        &mut task,
        clone.as_deref(),
        &home,
        run_id,
        &environment,
        &output,
    );
    if result.is_err() && clone.is_some() {
        isolated_clone::remove_clone_unless_started(&home, run_id);
    }
    result
}

fn start_run(
    args: &RunArgs,
    task: &mut Task,
    clone: Option<&Path>,
    home: &StateDir,
    run_id: RunId,
    environment: &[(String, String)],
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let dir = match clone {
        Some(clone) => clone.to_owned(),
        None => canonical_directory(
            args.dir
                .as_deref()
                .or(task.workspace.as_deref().map(Path::new)),
        )?,
    };
    let settings = load_settings(&dir, &args.flags(), environment)?;
    let dir = working_directory(&settings, &dir);
    let mut settings = settings.resolved;
    settings.setup.in_clone = clone.is_some();
    if clone.is_some() {
        task.repository = IsolatedClone::load(home, run_id)?.map(|clone| clone.address);
        let files = &settings.setup.files;
        isolated_clone::copy_ignored_files(args, task.workspace.as_deref(), home, run_id, files)?;
    }
    apply_flags(args, &settings.agent, task);
    let in_git = is_in_git(home, &dir)?;
    let print_notices = |agent: &str, notices: &[String]| {
        for diagnostic in settings.set_by_repository(agent) {
            print_diagnostic(&diagnostic, DiagnosticSeverity::Note);
        }
        for text in notices {
            print_notice(text);
        }
    };
    if is_best_of(args, task, &settings)? {
        let workspace = home.open_workspace(&dir).map_err(CliError::usage)?;
        let copies = home.copies_dir(run_id);
        let resolved = resolve::best_of_spec(run_id, task, &settings, &workspace, &copies)?;
        print_notices(&settings.agent, &resolved.notices);
        return launch::begin_plan(home, run_id, resolved.spec, output);
    }
    if task.subtasks.is_empty() {
        let resolved = resolve::run_spec(task, &settings, &dir, in_git)?;
        for (index, agent) in resolved.spec.agents().enumerate() {
            print_notices(
                &agent.name,
                if index == 0 { &resolved.notices } else { &[] },
            );
        }
        return launch::begin(home, run_id, &resolved.spec, output);
    }
    let resolved = resolve::plan_spec(run_id, task, &settings, &dir, in_git)?;
    let agents = resolved
        .spec
        .subtasks
        .iter()
        .map(|it| it.spec.agent.name.as_str());
    for (index, agent) in agents.collect::<BTreeSet<_>>().into_iter().enumerate() {
        print_notices(agent, if index == 0 { &resolved.notices } else { &[] });
    }
    launch::begin_plan(home, run_id, resolved.spec, output)
}

/// Whether the task runs as best-of-N: because of the flag, or because its setting of tier 3 is
/// `best_of_n`.
fn is_best_of(args: &RunArgs, task: &Task, settings: &ResolvedConfig) -> Result<bool, CliError> {
    let tier = task.verification_tier.unwrap_or(settings.verification_tier);
    let by_tier = tier == 3 && settings.vote_strategy == VoteStrategy::BestOfN;
    if args.best_of.is_none() && !by_tier {
        return Ok(false);
    }
    if !settings.tier3_enabled {
        return Err(CliError::usage("best-of-N is disabled")
            .hint("set `judging.tier3_enabled`: best-of-N is a form of tier 3"));
    }
    if !task.subtasks.is_empty() {
        return Err(CliError::usage("best-of-N does not support plans")
            .hint("use judges instead: judging.strategy = \"judges\""));
    }
    Ok(true)
}

/// Applies the flags to the task and its subtasks; they override the task object.
fn apply_flags(args: &RunArgs, agent: &str, task: &mut Task) {
    task.skip_verification |= args.no_verify;
    if args.agent.is_some() || args.agent_cmd.is_some() {
        task.agent = Some(agent.to_owned());
        task.subtasks.iter_mut().for_each(|it| it.agent = None);
    }
    if !args.check.checks.is_empty() {
        task.verification_steps = None;
        let parts = task.subtasks.iter_mut();
        parts.for_each(|it| it.verification_steps = None);
    }
    task.add_expected_changes(&args.expect_test_changes);
    if let Some(caps) = &mut task.budget {
        if args.budget.max_cost.is_some() {
            caps.cost_micro_usd = None;
        }
        if args.budget.max_tokens.is_some() {
            caps.tokens = None;
        }
        if args.budget.max_duration.is_some() {
            caps.duration_ms = None;
        }
    }
    if args.retries.is_some() {
        task.max_verification_retries = None;
        let parts = task.subtasks.iter_mut();
        parts.for_each(|it| it.max_verification_retries = None);
    }
}

/// Whether a directory is in a git repository, so that snapshots are possible.
pub(super) fn is_in_git(home: &StateDir, dir: &Path) -> Result<bool, CliError> {
    Ok(home.open_workspace(dir).map_err(CliError::usage)?.is_git())
}

fn task_from_args(args: &RunArgs) -> Result<Task, CliError> {
    match (&args.task, &args.file) {
        (None, Some(path)) => read_task(path),
        (text, _) => Ok(Task {
            description: text.clone().unwrap_or_default(),
            ..Task::default()
        }),
    }
}
