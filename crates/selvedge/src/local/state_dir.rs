//! The state directory: `$XDG_STATE_HOME/selvedge`, never inside a workspace.
//!
//! `journal.db` contains the events of all runs, `runs/ID/` the prompts, transcripts and outputs of one run,
//! `shadows/HASH/` the snapshots of one workspace, `checkouts/ID/` the isolated clone of a run.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_core::run::Run;
use selvedge_engine::workspace::{Workspace, WorkspaceError, file_name_for};
use selvedge_store::{Journal, RunMatch, SqliteJournal, StoreError};

use crate::error::CliError;
use crate::settings::BaseDirectories;

#[derive(Debug, Clone)]
pub(crate) struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// Locates the directory from environment variables.
    pub(crate) fn from_environment(environment: &[(String, String)]) -> Result<Self, CliError> {
        let root = BaseDirectories::new(environment)
            .state_dir()
            .map_err(CliError::usage)?;
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Opens the journal; creates it if it does not exist.
    pub(crate) fn open_journal(&self) -> Result<SqliteJournal, CliError> {
        SqliteJournal::open(&self.root).map_err(|error| self.state_dir_error(&error))
    }

    /// Opens the journal; fails if it does not exist.
    pub(crate) fn open_journal_read_only(&self) -> Result<SqliteJournal, CliError> {
        self.open_existing_journal()?
            .ok_or_else(|| CliError::usage("no runs yet").hint("try `selvedge demo`"))
    }

    /// Opens the journal; `None` if it does not exist.
    pub(crate) fn open_existing_journal(&self) -> Result<Option<SqliteJournal>, CliError> {
        match SqliteJournal::open_to_read(&self.root) {
            Ok(journal) => Ok(Some(journal)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(self.state_dir_error(&error)),
        }
    }

    fn state_dir_error(&self, error: &StoreError) -> CliError {
        CliError::infrastructure(format!("cannot use {}: {error}", self.root.display()))
            .hint("set XDG_STATE_HOME to use another state directory")
    }

    /// The directory of a run.
    pub(crate) fn run_dir(&self, run: RunId) -> PathBuf {
        self.root.join("runs").join(run.to_string())
    }

    /// The directory of the workspace copies of a best-of-N run.
    pub(crate) fn copies_dir(&self, run: RunId) -> PathBuf {
        self.root.join("copies").join(run.to_string())
    }

    /// The directory of all isolated clones.
    pub(crate) fn checkouts_dir(&self) -> PathBuf {
        self.root.join("checkouts")
    }

    /// Creates a run's directory, which only its owner can read.
    pub(crate) fn create_run_dir(&self, run: RunId) -> Result<PathBuf, CliError> {
        let path = self.run_dir(run);
        let created: io::Result<()> = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        created.map_err(|error| {
            CliError::infrastructure(format!("cannot create {}: {error}", path.display()))
        })?;
        Ok(path)
    }

    /// Opens a workspace with its snapshots.
    pub(crate) fn open_workspace(&self, dir: &Path) -> Result<Workspace, WorkspaceError> {
        Workspace::open(dir, &self.root.join("shadows").join(file_name_for(dir)))
    }

    /// Resolves a run's id, a part of it, or `last`.
    pub(crate) fn find_run(&self, journal: &SqliteJournal, name: &str) -> Result<RunId, CliError> {
        match journal
            .find(name)
            .map_err(|error| self.state_dir_error(&error))?
        {
            RunMatch::Run(run) => Ok(run),
            RunMatch::Ambiguous(runs) => {
                let ids: Vec<String> = runs.iter().take(5).map(RunId::short).collect();
                Err(CliError::usage(format!("`{name}` is ambiguous"))
                    .hint(format!("matching runs: {}", ids.join(", "))))
            }
            RunMatch::Nothing => Err(CliError::usage(format!("run `{name}` not found"))
                .hint("list runs with `selvedge list`; `last` is the newest")),
        }
    }

    /// Replays a run's journal.
    pub(crate) fn replay(
        &self,
        journal: &SqliteJournal,
        run: RunId,
    ) -> Result<JournalState, CliError> {
        let mut state = JournalState::default();
        for envelope in journal.events(run, 0) {
            state = evolve(
                state,
                &envelope.map_err(|error| self.state_dir_error(&error))?,
            );
        }
        Ok(state)
    }

    /// The runs of a plan's subtasks that have begun.
    pub(crate) fn subtask_runs(
        &self,
        journal: &SqliteJournal,
        plan: &Plan,
    ) -> Result<BTreeMap<RunId, Run>, CliError> {
        let run_ids = plan.subtask_states.iter().filter_map(|part| part.run_id);
        let mut runs = BTreeMap::new();
        for run_id in run_ids {
            let state = self.replay(journal, run_id)?;
            runs.extend(state.run.map(|run| (run_id, run)));
        }
        Ok(runs)
    }
}

/// The result of each run.
pub(crate) fn run_results(runs: &BTreeMap<RunId, Run>) -> BTreeMap<RunId, RunResult> {
    runs.iter().map(|(id, run)| (*id, run.result())).collect()
}
