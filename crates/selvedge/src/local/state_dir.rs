//! Where local runs live: `$XDG_STATE_HOME/selvedge`, never inside a workspace.
//!
//! `journal.db` holds the events of all runs, `runs/ID/` the bulk of one (prompts, transcripts,
//! outputs), `shadows/HASH/` the snapshots of one workspace, `checkouts/ID/` the clone that a run works in.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use selvedge_core::machine::{JournalState, Run, evolve};
use selvedge_core::model::{RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_engine::workspace::{Workspace, WorkspaceError, file_name_for};
use selvedge_store::{Journal, RunMatch, SqliteJournal, StoreError};

use crate::error::CliError;
use crate::settings::BaseDirectories;

/// The state directory.
#[derive(Debug, Clone)]
pub(crate) struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// As the environment says.
    pub(crate) fn from_environment(environment: &[(String, String)]) -> Result<Self, CliError> {
        let root = BaseDirectories::new(environment)
            .state_dir()
            .map_err(CliError::usage)?;
        Ok(Self { root })
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The journal, made when missing.
    pub(crate) fn open_journal(&self) -> Result<SqliteJournal, CliError> {
        SqliteJournal::open(&self.root).map_err(|error| self.state_dir_error(&error))
    }

    /// The journal, which must exist.
    pub(crate) fn open_journal_read_only(&self) -> Result<SqliteJournal, CliError> {
        SqliteJournal::open_to_read(&self.root).map_err(|error| match error {
            StoreError::Missing { .. } => {
                CliError::usage("there are no runs yet").hint("`selvedge demo` makes one")
            }
            error => self.state_dir_error(&error),
        })
    }

    fn state_dir_error(&self, error: &StoreError) -> CliError {
        CliError::infrastructure(format!("cannot use {}: {error}", self.root.display()))
            .hint("XDG_STATE_HOME says where Selvedge keeps its state")
    }

    /// A run's own directory.
    pub(crate) fn run_dir(&self, run: RunId) -> PathBuf {
        self.root.join("runs").join(run.to_string())
    }

    /// Where the copies of a contest's workspace are.
    pub(crate) fn copies_dir(&self, run: RunId) -> PathBuf {
        self.root.join("copies").join(run.to_string())
    }

    /// Where the clones are that runs work in.
    pub(crate) fn checkouts_dir(&self) -> PathBuf {
        self.root.join("checkouts")
    }

    /// Makes a run's own directory, readable by its owner only.
    pub(crate) fn create_run_dir(&self, run: RunId) -> Result<PathBuf, CliError> {
        let path = self.run_dir(run);
        let made: io::Result<()> = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| {
            CliError::infrastructure(format!("cannot make {}: {error}", path.display()))
        })?;
        Ok(path)
    }

    /// A workspace with its snapshots.
    pub(crate) fn open_workspace(&self, dir: &Path) -> Result<Workspace, WorkspaceError> {
        Workspace::open(dir, &self.root.join("shadows").join(file_name_for(dir)))
    }

    /// The run that a person means by a name.
    pub(crate) fn find_run(&self, journal: &SqliteJournal, name: &str) -> Result<RunId, CliError> {
        match journal
            .find(name)
            .map_err(|error| self.state_dir_error(&error))?
        {
            RunMatch::Run(run) => Ok(run),
            RunMatch::Ambiguous(runs) => {
                let ids: Vec<String> = runs.iter().take(5).map(RunId::short).collect();
                Err(CliError::usage(format!("`{name}` names several runs"))
                    .hint(format!("say more of one of them: {}", ids.join(", "))))
            }
            RunMatch::Nothing => Err(CliError::usage(format!("there is no run `{name}`"))
                .hint("`selvedge list` shows all of them; `last` names the newest")),
        }
    }

    /// A run as its journal tells it.
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

    /// The runs of a plan's subtasks, as far as they have begun.
    pub(crate) fn subtask_runs(
        &self,
        journal: &SqliteJournal,
        plan: &Plan,
    ) -> Result<BTreeMap<RunId, Run>, CliError> {
        let begun = plan.subtask_states.iter().filter_map(|part| part.run_id);
        let mut runs = BTreeMap::new();
        for run_id in begun {
            let state = self.replay(journal, run_id)?;
            runs.extend(state.run.map(|run| (run_id, run)));
        }
        Ok(runs)
    }
}

/// How runs stand.
pub(crate) fn run_results(runs: &BTreeMap<RunId, Run>) -> BTreeMap<RunId, RunResult> {
    runs.iter().map(|(id, run)| (*id, run.result())).collect()
}
