//! Finds the latest run of a directory, for commands without a run's name.

use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_store::{Journal, RunFilter, RunSummary, SqliteJournal};

use super::{IsolatedClone, StateDir};
use crate::error::CliError;
use crate::settings::git_root;

/// The runs of a directory's workspace, newest first. Runs of subtasks are left out.
#[derive(Debug)]
pub(crate) struct WorkspaceRuns {
    dir: PathBuf,
    runs: Vec<RunSummary>,
}

impl WorkspaceRuns {
    /// Finds the runs of the nearest directory that has any, from `dir` up to the root of its git repository. A run in
    /// an isolated clone belongs to the repository that was cloned.
    pub(crate) fn find(
        home: &StateDir,
        journal: &SqliteJournal,
        dir: &Path,
    ) -> Result<Self, CliError> {
        let all = journal.runs(&RunFilter::default(), usize::from(u16::MAX) * 16, None);
        let all = all.map_err(CliError::infrastructure)?;
        let top_level_runs = all.into_iter().filter(|run| parent_plan_id(run).is_none());
        let runs_with_directories: Vec<(Vec<PathBuf>, RunSummary)> = top_level_runs
            .map(|run| (run_directories(home, &run), run))
            .collect();
        let root = git_root(dir).unwrap_or(dir);
        let candidates = dir.ancestors().take_while(|it| it.starts_with(root));
        let has_runs = |candidate: &&Path| {
            let mut directories = runs_with_directories
                .iter()
                .flat_map(|(directories, _)| directories);
            directories.any(|directory| directory == candidate)
        };
        let dir = candidates
            .into_iter()
            .find(has_runs)
            .unwrap_or(dir)
            .to_owned();
        let runs = runs_with_directories.into_iter();
        let runs = runs.filter(|(directories, _)| directories.contains(&dir));
        let runs = runs.map(|(_, run)| run).collect();
        Ok(Self { dir, runs })
    }

    pub(crate) fn latest(&self) -> Result<&RunSummary, CliError> {
        self.runs.first().ok_or_else(|| {
            let dir = self.dir.display();
            CliError::usage(format!("no runs in {dir}")).hint(
                "name a run: `selvedge list` lists them, `last` is the newest on this machine",
            )
        })
    }

    /// The short ids of the newest runs that match, at most five; `None` if no run matches.
    pub(crate) fn list_matching(&self, holds: impl Fn(&RunSummary) -> bool) -> Option<String> {
        const SHOWN: usize = 5;
        let ids = self
            .runs
            .iter()
            .filter(|run| holds(run))
            .map(|run| run.run_id.short());
        let ids: Vec<String> = ids.take(SHOWN).collect();
        (!ids.is_empty()).then(|| ids.join(", "))
    }
}

fn parent_plan_id(run: &RunSummary) -> Option<RunId> {
    Some(run.task.as_ref()?.part_of.as_ref()?.plan)
}

/// The directories that a run belongs to: its workspace, and the directory that this is a clone of.
fn run_directories(home: &StateDir, run: &RunSummary) -> Vec<PathBuf> {
    let Some(workspace) = run.task.as_ref().map(|task| task.workspace.clone()) else {
        return Vec::new();
    };
    let clone = IsolatedClone::clone_root(home, run.run_id).join("tree");
    let origin = workspace
        .strip_prefix(&clone)
        .ok()
        .and_then(|subdirectory| {
            let record = IsolatedClone::load(home, run.run_id).ok()??;
            // Collecting the components removes a trailing slash.
            let origin = Path::new(&record.address).join(subdirectory);
            record.returns_branch.then(|| origin.components().collect())
        });
    [Some(workspace), origin].into_iter().flatten().collect()
}
