//! Where a task's work takes place: a clone of its own, or a folder of this machine that the worker's owner
//! has allowed.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use selvedge_core::model::{RunId, RunSpec, Task, TaskId};
use selvedge_engine::agents::env;
use selvedge_engine::checkout::{Address, Checkout, CheckoutError, Identity, Made};
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{Scene, raise};
use selvedge_engine::workspace::{LockError, Workspace, WorkspaceLock, file_name_for};
use selvedge_engine::{Rooms, Site};

use crate::secrets;

/// The worker's own directory.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) root: PathBuf,
    /// Folders that tasks may work in, or clone from, canonical.
    pub(super) allowed: Vec<PathBuf>,
}

/// Why there is no place to work in.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPlace {
    /// The task asks for what cannot be, here or anywhere.
    #[error("{0}")]
    Refused(String),
    /// It may be another time, or with another worker.
    #[error("{0}")]
    NotNow(String),
    /// Another run is at work there.
    #[error("{0}")]
    Busy(String),
}

/// Where one task's work takes place.
#[derive(Debug)]
pub(super) struct Place {
    /// Where the agent works.
    pub(super) dir: PathBuf,
    /// Everything of this task that is ours.
    own: PathBuf,
    clone: Option<(Checkout, Address)>,
    _lock: WorkspaceLock,
}

impl Ground {
    /// Everything of one task that is ours.
    fn own(&self, task: TaskId) -> PathBuf {
        self.root.join("tasks").join(task.to_string())
    }

    /// Removes what a task left here.
    pub(super) fn clear(&self, task: TaskId) {
        // What cannot be removed now is looked for when the task comes again.
        let _ = std::fs::remove_dir_all(self.own(task));
    }

    /// Makes the place, or opens it again when the task's work goes on here. Blocks.
    pub(super) fn place(&self, task: &Task, id: TaskId) -> Result<Place, NoPlace> {
        let own = self.own(id);
        let failed = |what: &dyn std::fmt::Display| NoPlace::NotNow(what.to_string());
        for folder in [own.join("run"), self.root.join("shadows")] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .map_err(|error| failed(&format!("{}: {error}", folder.display())))?;
        }
        let clone = match &task.repository {
            Some(repository) => Some(self.clone_of(repository, task, id, &own)?),
            None => None,
        };
        let dir = match (&clone, &task.workspace) {
            (Some((clone, _)), None) => clone.tree(),
            (Some((clone, _)), Some(within)) => inside(&clone.tree(), within)?,
            (None, Some(path)) => self.allowed(Path::new(path))?,
            (None, None) => {
                return Err(NoPlace::Refused(
                    "the task names neither a repository nor a workspace".to_owned(),
                ));
            }
        };
        let lock = WorkspaceLock::lock(&self.root, &dir, &RunId::from(id).to_string());
        let lock = lock.map_err(|error| match error {
            LockError::Held { .. } => NoPlace::Busy(error.to_string()),
            LockError::Workspace(error) => failed(&error),
        })?;
        Ok(Place {
            dir,
            own,
            clone,
            _lock: lock,
        })
    }

    fn clone_of(
        &self,
        repository: &str,
        task: &Task,
        id: TaskId,
        own: &Path,
    ) -> Result<(Checkout, Address), NoPlace> {
        let refused = |error: &dyn std::fmt::Display| NoPlace::Refused(error.to_string());
        let from = Path::new("/");
        let address = Address::parse(repository, from).map_err(|error| refused(&error))?;
        let file = repository.strip_prefix("file://").map(Path::new);
        if let Some(local) = address.local().or(file) {
            self.allowed(local)?;
        }
        let (root, base) = (own.join("clone"), own.join("base"));
        if let Ok(base) = std::fs::read_to_string(&base)
            && let Ok(clone) = Checkout::open(&root, base.trim())
        {
            return Ok((clone, address));
        }
        // What an earlier try left, cut off before it was whole.
        let _ = std::fs::remove_dir_all(&root);
        let clone = Checkout::clone(&address, task.revision.as_deref(), &branch(task, id), &root);
        let clone = clone.map_err(|error| match error {
            CheckoutError::NoRevision { .. } | CheckoutError::Empty { .. } => refused(&error),
            error => NoPlace::NotNow(error.to_string()),
        })?;
        std::fs::write(&base, clone.base()).map_err(|error| NoPlace::NotNow(error.to_string()))?;
        Ok((clone, address))
    }

    fn allowed(&self, path: &Path) -> Result<PathBuf, NoPlace> {
        let refused = |why: &str| {
            Err(NoPlace::Refused(format!(
                "this worker does not work in {}: {why}",
                path.display()
            )))
        };
        let Ok(canonical) = path.canonicalize() else {
            return refused("it is not there");
        };
        if !path.is_absolute() || !canonical.is_dir() {
            return refused("it is no folder by an absolute path");
        }
        if !self.allowed.iter().any(|it| canonical.starts_with(it)) {
            return refused("its owner has not allowed it (--allow-path)");
        }
        Ok(canonical)
    }
}

impl Place {
    /// Where the run keeps its outputs.
    pub(super) fn run_dir(&self) -> PathBuf {
        self.own.join("run")
    }

    /// The snapshots of the place; none outside of a git repository.
    pub(super) fn workspace(&self, ground: &Ground) -> Result<Option<Workspace>, String> {
        let shadow = match &self.clone {
            Some(_) => self.own.join("shadow"),
            None => ground.root.join("shadows").join(file_name_for(&self.dir)),
        };
        let workspace = Workspace::open(&self.dir, &shadow).map_err(|error| error.to_string())?;
        Ok(Some(workspace).filter(Workspace::is_git))
    }

    /// Where effects take place, behind the walls that the task's settings ask for. Nothing begins where
    /// walls are required and cannot be built here: another worker may.
    pub(super) async fn site(
        &self,
        ground: &Ground,
        workspace: Option<Workspace>,
        spec: &RunSpec,
    ) -> Result<Site, String> {
        let scene = Scene {
            workspace: self.dir.clone(),
            state: ground.root.clone(),
            environment: env::ours(),
        };
        let raised = raise(&spec.sandbox, &scene, &Supervisor::this_program()).await;
        let raised = raised.map_err(|refused| refused.to_string())?;
        let redactor = secrets::of_run(spec);
        Ok(Site {
            run_dir: self.run_dir(),
            workspace,
            remembered: ground.root.join("baselines"),
            rooms: Rooms::default(),
            agents: Supervisor::this_program()
                .within(raised.agents)
                .redacting(redactor.clone()),
            checks: Supervisor::this_program()
                .within(raised.checks)
                .redacting(redactor)
                .showing(&spec.environment.checks),
        })
    }

    /// Whether the work takes place in a clone.
    pub(super) const fn is_clone(&self) -> bool {
        self.clone.is_some()
    }

    /// Commits what stands in the clone; its patch with it. Blocks.
    pub(super) fn commit(
        &self,
        task: &Task,
        id: TaskId,
        message: &str,
    ) -> Result<Option<(Made, Vec<u8>)>, String> {
        let Some((clone, _)) = &self.clone else {
            return Ok(None);
        };
        let identity = Identity::of_the_person(&clone.tree());
        let made = clone.commit(&branch(task, id), message, &identity);
        let Some(made) = made.map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let patch = clone.patch(&made).map_err(|error| error.to_string())?;
        Ok(Some((made, patch)))
    }

    /// Pushes a commit to where the clone came from. Blocks.
    pub(super) fn push(&self, made: &Made) -> Result<(), String> {
        let Some((clone, address)) = &self.clone else {
            return Ok(());
        };
        clone.push(address, made).map_err(|error| error.to_string())
    }
}

/// Of a subtask: the whole plan's.
fn branch(task: &Task, id: TaskId) -> String {
    let plan = task.part_of.as_ref().map(|part| part.parent_task_id);
    format!("selvedge/{}", plan.unwrap_or(id).short())
}

/// A folder of the clone, never one that lies elsewhere by a link.
fn inside(tree: &Path, within: &str) -> Result<PathBuf, NoPlace> {
    let found = tree.join(within.trim_start_matches("./")).canonicalize();
    match (found, tree.canonicalize()) {
        (Ok(found), Ok(tree)) if found.starts_with(&tree) && found.is_dir() => Ok(found),
        _ => Err(NoPlace::Refused(format!(
            "there is no folder `{within}` in the repository"
        ))),
    }
}
