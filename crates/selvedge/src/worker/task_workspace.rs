//! Where a task's work takes place: a clone of its own, or a folder of this machine that the worker's owner
//! has allowed.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use selvedge_core::model::{RunId, RunSpec, Task, TaskId};
use selvedge_engine::agents::env;
use selvedge_engine::checkout::{
    BranchCommit, Checkout, CheckoutError, CommitAuthor, RepositoryAddress,
};
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{SandboxContext, set_up_sandboxes};
use selvedge_engine::workspace::{LockError, Workspace, WorkspaceLock, file_name_for};
use selvedge_engine::{RunContext, VerificationRoomSlot};

use crate::secrets;

/// The worker's own directory.
#[derive(Debug, Clone)]
pub(super) struct WorkDirs {
    pub(super) root: PathBuf,
    /// Folders that tasks may work in, or clone from, canonical.
    pub(super) allowed_paths: Vec<PathBuf>,
}

/// Why there is no place to work in.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskWorkspaceError {
    /// The task asks for what cannot be, here or anywhere.
    #[error("{0}")]
    Rejected(String),
    /// It may be another time, or with another worker.
    #[error("{0}")]
    Retryable(String),
    /// Another run is at work there.
    #[error("{0}")]
    Busy(String),
}

/// Where one task's work takes place.
#[derive(Debug)]
pub(super) struct TaskWorkspace {
    /// Where the agent works.
    pub(super) dir: PathBuf,
    /// Everything of this task that is ours.
    task_dir: PathBuf,
    clone: Option<(Checkout, RepositoryAddress)>,
    _lock: WorkspaceLock,
}

impl WorkDirs {
    /// Everything of one task that is ours.
    fn task_dir(&self, task: TaskId) -> PathBuf {
        self.root.join("tasks").join(task.to_string())
    }

    /// Removes what a task left here.
    pub(super) fn remove_task_dir(&self, task: TaskId) {
        // What cannot be removed now is looked for when the task comes again.
        let _ = std::fs::remove_dir_all(self.task_dir(task));
    }

    /// Makes the place, or opens it again when the task's work goes on here. Blocks.
    pub(super) fn open_task_workspace(
        &self,
        task: &Task,
        id: TaskId,
    ) -> Result<TaskWorkspace, TaskWorkspaceError> {
        let own = self.task_dir(id);
        let failed = |what: &dyn std::fmt::Display| TaskWorkspaceError::Retryable(what.to_string());
        for folder in [own.join("run"), self.root.join("shadows")] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .map_err(|error| failed(&format!("{}: {error}", folder.display())))?;
        }
        let clone = match &task.repository {
            Some(repository) => Some(self.open_clone(repository, task, id, &own)?),
            None => None,
        };
        let dir = match (&clone, &task.workspace) {
            (Some((clone, _)), None) => clone.tree(),
            (Some((clone, _)), Some(within)) => resolve_subdirectory(&clone.tree(), within)?,
            (None, Some(path)) => self.check_allowed(Path::new(path))?,
            (None, None) => {
                return Err(TaskWorkspaceError::Rejected(
                    "the task names neither a repository nor a workspace".to_owned(),
                ));
            }
        };
        let lock = WorkspaceLock::lock(&self.root, &dir, &RunId::from(id).to_string());
        let lock = lock.map_err(|error| match error {
            LockError::InUse { .. } => TaskWorkspaceError::Busy(error.to_string()),
            LockError::Workspace(error) => failed(&error),
        })?;
        Ok(TaskWorkspace {
            dir,
            task_dir: own,
            clone,
            _lock: lock,
        })
    }

    fn open_clone(
        &self,
        repository: &str,
        task: &Task,
        id: TaskId,
        own: &Path,
    ) -> Result<(Checkout, RepositoryAddress), TaskWorkspaceError> {
        let refused =
            |error: &dyn std::fmt::Display| TaskWorkspaceError::Rejected(error.to_string());
        let from = Path::new("/");
        let address =
            RepositoryAddress::parse(repository, from).map_err(|error| refused(&error))?;
        let file = repository.strip_prefix("file://").map(Path::new);
        if let Some(local) = address.local().or(file) {
            self.check_allowed(local)?;
        }
        let (root, base) = (own.join("clone"), own.join("base"));
        if let Ok(base) = std::fs::read_to_string(&base)
            && let Ok(clone) = Checkout::open(&root, base.trim())
        {
            return Ok((clone, address));
        }
        // What an earlier try left, cut off before it was whole.
        let _ = std::fs::remove_dir_all(&root);
        let clone = Checkout::clone(
            &address,
            task.revision.as_deref(),
            &branch_name(task, id),
            &root,
        );
        let clone = clone.map_err(|error| match error {
            CheckoutError::NoRevision { .. } | CheckoutError::NoCommits { .. } => refused(&error),
            error => TaskWorkspaceError::Retryable(error.to_string()),
        })?;
        std::fs::write(&base, clone.base())
            .map_err(|error| TaskWorkspaceError::Retryable(error.to_string()))?;
        Ok((clone, address))
    }

    fn check_allowed(&self, path: &Path) -> Result<PathBuf, TaskWorkspaceError> {
        let refused = |why: &str| {
            Err(TaskWorkspaceError::Rejected(format!(
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
        if !self
            .allowed_paths
            .iter()
            .any(|it| canonical.starts_with(it))
        {
            return refused("its owner has not allowed it (--allow-path)");
        }
        Ok(canonical)
    }
}

impl TaskWorkspace {
    /// Where the run keeps its outputs.
    pub(super) fn run_dir(&self) -> PathBuf {
        self.task_dir.join("run")
    }

    /// The snapshots of the place; none outside of a git repository.
    pub(super) fn open_workspace(&self, ground: &WorkDirs) -> Result<Option<Workspace>, String> {
        let shadow = match &self.clone {
            Some(_) => self.task_dir.join("shadow"),
            None => ground.root.join("shadows").join(file_name_for(&self.dir)),
        };
        let workspace = Workspace::open(&self.dir, &shadow).map_err(|error| error.to_string())?;
        Ok(Some(workspace).filter(Workspace::is_git))
    }

    /// Where effects take place, behind the walls that the task's settings ask for. Nothing begins where
    /// walls are required and cannot be built here: another worker may.
    pub(super) async fn build_run_context(
        &self,
        ground: &WorkDirs,
        workspace: Option<Workspace>,
        spec: &RunSpec,
    ) -> Result<RunContext, String> {
        let scene = SandboxContext {
            workspace: self.dir.clone(),
            state: ground.root.clone(),
            environment: env::host_env(),
        };
        let raised = set_up_sandboxes(&spec.sandbox, &scene, &Supervisor::this_program()).await;
        let raised = raised.map_err(|refused| refused.to_string())?;
        let redactor = secrets::run_redactor(spec);
        Ok(RunContext {
            run_dir: self.run_dir(),
            workspace,
            baseline_cache: ground.root.join("baselines"),
            verification_rooms: VerificationRoomSlot::default(),
            agents: Supervisor::this_program()
                .with_sandbox(raised.agents)
                .with_redactor(redactor.clone()),
            checks: Supervisor::this_program()
                .with_sandbox(raised.checks)
                .with_redactor(redactor)
                .with_env_allowlist(&spec.environment.checks),
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
    ) -> Result<Option<(BranchCommit, Vec<u8>)>, String> {
        let Some((clone, _)) = &self.clone else {
            return Ok(None);
        };
        let identity = CommitAuthor::from_git_config(&clone.tree());
        let made = clone.commit(&branch_name(task, id), message, &identity);
        let Some(made) = made.map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let patch = clone.patch(&made).map_err(|error| error.to_string())?;
        Ok(Some((made, patch)))
    }

    /// Pushes a commit to where the clone came from. Blocks.
    pub(super) fn push(&self, made: &BranchCommit) -> Result<(), String> {
        let Some((clone, address)) = &self.clone else {
            return Ok(());
        };
        clone.push(address, made).map_err(|error| error.to_string())
    }
}

/// Of a subtask: the whole plan's.
fn branch_name(task: &Task, id: TaskId) -> String {
    let plan = task.part_of.as_ref().map(|part| part.parent_task_id);
    format!("selvedge/{}", plan.unwrap_or(id).short())
}

/// A folder of the clone, never one that lies elsewhere by a link.
fn resolve_subdirectory(tree: &Path, within: &str) -> Result<PathBuf, TaskWorkspaceError> {
    let found = tree.join(within.trim_start_matches("./")).canonicalize();
    match (found, tree.canonicalize()) {
        (Ok(found), Ok(tree)) if found.starts_with(&tree) && found.is_dir() => Ok(found),
        _ => Err(TaskWorkspaceError::Rejected(format!(
            "there is no folder `{within}` in the repository"
        ))),
    }
}
