//! The local journal as the dashboard asks it. Everything that touches the disk is done on threads for
//! that; summaries and facts are kept until the journal's files change.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selvedge_core::machine::Run;
use selvedge_core::model::{OutputRef, RunId};
use selvedge_dashboard::backend::{
    AllowedActions, DashboardBackend, DashboardError, DashboardFuture, DashboardUser, DiffContent,
    DiffRange, DisplayStatus, FleetOverview, LiveActivity, OutputSlice, ReviewSubmission,
    TaskDetail, TaskHistory, TaskList, TaskListItem, TaskQuery, TaskQueryOrder, filter_tasks,
};
use selvedge_dashboard::command::run_again;
use selvedge_dashboard::stats::RunStats;
use selvedge_engine::workspace::{DiffOptions, SnapshotId};
use selvedge_store::{Journal, RunFilter, SqliteJournal};

use super::held_locks::HeldLocks;
use super::rows::row;
use super::run_stats_cache::RunStatsCache;
use super::{all_runs, facts_of_run, facts_of_runs, review};
use crate::error::CliError;
use crate::local::StateDir;

/// The local journal.
#[derive(Clone)]
pub(crate) struct LocalBackend {
    inner: Arc<LocalBackendState>,
}

struct LocalBackendState {
    home: StateDir,
    cache: Mutex<JournalCache>,
}

/// One reader of the journal, and what it has read.
#[derive(Default)]
struct JournalCache {
    journal: Option<SqliteJournal>,
    rows: Option<(String, Arc<Vec<TaskListItem>>)>,
    run_facts: RunStatsCache,
}

/// Runs that are looked at before somebody else may.
const RUNS_PER_BATCH: usize = 32;
/// Bytes of a diff that are read.
const MAX_DIFF_BYTES: usize = 4 * 1024 * 1024;

impl LocalBackend {
    /// Of a state directory, which may hold no journal yet.
    pub(crate) fn new(home: StateDir) -> Result<Self, CliError> {
        fs::create_dir_all(home.root()).map_err(|error| {
            CliError::infrastructure(format!("cannot use {}: {error}", home.root().display()))
        })?;
        let kept = Mutex::default();
        Ok(Self {
            inner: Arc::new(LocalBackendState { home, cache: kept }),
        })
    }

    /// Does something that waits for the disk.
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
    fn lock_cache(&self) -> MutexGuard<'_, JournalCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What says that anything may have changed: the journal's files, and who is at work.
    fn change_token(&self) -> String {
        let of = |name: &str| {
            let about = fs::metadata(self.home.root().join(name)).ok();
            about.map(|it| (it.mtime(), it.mtime_nsec(), it.len()))
        };
        let files = ["journal.db", "journal.db-wal"].map(of);
        let locks = fs::read_dir(self.home.root().join("locks"));
        let held = HeldLocks::read_current();
        let locks = locks.into_iter().flatten().flatten();
        let at_work: Vec<String> = locks
            .filter_map(|lock| held.holder_of(&lock.path()))
            .collect();
        format!("{files:?}{at_work:?}")
    }

    /// Does something with the journal; nothing where there is none yet.
    fn with_journal<T: Default>(
        &self,
        work: impl FnOnce(&SqliteJournal, &mut RunStatsCache) -> Result<T, CliError>,
    ) -> Result<T, DashboardError> {
        let mut kept = self.lock_cache();
        let JournalCache {
            journal,
            run_facts: known,
            ..
        } = &mut *kept;
        if journal.is_none() {
            *journal = self.home.open_journal_read_only().ok();
            *known = RunStatsCache::load(self.home.root());
        }
        match journal {
            Some(journal) => work(journal, known).map_err(DashboardError::failed),
            None => Ok(T::default()),
        }
    }

    fn rows(&self) -> Result<Arc<Vec<TaskListItem>>, DashboardError> {
        let pulse = self.change_token();
        if let Some((of, rows)) = &self.lock_cache().rows
            && *of == pulse
        {
            return Ok(Arc::clone(rows));
        }
        let runs = self.with_journal(|journal, _| all_runs(journal, &RunFilter::default()))?;
        let held = HeldLocks::read_current();
        let rows = runs.iter().map(|run| row(run, self.home.root(), &held));
        let rows: Arc<Vec<TaskListItem>> = Arc::new(rows.collect());
        self.lock_cache().rows = Some((pulse, Arc::clone(&rows)));
        Ok(rows)
    }

    /// All rows, with what only the facts of all runs tell.
    fn rows_with_tokens(&self) -> Result<Vec<TaskListItem>, DashboardError> {
        let facts = self.facts()?;
        let tokens = facts.iter().map(|run| {
            let tokens = (run.tokens_in, run.tokens_out);
            (run.run_id.to_string(), tokens)
        });
        let tokens: HashMap<String, (u64, u64)> = tokens.collect();
        let mut rows = self.rows()?.as_ref().clone();
        for row in &mut rows {
            row.tokens = tokens.get(&row.id).copied();
        }
        Ok(rows)
    }

    fn tasks(&self, query: &TaskQuery) -> Result<TaskList, DashboardError> {
        if query.order == TaskQueryOrder::Tokens {
            return Ok(filter_tasks(&self.rows_with_tokens()?, query));
        }
        let mut tasks = filter_tasks(&self.rows()?, query);
        self.with_journal(|journal, known| {
            for row in &mut tasks.rows {
                let Ok(run) = row.id.parse::<RunId>() else {
                    continue;
                };
                let summary = journal.summary(run).map_err(CliError::infrastructure)?;
                let seq = summary.map_or(0, |summary| summary.last_seq);
                let facts = facts_of_run(&self.home, journal, run, seq, known)?;
                row.tokens = facts.map(|facts| (facts.tokens_in, facts.tokens_out));
            }
            known.save();
            Ok(())
        })?;
        Ok(tasks)
    }

    fn facts(&self) -> Result<Vec<RunStats>, DashboardError> {
        let runs = self.with_journal(|journal, _| all_runs(journal, &RunFilter::default()))?;
        let mut facts = Vec::with_capacity(runs.len());
        // A few at a time: whoever looks at another page meanwhile does not wait for all of them.
        for some in runs.chunks(RUNS_PER_BATCH) {
            let some =
                self.with_journal(|journal, known| facts_of_runs(&self.home, journal, some, known));
            facts.extend(some?);
        }
        Ok(facts)
    }

    fn task(&self, id: &str) -> Result<TaskDetail, DashboardError> {
        let unknown = || DashboardError::NotFound(format!("there is no run `{id}`"));
        let home = &self.home;
        let held = HeldLocks::read_current();
        let found = self.with_journal(|journal, _| {
            let run = home.find_run(journal, id);
            // What is no run's name is no trouble of the machinery.
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
        let (row, state, runs) = found.ok_or_else(unknown)?;
        let description = match (&state.plan, &state.run) {
            (Some(plan), _) => plan.spec.description.clone(),
            (None, Some(run)) => run.spec.description.clone(),
            (None, None) => row.description.clone(),
        };
        let mut commands = vec![next_command(row.standing, &row.short)];
        let again = state.run.as_ref().filter(|run| run.spec.part_of.is_none());
        commands.extend(again.map(|run| ("Run it again", run_again(&run.spec))));
        let live = state.run.as_ref().and_then(|run| self.live(run));
        let live = live.map_or(LiveActivity::Unknown, |(run, output)| {
            LiveActivity::Transcript(run, output)
        });
        let review = review::pending_review(&state, &runs);
        let is_contest = state
            .plan
            .as_ref()
            .is_some_and(|it| it.spec.contest.is_some());
        let story = match (state.plan, state.run) {
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
                review: row.standing == DisplayStatus::NeedsReview,
                another_attempt: !is_contest,
                ..AllowedActions::default()
            },
            commands,
            live,
            sandbox: String::new(),
            history: story,
            row,
        })
    }

    /// What the open session prints, where it is at work.
    fn live(&self, run: &Run) -> Option<(RunId, OutputRef)> {
        let attempt = run.open_attempt()?;
        let file = format!("attempt-{}.stdout", attempt.run_number);
        let about = fs::metadata(self.home.run_dir(run.run_id).join(&file)).ok()?;
        let output = OutputRef {
            file,
            bytes: about.len(),
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
        // Invariant: a file of the run's own directory. The name comes from the journal, and is held to it.
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        let missing =
            || DashboardError::NotFound("what was printed is not kept any more".to_owned());
        let path = self.home.run_dir(run).join(name);
        let about = fs::symlink_metadata(&path).map_err(|_| missing())?;
        if !plain || !about.is_file() {
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
            total: about.len(),
        })
    }

    fn diff(&self, run: &Run, between: DiffRange) -> Result<DiffContent, DashboardError> {
        let none =
            || DashboardError::NotFound("no trees were kept that could be compared".to_owned());
        let (from, to) = compared_trees(run, between).ok_or_else(none)?;
        let compare = || {
            let workspace = self.home.open_workspace(&run.spec.workspace)?;
            let (from, to) = (
                SnapshotId::parse(from.as_str())?,
                SnapshotId::parse(to.as_str())?,
            );
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

/// The trees that are to be compared.
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
            let standing = run.current_attempt()?.tree.clone()?;
            Some((run.start_tree.clone()?, standing))
        }
    }
}

/// What is next to be done with it in a terminal.
fn next_command(standing: DisplayStatus, short: &str) -> (&'static str, String) {
    match standing {
        DisplayStatus::Interrupted | DisplayStatus::Suspended => {
            ("Go on with it", format!("selvedge resume {short}"))
        }
        DisplayStatus::NeedsReview => ("Accept it", format!("selvedge review {short} --accept")),
        _ => ("See it in a terminal", format!("selvedge show {short}")),
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
        _: RunId,
        between: DiffRange,
    ) -> DashboardFuture<'a, DiffContent> {
        let TaskHistory::Run(run) = task.history.clone() else {
            let error = DashboardError::NotFound("a plan has no trees of its own".to_owned());
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
            let mut pulse = inner.change_token();
            if let Some(run) = task {
                // Of a task, what its open session prints is news, too.
                let printed = fs::read_dir(inner.home.run_dir(run)).into_iter().flatten();
                let sizes = printed.flatten().filter_map(|file| file.metadata().ok());
                let bytes: u64 = sizes.map(|about| about.len()).sum();
                pulse.push_str(&bytes.to_string());
            }
            Ok(short_hash(&pulse))
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
        let error = "a run of this machine is stopped where it was started, with Ctrl-C";
        Box::pin(async move { Err(DashboardError::Refused(error.to_owned())) })
    }

    fn retry<'a>(&'a self, _: &'a DashboardUser, _: &'a str) -> DashboardFuture<'a, String> {
        let error = "a run of this machine is started in a terminal, with `selvedge run`";
        Box::pin(async move { Err(DashboardError::Refused(error.to_owned())) })
    }
}

/// Short, and without anything of this machine in it.
fn short_hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(text.as_bytes());
    selvedge_core::format::hex(hash.get(..12).unwrap_or_default())
}
