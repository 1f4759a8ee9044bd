//! `selvedge resume`: goes on with a run from its journal alone.

use super::{environment, output};
use crate::cli::ResumeArgs;
use crate::error::CliError;
use crate::launch;
use crate::local::Home;

pub(super) fn run(args: &ResumeArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = output(args.format, &args.reports, &environment)?;
    let home = Home::find(&environment)?;
    let journal = home.journal_to_read()?;
    let run = home.find_run(&journal, &args.run)?;
    let state = home.replay(&journal, run)?;
    drop(journal);
    launch::resume(&home, state, &output)
}
