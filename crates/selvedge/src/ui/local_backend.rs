//! The dashboard's backend for the local journal. Blocking work runs on a thread pool; summaries and statistics are
//! cached until the journal's files change.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use parking_lot::Mutex;
use selvedge_core::model::{OutputRef, RunId};
use selvedge_core::run::Run;
use selvedge_dashboard::backend::{
    AllowedActions, DashboardBackend, DashboardError, DashboardFuture, DashboardUser, DiffContent,
    DiffRange, DisplayStatus, FleetOverview, LiveActivity, OutputSlice, ReviewSubmission,
    TaskDetail, TaskHistory, TaskList, TaskListItem, TaskQuery, filter_tasks,
};
use selvedge_dashboard::command::run_again;
use selvedge_dashboard::stats::RunStats;
use selvedge_engine::workspace::DiffOptions;
use selvedge_store::{Journal, RunFilter, SqliteJournal};

use super::held_locks::HeldLocks;
use super::rows::{apply_stats, row};
use super::run_stats_cache::RunStatsCache;
use super::{all_runs, facts_of_run, facts_of_runs, review};
use crate::error::CliError;
use crate::local::StateDir;

#[derive(Clone)]
pub(crate) struct LocalBackend {
    inner: Arc<LocalBackendState>,
}

struct LocalBackendState {
    home: StateDir,
    cache: Mutex<JournalCache>,
}

/// A reader of the journal, and what it has read.
#[derive(Default)]
struct JournalCache {
    journal: Option<SqliteJournal>,
    rows: Option<(String, Arc<ListedRuns>)>,
    run_facts: RunStatsCache,
}

/// The runs of the list.
#[derive(Default)]
struct ListedRuns {
    rows: Vec<TaskListItem>,
    /// The statistics of the runs, by their ids.
    stats: HashMap<String, RunStats>,
    /// Whether statistics are missing, because they take long to compute.
    is_partial: bool,
}

/// Number of runs that are processed before the cache's lock is released.
const RUNS_PER_BATCH: usize = 32;
/// Maximum number of runs whose statistics are computed for one request of the list.
const MAX_COMPUTED: usize = 500;
/// Size limit for a diff.
const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;

impl LocalBackend {
    /// Creates a backend for a state directory, which may not contain a journal yet.
    pub(crate) fn new(home: StateDir) -> Result<Self, CliError> {
        fs::create_dir_all(home.root()).map_err(|error| {
            CliError::infrastructure(format!("cannot use {}: {error}", home.root().display()))
        })?;
        let cache = Mutex::default();
        Ok(Self {
            inner: Arc::new(LocalBackendState { home, cache }),
        })
    }

    /// Runs blocking work on the thread pool.
    fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LocalBackendState) -> Result<T, DashboardError> + Send + 'static,
    ) -> DashboardFuture<'static, T> {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || work(&inner));
        Box::pin(async move { done.await.map_err(DashboardError::failed)? })
    }
}

impl LocalBackendState {
    /// A value that changes with the journal's files and the set of running runs.
    fn change_token(&self) -> String {
        let of = |name: &str| {
            let metadata = fs::metadata(self.home.root().join(name)).ok();
            metadata.map(|it| (it.mtime(), it.mtime_nsec(), it.len()))
        };
        let files = ["journal.db", "journal.db-wal"].map(of);
        let locks = fs::read_dir(self.home.root().join("locks"));
        let held = HeldLocks::read_current();
        let locks = locks.into_iter().flatten().flatten();
        let running: Vec<String> = locks
            .filter_map(|lock| held.holder_of(&lock.path()))
            .collect();
        format!("{files:?}{running:?}")
    }

    /// Runs `work` on the journal; returns the default value if there is no journal yet.
    fn with_journal<T: Default>(
        &self,
        work: impl FnOnce(&SqliteJournal, &mut RunStatsCache) -> Result<T, CliError>,
    ) -> Result<T, DashboardError> {
        let mut cache = self.cache.lock();
        let JournalCache {
            journal,
            run_facts: run_stats,
            ..
        } = &mut *cache;
        if journal.is_none() {
            *journal = self.home.open_journal_read_only().ok();
            *run_stats = RunStatsCache::load(self.home.root());
        }
        match journal {
            Some(journal) => work(journal, run_stats).map_err(DashboardError::failed),
            None => Ok(T::default()),
        }
    }

    /// All runs with their statistics, as far as these are cached or quickly computed.
    fn rows(&self) -> Result<Arc<ListedRuns>, DashboardError> {
        let token = self.change_token();
        if let Some((of, rows)) = &self.cache.lock().rows
            && *of == token
        {
            return Ok(Arc::clone(rows));
        }
        let runs = self.with_journal(|journal, _| all_runs(journal, &RunFilter::default()))?;
        let held = HeldLocks::read_current();
        let rows = runs.iter().map(|run| row(run, self.home.root(), &held));
        let mut listed = ListedRuns {
            rows: rows.collect(),
            ..ListedRuns::default()
        };
        let mut computed = 0;
        for (some, rows) in runs
            .chunks(RUNS_PER_BATCH)
            .zip(listed.rows.chunks_mut(RUNS_PER_BATCH))
        {
            self.with_journal(|journal, cache| {
                for (run, row) in some.iter().zip(rows) {
                    let is_known = cache.get(run.run_id, run.last_seq).is_some();
                    if !is_known && computed >= MAX_COMPUTED {
                        listed.is_partial = true;
                        continue;
                    }
                    computed += usize::from(!is_known);
                    let stats = facts_of_run(&self.home, journal, run.run_id, run.last_seq, cache)?;
                    if let Some(stats) = stats {
                        apply_stats(row, &stats);
                        listed.stats.insert(row.id.clone(), stats);
                    }
                }
                cache.save();
                Ok(())
            })?;
        }
        let listed = Arc::new(listed);
        // The statistics of the other runs are computed with the next requests.
        if !listed.is_partial {
            self.cache.lock().rows = Some((token, Arc::clone(&listed)));
        }
        Ok(listed)
    }

    fn tasks(&self, query: &TaskQuery) -> Result<TaskList, DashboardError> {
        let listed = self.rows()?;
        Ok(filter_tasks(&listed.rows, query, |id| listed.stats.get(id)))
    }

    fn facts(&self) -> Result<Vec<RunStats>, DashboardError> {
        let runs = self.with_journal(|journal, _| all_runs(journal, &RunFilter::default()))?;
        let mut facts = Vec::with_capacity(runs.len());
        // In batches, so that requests for other pages do not wait for all runs.
        for some in runs.chunks(RUNS_PER_BATCH) {
            let some = self.with_journal(|journal, run_stats| {
                facts_of_runs(&self.home, journal, some, run_stats)
            });
            facts.extend(some?);
        }
        Ok(facts)
    }

    fn task(&self, id: &str) -> Result<TaskDetail, DashboardError> {
        let unknown = || DashboardError::NotFound(format!("run `{id}` not found"));
        let home = &self.home;
        let held = HeldLocks::read_current();
        let found = self.with_journal(|journal, _| {
            let run = home.find_run(journal, id);
            // An unknown run is not an internal error.
            let Ok(run) = run else { return Ok(None) };
            let summary = journal.summary(run).map_err(CliError::infrastructure)?;
            let Some(summary) = summary else {
                return Ok(None);
            };
            let state = home.replay(journal, run)?;
            let runs = match &state.plan {
                Some(plan) => home.subtask_runs(journal, plan)?,
                None => BTreeMap::new(),
            };
            Ok(Some((row(&summary, home.root(), &held), state, runs)))
        })?;
        let (mut row, state, runs) = found.ok_or_else(unknown)?;
        if let Some(run) = &state.run {
            apply_stats(&mut row, &RunStats::from_run(run));
        }
        let description = match (&state.plan, &state.run) {
            (Some(plan), _) => plan.spec.description.clone(),
            (None, Some(run)) => run.spec.description.clone(),
            (None, None) => row.description.clone(),
        };
        let mut commands = vec![next_command(row.status, &row.short)];
        let again = state.run.as_ref().filter(|run| run.spec.part_of.is_none());
        commands.extend(again.map(|run| ("Run again", run_again(&run.spec))));
        let live = state.run.as_ref().and_then(|run| self.live(run));
        let live = live.map_or(LiveActivity::Unknown, |(run, output)| {
            LiveActivity::Transcript(run, output)
        });
        let review = review::pending_review(&state, &runs);
        let is_best_of = state
            .plan
            .as_ref()
            .is_some_and(|it| it.spec.best_of_floor.is_some());
        let history = match (state.plan, state.run) {
            (Some(plan), _) => TaskHistory::Plan {
                plan: Box::new(plan),
                runs,
            },
            (None, Some(run)) => TaskHistory::Run(Box::new(run)),
            (None, None) => TaskHistory::NotStarted,
        };
        Ok(TaskDetail {
            description,
            unknown: state.unknown,
            facts: vec![("Run".to_owned(), row.id.clone())],
            review,
            rights: AllowedActions {
                review: row.status == DisplayStatus::NeedsReview,
                another_attempt: !is_best_of,
                ..AllowedActions::default()
            },
            commands,
            live,
            sandbox: String::new(),
            history,
            row,
        })
    }

    /// The output of the session that is running.
    fn live(&self, run: &Run) -> Option<(RunId, OutputRef)> {
        let attempt = run.open_attempt()?;
        let file = format!("attempt-{}.stdout", attempt.attempt_number);
        let metadata = fs::metadata(self.home.run_dir(run.run_id).join(&file)).ok()?;
        let output = OutputRef {
            file,
            bytes: metadata.len(),
            left_out: 0,
        };
        Some((run.run_id, output))
    }

    fn output(
        &self,
        run: RunId,
        name: &str,
        from: u64,
        length: usize,
    ) -> Result<OutputSlice, DashboardError> {
        // Invariant: only files of the run's directory are read. The name comes from the journal, so it is checked.
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        let missing = || DashboardError::NotFound("the output is no longer stored".to_owned());
        let path = self.home.run_dir(run).join(name);
        let metadata = fs::symlink_metadata(&path).map_err(|_| missing())?;
        if !plain || !metadata.is_file() {
            return Err(missing());
        }
        let mut file = File::open(&path).map_err(DashboardError::failed)?;
        file.seek(SeekFrom::Start(from))
            .map_err(DashboardError::failed)?;
        let mut bytes = Vec::new();
        let limit = u64::try_from(length).unwrap_or(u64::MAX);
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(DashboardError::failed)?;
        Ok(OutputSlice {
            bytes,
            total: metadata.len(),
        })
    }

    fn diff(&self, run: &Run, between: DiffRange) -> Result<DiffContent, DashboardError> {
        let none = || DashboardError::NotFound("no snapshots are stored to compare".to_owned());
        let (from, to) = compared_trees(run, between).ok_or_else(none)?;
        let compare = || {
            let workspace = self.home.open_workspace(&run.spec.workspace)?;
            let options = DiffOptions {
                max_bytes: MAX_DIFF_BYTES,
                ..DiffOptions::default()
            };
            workspace.diff(&from, &to, options)
        };
        let diff = compare().map_err(DashboardError::failed)?;
        Ok(DiffContent {
            bytes: diff.bytes,
            truncated: diff.truncated,
        })
    }
}

/// The trees to compare.
fn compared_trees(
    run: &Run,
    between: DiffRange,
) -> Option<(selvedge_core::model::TreeId, selvedge_core::model::TreeId)> {
    match between {
        DiffRange::Attempt(number) => {
            let attempt = run.attempt(number)?;
            Some((attempt.from_tree.clone()?, attempt.tree.clone()?))
        }
        DiffRange::SinceStart(number) => {
            Some((run.start_tree.clone()?, run.attempt(number)?.tree.clone()?))
        }
        DiffRange::Whole => {
            let current_tree = run.current_attempt()?.tree.clone()?;
            Some((run.start_tree.clone()?, current_tree))
        }
    }
}

/// The next command for a run, with its label.
fn next_command(status: DisplayStatus, short: &str) -> (&'static str, String) {
    match status {
        DisplayStatus::Interrupted | DisplayStatus::Suspended => {
            ("Resume", format!("selvedge resume {short}"))
        }
        DisplayStatus::NeedsReview => ("Accept", format!("selvedge review {short} --accept")),
        _ => ("Show in a terminal", format!("selvedge show {short}")),
    }
}

impl DashboardBackend for LocalBackend {
    fn tasks<'a>(
        &'a self,
        _: &'a DashboardUser,
        query: &'a TaskQuery,
    ) -> DashboardFuture<'a, TaskList> {
        let query = query.clone();
        self.run_blocking(move |inner| inner.tasks(&query))
    }

    fn task<'a>(&'a self, _: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, TaskDetail> {
        let id = id.to_owned();
        self.run_blocking(move |inner| inner.task(&id))
    }

    fn output<'a>(
        &'a self,
        _: &'a TaskDetail,
        run: RunId,
        output: &'a OutputRef,
        from: u64,
        length: usize,
    ) -> DashboardFuture<'a, OutputSlice> {
        let name = output.file.clone();
        self.run_blocking(move |inner| inner.output(run, &name, from, length))
    }

    fn diff<'a>(
        &'a self,
        task: &'a TaskDetail,
        between: DiffRange,
    ) -> DashboardFuture<'a, DiffContent> {
        let TaskHistory::Run(run) = task.history.clone() else {
            let error = DashboardError::NotFound("a plan has no snapshots of its own".to_owned());
            return Box::pin(async { Err(error) });
        };
        self.run_blocking(move |inner| inner.diff(&run, between))
    }

    fn run_stats<'a>(&'a self, _: &'a DashboardUser) -> DashboardFuture<'a, Vec<RunStats>> {
        self.run_blocking(LocalBackendState::facts)
    }

    fn fleet<'a>(&'a self, _: &'a DashboardUser) -> DashboardFuture<'a, Option<FleetOverview>> {
        Box::pin(async { Ok(None) })
    }

    fn change_token<'a>(
        &'a self,
        _: &'a DashboardUser,
        task: Option<&'a str>,
    ) -> DashboardFuture<'a, String> {
        let task = task.and_then(|id| id.parse::<RunId>().ok());
        self.run_blocking(move |inner| {
            let mut token = inner.change_token();
            if let Some(run) = task {
                // New output of the task's session also counts as a change.
                let printed = fs::read_dir(inner.home.run_dir(run)).into_iter().flatten();
                let sizes = printed.flatten().filter_map(|file| file.metadata().ok());
                let bytes: u64 = sizes.map(|metadata| metadata.len()).sum();
                token.push_str(&bytes.to_string());
            }
            Ok(short_hash(&token))
        })
    }

    fn review<'a>(
        &'a self,
        _: &'a DashboardUser,
        id: &'a str,
        decision: ReviewSubmission,
    ) -> DashboardFuture<'a, String> {
        let id = id.to_owned();
        Box::pin(async move { review::run_review_command(&id, &decision).await })
    }

    fn cancel<'a>(&'a self, _: &'a DashboardUser, _: &'a str) -> DashboardFuture<'a, String> {
        let error = "stop a local run with Ctrl-C in its terminal";
        Box::pin(async move { Err(DashboardError::Refused(error.to_owned())) })
    }

    fn retry<'a>(&'a self, _: &'a DashboardUser, _: &'a str) -> DashboardFuture<'a, String> {
        let error = "start a local run in a terminal with `selvedge run`";
        Box::pin(async move { Err(DashboardError::Refused(error.to_owned())) })
    }
}

/// A short hash that reveals nothing about this machine.
fn short_hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(text.as_bytes());
    selvedge_core::format::hex(hash.get(..12).unwrap_or_default())
}
