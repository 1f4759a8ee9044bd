//! Which run a command means that names none: the latest one of this directory.

use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_store::{Journal, RunFilter, RunSummary, SqliteJournal};

use super::{IsolatedClone, StateDir};
use crate::error::CliError;
use crate::settings::git_root;

/// The runs of the workspace that a directory belongs to, the newest first. The parts of plans are left out.
#[derive(Debug)]
pub(crate) struct WorkspaceRuns {
    dir: PathBuf,
    runs: Vec<RunSummary>,
}

impl WorkspaceRuns {
    /// Finds them: those of the nearest directory that had any, from `dir` up to the root of its git
    /// repository. A run in a clone of its own belongs to the repository that it was cloned from.
    pub(crate) fn find(
        home: &StateDir,
        journal: &SqliteJournal,
        dir: &Path,
    ) -> Result<Self, CliError> {
        let all = journal.runs(&RunFilter::default(), usize::from(u16::MAX) * 16, None);
        let all = all.map_err(CliError::infrastructure)?;
        let whole = all.into_iter().filter(|run| parent_plan_id(run).is_none());
        let placed: Vec<(Vec<PathBuf>, RunSummary)> = whole
            .map(|run| (run_directories(home, &run), run))
            .collect();
        let root = git_root(dir).unwrap_or(dir);
        let candidates = dir.ancestors().take_while(|it| it.starts_with(root));
        let has_runs = |candidate: &&Path| {
            let mut directories = placed.iter().flat_map(|(directories, _)| directories);
            directories.any(|directory| directory == candidate)
        };
        let dir = candidates
            .into_iter()
            .find(has_runs)
            .unwrap_or(dir)
            .to_owned();
        let runs = placed.into_iter();
        let runs = runs.filter(|(directories, _)| directories.contains(&dir));
        let runs = runs.map(|(_, run)| run).collect();
        Ok(Self { dir, runs })
    }

    /// The latest of them.
    pub(crate) fn latest(&self) -> Result<&RunSummary, CliError> {
        self.runs.first().ok_or_else(|| {
            let dir = self.dir.display();
            CliError::usage(format!("there are no runs in {dir}"))
                .hint("name a run: `selvedge list` shows all; `last` is the newest on this machine")
        })
    }

    /// The newest runs that a condition holds for, by their short ids; none when there are none.
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

/// The directories that a run belongs to: where it works, and what that is a clone of.
fn run_directories(home: &StateDir, run: &RunSummary) -> Vec<PathBuf> {
    let Some(workspace) = run.task.as_ref().map(|task| task.workspace.clone()) else {
        return Vec::new();
    };
    let clone = IsolatedClone::clone_root(home, run.run_id).join("tree");
    let origin = workspace.strip_prefix(&clone).ok().and_then(|within| {
        let own = IsolatedClone::load(home, run.run_id).ok()??;
        // Of the whole repository, without a slash at the end.
        let origin = Path::new(&own.address).join(within);
        own.returns_branch.then(|| origin.components().collect())
    });
    [Some(workspace), origin].into_iter().flatten().collect()
}
