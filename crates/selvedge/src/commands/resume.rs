//! `selvedge resume`: goes on with a run from its journal alone.

use selvedge_store::{RunSummary, Standing};

use super::{environment, output, runs_here};
use crate::cli::ResumeArgs;
use crate::error::CliError;
use crate::launch;
use crate::local::Home;

pub(super) fn run(args: &ResumeArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = output(args.format, &args.reports, &environment)?;
    let home = Home::find(&environment)?;
    let journal = home.journal_to_read()?;
    let (run, others) = if let Some(name) = &args.run {
        (home.find_run(&journal, name)?, None)
    } else {
        let here = runs_here(&home, &journal)?;
        let latest = here.latest()?;
        let others = (!is_resumable(latest)).then(|| here.named(is_resumable));
        (latest.run_id, others.flatten())
    };
    let state = home.replay(&journal, run)?;
    drop(journal);
    launch::resume(&home, state, &output).map_err(|error| match others {
        None => error,
        Some(others) => error.hint(format!(
            "it is the latest run of this directory; these can be resumed: {others}"
        )),
    })
}

fn is_resumable(run: &RunSummary) -> bool {
    matches!(run.standing, Standing::Open | Standing::Suspended)
}
