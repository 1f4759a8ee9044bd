//! The dashboard of the local journal. It only reads; a review is carried out by the command `selvedge review`.

mod held_locks;
mod local_backend;
mod login_link;
mod review;
mod rows;
mod run_stats_cache;

use std::path::PathBuf;

use selvedge_core::model::RunId;
use selvedge_dashboard::stats::RunStats;
use selvedge_store::{Journal, RunFilter, RunSummary, SqliteJournal};

use self::run_stats_cache::RunStatsCache;
use crate::error::CliError;
use crate::local::StateDir;

pub(crate) use local_backend::LocalBackend;
pub(crate) use login_link::OneTimeLoginLink;

/// The statistics of all runs.
pub(crate) fn load_facts(
    home: &StateDir,
    journal: &SqliteJournal,
    workspace: Option<PathBuf>,
) -> Result<Vec<RunStats>, CliError> {
    let filter = RunFilter {
        workspace,
        ..RunFilter::default()
    };
    let runs = all_runs(journal, &filter)?;
    facts_of_runs(home, journal, &runs, &mut RunStatsCache::load(home.root()))
}

/// All runs that match a filter, newest first.
fn all_runs(journal: &SqliteJournal, filter: &RunFilter) -> Result<Vec<RunSummary>, CliError> {
    let runs = journal.runs(filter, usize::from(u16::MAX) * 16, None);
    runs.map_err(CliError::infrastructure)
}

/// The statistics of these runs; only runs with new events are read from the journal.
fn facts_of_runs(
    home: &StateDir,
    journal: &SqliteJournal,
    runs: &[RunSummary],
    cache: &mut RunStatsCache,
) -> Result<Vec<RunStats>, CliError> {
    let mut facts = Vec::with_capacity(runs.len());
    for run in runs {
        facts.extend(facts_of_run(
            home,
            journal,
            run.run_id,
            run.last_seq,
            cache,
        )?);
    }
    cache.save();
    Ok(facts)
}

/// The statistics of one run; `None` for a plan.
fn facts_of_run(
    home: &StateDir,
    journal: &SqliteJournal,
    run: RunId,
    last_seq: u64,
    cache: &mut RunStatsCache,
) -> Result<Option<RunStats>, CliError> {
    if let Some(facts) = cache.get(run, last_seq) {
        return Ok(facts.clone());
    }
    let state = home.replay(journal, run)?;
    let facts = state.run.as_ref().map(RunStats::from_run);
    cache.insert(run, last_seq, facts.clone());
    Ok(facts)
}
