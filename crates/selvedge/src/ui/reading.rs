//! The local journal as the dashboard asks it. Everything that touches the disk is done on threads for
//! that; summaries and facts are kept until the journal's files change.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selvedge_core::machine::Run;
use selvedge_core::model::{OutputRef, RunId};
use selvedge_engine::workspace::{DiffOptions, TreeId};
use selvedge_face::command::run_again;
use selvedge_face::reading::{
    Answer, Between, Decision, Diff, Fleet, Live, Order, Reading, Rights, Slice, Standing, Story,
    Task, TaskQuery, TaskRow, Tasks, Trouble, Visitor, select,
};
use selvedge_face::stats::RunFacts;
use selvedge_store::{Journal, RunFilter, SqliteJournal};

use super::held::Held;
use super::known::Known;
use super::rows::row;
use super::{all_runs, fact, facts_of, review};
use crate::error::CliError;
use crate::local::Home;

/// The local journal.
#[derive(Clone)]
pub(crate) struct LocalReading {
    inner: Arc<Inner>,
}

struct Inner {
    home: Home,
    kept: Mutex<Kept>,
}

/// One reader of the journal, and what it has read.
#[derive(Default)]
struct Kept {
    journal: Option<SqliteJournal>,
    rows: Option<(String, Arc<Vec<TaskRow>>)>,
    known: Known,
}

/// Runs that are looked at before somebody else may.
const AT_ONCE: usize = 32;
/// Bytes of a diff that are read.
const DIFF_BYTES: usize = 4 * 1024 * 1024;

impl LocalReading {
    /// Of a state directory, which may hold no journal yet.
    pub(crate) fn new(home: Home) -> Result<Self, CliError> {
        fs::create_dir_all(home.root()).map_err(|error| {
            CliError::infrastructure(format!("cannot use {}: {error}", home.root().display()))
        })?;
        let kept = Mutex::default();
        Ok(Self {
            inner: Arc::new(Inner { home, kept }),
        })
    }

    /// Does something that waits for the disk.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, Trouble> + Send + 'static,
    ) -> Answer<'static, T> {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || work(&inner));
        Box::pin(async move { done.await.map_err(Trouble::failed)? })
    }
}

impl Inner {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What says that anything may have changed: the journal's files, and who is at work.
    fn pulse(&self) -> String {
        let of = |name: &str| {
            let about = fs::metadata(self.home.root().join(name)).ok();
            about.map(|it| (it.mtime(), it.mtime_nsec(), it.len()))
        };
        let files = ["journal.db", "journal.db-wal"].map(of);
        let locks = fs::read_dir(self.home.root().join("locks"));
        let held = Held::now();
        let locks = locks.into_iter().flatten().flatten();
        let at_work: Vec<String> = locks.filter_map(|lock| held.by(&lock.path())).collect();
        format!("{files:?}{at_work:?}")
    }

    /// Does something with the journal; nothing where there is none yet.
    fn with<T: Default>(
        &self,
        work: impl FnOnce(&SqliteJournal, &mut Known) -> Result<T, CliError>,
    ) -> Result<T, Trouble> {
        let mut kept = self.kept();
        let Kept { journal, known, .. } = &mut *kept;
        if journal.is_none() {
            *journal = self.home.journal_to_read().ok();
            *known = Known::read(self.home.root());
        }
        match journal {
            Some(journal) => work(journal, known).map_err(Trouble::failed),
            None => Ok(T::default()),
        }
    }

    fn rows(&self) -> Result<Arc<Vec<TaskRow>>, Trouble> {
        let pulse = self.pulse();
        if let Some((of, rows)) = &self.kept().rows
            && *of == pulse
        {
            return Ok(Arc::clone(rows));
        }
        let runs = self.with(|journal, _| all_runs(journal, &RunFilter::default()))?;
        let held = Held::now();
        let rows = runs.iter().map(|run| row(run, self.home.root(), &held));
        let rows: Arc<Vec<TaskRow>> = Arc::new(rows.collect());
        self.kept().rows = Some((pulse, Arc::clone(&rows)));
        Ok(rows)
    }

    /// All rows, with what only the facts of all runs tell.
    fn rows_with_tokens(&self) -> Result<Vec<TaskRow>, Trouble> {
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

    fn tasks(&self, query: &TaskQuery) -> Result<Tasks, Trouble> {
        if query.order == Order::Tokens {
            return Ok(select(&self.rows_with_tokens()?, query));
        }
        let mut tasks = select(&self.rows()?, query);
        self.with(|journal, known| {
            for row in &mut tasks.rows {
                let Ok(run) = row.id.parse::<RunId>() else {
                    continue;
                };
                let summary = journal.summary(run).map_err(CliError::infrastructure)?;
                let seq = summary.map_or(0, |summary| summary.last_seq);
                let facts = fact(&self.home, journal, run, seq, known)?;
                row.tokens = facts.map(|facts| (facts.tokens_in, facts.tokens_out));
            }
            known.keep();
            Ok(())
        })?;
        Ok(tasks)
    }

    fn facts(&self) -> Result<Vec<RunFacts>, Trouble> {
        let runs = self.with(|journal, _| all_runs(journal, &RunFilter::default()))?;
        let mut facts = Vec::with_capacity(runs.len());
        // A few at a time: whoever looks at another page meanwhile does not wait for all of them.
        for some in runs.chunks(AT_ONCE) {
            let some = self.with(|journal, known| facts_of(&self.home, journal, some, known));
            facts.extend(some?);
        }
        Ok(facts)
    }

    fn task(&self, id: &str) -> Result<Task, Trouble> {
        let unknown = || Trouble::NotFound(format!("there is no run `{id}`"));
        let home = &self.home;
        let held = Held::now();
        let found = self.with(|journal, _| {
            let run = home.find_run(journal, id);
            // What is no run's name is no trouble of the machinery.
            let Ok(run) = run else { return Ok(None) };
            let summary = journal.summary(run).map_err(CliError::infrastructure)?;
            let Some(summary) = summary else {
                return Ok(None);
            };
            let state = home.replay(journal, run)?;
            let runs = match &state.plan {
                Some(plan) => home.runs(journal, plan)?,
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
        let mut commands = vec![command_line(row.standing, &row.short)];
        let again = state.run.as_ref().filter(|run| run.spec.part_of.is_none());
        commands.extend(again.map(|run| ("Run it again", run_again(&run.spec))));
        let live = state.run.as_ref().and_then(|run| self.live(run));
        let live = live.map_or(Live::Unknown, |(run, output)| Live::Printed(run, output));
        let review = review::pending(&state, &runs);
        let is_contest = state
            .plan
            .as_ref()
            .is_some_and(|it| it.spec.contest.is_some());
        let story = match (state.plan, state.run) {
            (Some(plan), _) => Story::Plan {
                plan: Box::new(plan),
                runs,
            },
            (None, Some(run)) => Story::Run(Box::new(run)),
            (None, None) => Story::Untold,
        };
        Ok(Task {
            description,
            unknown: state.unknown,
            facts: vec![("Run".to_owned(), row.id.clone())],
            review,
            rights: Rights {
                review: row.standing == Standing::NeedsReview,
                another_attempt: !is_contest,
                ..Rights::default()
            },
            commands,
            live,
            sandbox: String::new(),
            story,
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

    fn output(&self, run: RunId, name: &str, from: u64, length: usize) -> Result<Slice, Trouble> {
        // Invariant: a file of the run's own directory. The name comes from the journal, and is held to it.
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        let missing = || Trouble::NotFound("what was printed is not kept any more".to_owned());
        let path = self.home.run_dir(run).join(name);
        let about = fs::symlink_metadata(&path).map_err(|_| missing())?;
        if !plain || !about.is_file() {
            return Err(missing());
        }
        let mut file = File::open(&path).map_err(Trouble::failed)?;
        file.seek(SeekFrom::Start(from)).map_err(Trouble::failed)?;
        let mut bytes = Vec::new();
        let limit = u64::try_from(length).unwrap_or(u64::MAX);
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(Trouble::failed)?;
        Ok(Slice {
            bytes,
            total: about.len(),
        })
    }

    fn diff(&self, run: &Run, between: Between) -> Result<Diff, Trouble> {
        let none = || Trouble::NotFound("no trees were kept that could be compared".to_owned());
        let (from, to) = trees(run, between).ok_or_else(none)?;
        let compare = || {
            let workspace = self.home.workspace(&run.spec.workspace)?;
            let (from, to) = (TreeId::parse(from.as_str())?, TreeId::parse(to.as_str())?);
            let options = DiffOptions {
                max_bytes: DIFF_BYTES,
                ..DiffOptions::default()
            };
            workspace.diff(&from, &to, options)
        };
        let diff = compare().map_err(Trouble::failed)?;
        Ok(Diff {
            bytes: diff.bytes,
            truncated: diff.truncated,
        })
    }
}

/// The trees that are to be compared.
fn trees(
    run: &Run,
    between: Between,
) -> Option<(selvedge_core::model::TreeId, selvedge_core::model::TreeId)> {
    match between {
        Between::Attempt(number) => {
            let attempt = run.attempt(number)?;
            Some((attempt.from_tree.clone()?, attempt.tree.clone()?))
        }
        Between::SinceStart(number) => {
            Some((run.start_tree.clone()?, run.attempt(number)?.tree.clone()?))
        }
        Between::Whole => {
            let standing = run.standing_attempt()?.tree.clone()?;
            Some((run.start_tree.clone()?, standing))
        }
    }
}

/// What is next to be done with it in a terminal.
fn command_line(standing: Standing, short: &str) -> (&'static str, String) {
    match standing {
        Standing::Interrupted | Standing::Suspended => {
            ("Go on with it", format!("selvedge resume {short}"))
        }
        Standing::NeedsReview => ("Accept it", format!("selvedge review {short} --accept")),
        _ => ("See it in a terminal", format!("selvedge show {short}")),
    }
}

impl Reading for LocalReading {
    fn tasks<'a>(&'a self, _: &'a Visitor, query: &'a TaskQuery) -> Answer<'a, Tasks> {
        let query = query.clone();
        self.ask(move |inner| inner.tasks(&query))
    }

    fn task<'a>(&'a self, _: &'a Visitor, id: &'a str) -> Answer<'a, Task> {
        let id = id.to_owned();
        self.ask(move |inner| inner.task(&id))
    }

    fn output<'a>(
        &'a self,
        run: RunId,
        output: &'a OutputRef,
        from: u64,
        length: usize,
    ) -> Answer<'a, Slice> {
        let name = output.file.clone();
        self.ask(move |inner| inner.output(run, &name, from, length))
    }

    fn diff<'a>(&'a self, task: &'a Task, _: RunId, between: Between) -> Answer<'a, Diff> {
        let Story::Run(run) = task.story.clone() else {
            let error = Trouble::NotFound("a plan has no trees of its own".to_owned());
            return Box::pin(async { Err(error) });
        };
        self.ask(move |inner| inner.diff(&run, between))
    }

    fn facts<'a>(&'a self, _: &'a Visitor) -> Answer<'a, Vec<RunFacts>> {
        self.ask(Inner::facts)
    }

    fn fleet<'a>(&'a self, _: &'a Visitor) -> Answer<'a, Option<Fleet>> {
        Box::pin(async { Ok(None) })
    }

    fn pulse<'a>(&'a self, _: &'a Visitor, task: Option<&'a str>) -> Answer<'a, String> {
        let task = task.and_then(|id| id.parse::<RunId>().ok());
        self.ask(move |inner| {
            let mut pulse = inner.pulse();
            if let Some(run) = task {
                // Of a task, what its open session prints is news, too.
                let printed = fs::read_dir(inner.home.run_dir(run)).into_iter().flatten();
                let sizes = printed.flatten().filter_map(|file| file.metadata().ok());
                let bytes: u64 = sizes.map(|about| about.len()).sum();
                pulse.push_str(&bytes.to_string());
            }
            Ok(hash(&pulse))
        })
    }

    fn review<'a>(&'a self, _: &'a Visitor, id: &'a str, decision: Decision) -> Answer<'a, String> {
        let id = id.to_owned();
        Box::pin(async move { review::carry_out(&id, &decision).await })
    }

    fn cancel<'a>(&'a self, _: &'a Visitor, _: &'a str) -> Answer<'a, String> {
        let error = "a run of this machine is stopped where it was started, with Ctrl-C";
        Box::pin(async move { Err(Trouble::Refused(error.to_owned())) })
    }

    fn retry<'a>(&'a self, _: &'a Visitor, _: &'a str) -> Answer<'a, String> {
        let error = "a run of this machine is started in a terminal, with `selvedge run`";
        Box::pin(async move { Err(Trouble::Refused(error.to_owned())) })
    }
}

/// Short, and without anything of this machine in it.
fn hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(text.as_bytes());
    selvedge_core::words::hex(hash.get(..12).unwrap_or_default())
}
