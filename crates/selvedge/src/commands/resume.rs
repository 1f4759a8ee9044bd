//! `selvedge resume`: resumes a run from its journal alone.

use selvedge_store::{RunStatus, RunSummary};

use super::{environment, output_options, workspace_runs};
use crate::cli::ResumeArgs;
use crate::error::CliError;
use crate::launch;
use crate::local::StateDir;

pub(super) fn run(args: &ResumeArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = output_options(args.format, &args.reports, &environment)?;
    let home = StateDir::from_environment(&environment)?;
    let journal = home.open_journal_read_only()?;
    let (run, others) = if let Some(name) = &args.run {
        (home.find_run(&journal, name)?, None)
    } else {
        let runs = workspace_runs(&home, &journal)?;
        let latest = runs.latest()?;
        let others = (!is_resumable(latest)).then(|| runs.list_matching(is_resumable));
        (latest.run_id, others.flatten())
    };
    let state = home.replay(&journal, run)?;
    drop(journal);
    launch::resume(&home, state, &output).map_err(|error| match others {
        None => error,
        Some(others) => error.hint(format!(
            "it is the latest run of this directory; resumable runs: {others}"
        )),
    })
}

fn is_resumable(run: &RunSummary) -> bool {
    matches!(run.status, RunStatus::Open | RunStatus::Suspended)
}
