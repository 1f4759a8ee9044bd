//! The dashboard's view of the local journal. It only reads; what a person decides in a review is
//! carried out by `selvedge review`, a program of its own as if they had typed it.

mod held;
mod known;
mod link;
mod reading;
mod review;
mod rows;

use std::path::PathBuf;

use selvedge_core::model::RunId;
use selvedge_face::stats::RunFacts;
use selvedge_store::{Journal, RunFilter, RunSummary, SqliteJournal};

use self::known::Known;
use crate::error::CliError;
use crate::local::Home;

pub(crate) use link::OneLink;
pub(crate) use reading::LocalReading;

/// What is known of every run, for the statistics.
pub(crate) fn facts(
    home: &Home,
    journal: &SqliteJournal,
    workspace: Option<PathBuf>,
) -> Result<Vec<RunFacts>, CliError> {
    let filter = RunFilter {
        workspace,
        ..RunFilter::default()
    };
    let runs = all_runs(journal, &filter)?;
    facts_of(home, journal, &runs, &mut Known::read(home.root()))
}

/// All runs that a filter lets through, the newest first.
fn all_runs(journal: &SqliteJournal, filter: &RunFilter) -> Result<Vec<RunSummary>, CliError> {
    let runs = journal.runs(filter, usize::from(u16::MAX) * 16, None);
    runs.map_err(CliError::infrastructure)
}

/// What is known of these runs, without looking again at those that are as they were.
fn facts_of(
    home: &Home,
    journal: &SqliteJournal,
    runs: &[RunSummary],
    known: &mut Known,
) -> Result<Vec<RunFacts>, CliError> {
    let mut facts = Vec::with_capacity(runs.len());
    for run in runs {
        facts.extend(fact(home, journal, run.run_id, run.last_seq, known)?);
    }
    known.keep();
    Ok(facts)
}

/// Of one run; nothing of a plan, which is made of runs.
fn fact(
    home: &Home,
    journal: &SqliteJournal,
    run: RunId,
    last_seq: u64,
    known: &mut Known,
) -> Result<Option<RunFacts>, CliError> {
    if let Some(facts) = known.of(run, last_seq) {
        return Ok(facts.clone());
    }
    let state = home.replay(journal, run)?;
    let facts = state.run.as_ref().map(RunFacts::of);
    known.remember(run, last_seq, facts.clone());
    Ok(facts)
}
