//! `selvedge run`: the main job.

use std::io::Read;
use std::path::Path;

use selvedge_core::model::Task;

use super::{directory, environment, notice, settings, workspace};
use crate::cli::RunArgs;
use crate::error::CliError;
use crate::local::Home;
use crate::settings::{Severity, render};
use crate::{launch, plan};

/// A task larger than this is no task.
const LARGEST_TASK: u64 = 1 << 20;

pub(super) fn run(args: &RunArgs) -> Result<u8, CliError> {
    let environment = environment();
    let mut task = task(args)?;
    let named = args
        .dir
        .as_deref()
        .or(task.workspace.as_deref().map(Path::new));
    let dir = directory(named)?;
    let settings = settings(&dir, &args.flags(), &environment)?;
    let dir = workspace(&settings, &dir);
    let settings = settings.resolved;
    let home = Home::find(&environment)?;
    // Flags outrank what a task object says.
    if args.agent.is_some() || args.agent_cmd.is_some() {
        task.agent = Some(settings.agent.clone());
    }
    if !args.checks.is_empty() {
        task.verification_steps = None;
    }
    if args.retries.is_some() {
        task.max_verification_retries = None;
    }
    task.skip_verification |= args.no_verify;
    let in_git = is_in_git(&home, &dir)?;
    let plan = plan::resolve(&task, &settings, &dir, in_git)?;
    for said in settings.set_by_repository(&plan.spec.agent.name) {
        anstream::eprintln!("{}", render(&said, Severity::Note, false));
    }
    plan.notices.iter().for_each(|text| notice(text));
    launch::begin(&home, plan.spec, args.format)
}

/// Whether there is a git repository to snapshot.
pub(super) fn is_in_git(home: &Home, dir: &Path) -> Result<bool, CliError> {
    Ok(home.workspace(dir).map_err(CliError::usage)?.is_git())
}

fn task(args: &RunArgs) -> Result<Task, CliError> {
    let description = match (&args.task, &args.file) {
        (Some(text), _) => text.clone(),
        (None, Some(path)) => return read_task(path),
        (None, None) => String::new(),
    };
    Ok(Task {
        description,
        ..Task::default()
    })
}

fn read_task(path: &Path) -> Result<Task, CliError> {
    let failed = |error: &dyn std::fmt::Display| {
        CliError::usage(format!(
            "cannot read the task from {}: {error}",
            path.display()
        ))
    };
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(LARGEST_TASK + 1)
            .read_to_string(&mut text)
    } else {
        let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
        file.take(LARGEST_TASK + 1).read_to_string(&mut text)
    };
    let length = read.map_err(|error| failed(&error))?;
    if length as u64 > LARGEST_TASK {
        return Err(failed(&"it is larger than 1 MiB"));
    }
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(&text).map_err(|error| failed(&error));
    }
    Ok(Task {
        description: text.trim_end().to_owned(),
        ..Task::default()
    })
}
