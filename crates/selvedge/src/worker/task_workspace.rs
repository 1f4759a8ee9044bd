//! The workspace of a task: a clone, or a folder of this machine that the worker's owner has allowed.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use selvedge_core::model::{DeliveryMode, RunId, RunSpec, Task, TaskId};
use selvedge_engine::agents::env;
use selvedge_engine::checkout::{
    BranchCommit, Checkout, CheckoutError, CommitAuthor, RepositoryAddress,
};
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{SandboxContext, SandboxUnavailableError, set_up_sandboxes};
use selvedge_engine::workspace::{
    LockError, Workspace, WorkspaceError, WorkspaceLock, file_name_for,
};
use selvedge_engine::{RunContext, VerificationRoomSlot};

use crate::local::check_slots;
use crate::output::file;
use crate::secrets;

/// The worker's directories.
#[derive(Debug, Clone)]
pub(super) struct WorkDirs {
    pub(super) root: PathBuf,
    /// Canonical paths of folders that tasks may use or clone from.
    pub(super) allowed_paths: Vec<PathBuf>,
}

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskWorkspaceError {
    /// The task is impossible on any worker.
    #[error("{0}")]
    Rejected(String),
    /// It may be possible later or on another worker.
    #[error("{0}")]
    Retryable(String),
    /// The task is impossible on this worker with its configuration.
    #[error("{0}")]
    Unsuitable(String),
    /// Another run uses the folder.
    #[error("{0}")]
    Busy(String),
}

/// The workspace of one task.
#[derive(Debug)]
pub(super) struct TaskWorkspace {
    /// The agent's working directory.
    pub(super) dir: PathBuf,
    /// The worker's directory for this task.
    task_dir: PathBuf,
    clone: Option<(Checkout, RepositoryAddress)>,
    _lock: WorkspaceLock,
}

impl WorkDirs {
    /// The worker's directory for a task.
    fn task_dir(&self, task: TaskId) -> PathBuf {
        self.root.join("tasks").join(task.to_string())
    }

    pub(super) fn remove_task_dir(&self, task: TaskId) {
        // Removed later if it cannot be removed now.
        let _ = selvedge_engine::remove_all(&self.task_dir(task));
    }

    /// Creates the workspace, or opens it if the task continues here. Blocks.
    pub(super) fn open_task_workspace(
        &self,
        task: &Task,
        id: TaskId,
    ) -> Result<TaskWorkspace, TaskWorkspaceError> {
        let task_dir = self.task_dir(id);
        let failed = |what: &dyn std::fmt::Display| TaskWorkspaceError::Retryable(what.to_string());
        for folder in [task_dir.join("run"), self.root.join("shadows")] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .map_err(|error| failed(&format!("{}: {error}", folder.display())))?;
        }
        let clone = match &task.repository {
            Some(repository) => Some(self.open_clone(repository, task, id, &task_dir)?),
            None => None,
        };
        let dir = match (&clone, &task.workspace) {
            (Some((clone, _)), None) => clone.tree(),
            (Some((clone, _)), Some(subdirectory)) => {
                resolve_subdirectory(&clone.tree(), subdirectory)?
            }
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
            task_dir,
            clone,
            _lock: lock,
        })
    }

    fn open_clone(
        &self,
        repository: &str,
        task: &Task,
        id: TaskId,
        task_dir: &Path,
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
        let (root, base) = (task_dir.join("clone"), task_dir.join("base"));
        if let Ok(base) = std::fs::read_to_string(&base)
            && let Ok(clone) = Checkout::open(&root, base.trim())
        {
            return Ok((clone, address));
        }
        // An earlier attempt to clone may have been interrupted.
        let _ = selvedge_engine::remove_all(&root);
        let branch = branch_name(task, id);
        let clone = Checkout::clone(&address, task.revision.as_deref(), &branch, &root);
        let clone = clone.and_then(|clone| {
            if task.deliver == Some(DeliveryMode::Branch) {
                clone.ensure_deliverable(&address, &branch)?;
            }
            Ok(clone)
        });
        let clone = clone.map_err(|error| match error {
            CheckoutError::NoRevision { .. }
            | CheckoutError::NoCommits { .. }
            | CheckoutError::BranchNameTaken { .. } => refused(&error),
            error => TaskWorkspaceError::Retryable(error.to_string()),
        })?;
        std::fs::write(&base, clone.base())
            .map_err(|error| TaskWorkspaceError::Retryable(error.to_string()))?;
        Ok((clone, address))
    }

    fn check_allowed(&self, path: &Path) -> Result<PathBuf, TaskWorkspaceError> {
        let describe = |why: &str| format!("cannot use {} on this worker: {why}", path.display());
        let refused = |why: &str| Err(TaskWorkspaceError::Unsuitable(describe(why)));
        if !path.is_absolute() {
            let why = describe("not an absolute path of a folder");
            return Err(TaskWorkspaceError::Rejected(why));
        }
        let Ok(canonical) = path.canonicalize() else {
            return refused("not found");
        };
        if !canonical.is_dir() {
            return refused("not a folder");
        }
        if !self
            .allowed_paths
            .iter()
            .any(|it| canonical.starts_with(it))
        {
            return refused("not allowed by --allow-path");
        }
        Ok(canonical)
    }
}

impl TaskWorkspace {
    /// The directory of the run's outputs.
    pub(super) fn run_dir(&self) -> PathBuf {
        self.task_dir.join("run")
    }

    /// Stores the specification with which this worker continues a run that another one began.
    pub(super) fn store_adopted_spec(&self, spec: &RunSpec) -> std::io::Result<()> {
        let text = serde_json::to_vec(spec)?;
        file::replace_private(&self.adopted_spec_file(), &text)
    }

    /// The stored specification, if this worker has taken the run over. Without it, the run would continue with the
    /// programs and the sandbox of another machine, so an error does not count as a missing file.
    pub(super) fn load_adopted_spec(&self) -> std::io::Result<Option<RunSpec>> {
        let file = self.adopted_spec_file();
        let describe = |error: std::io::Error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", file.display()))
        };
        match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| describe(error.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(describe(error)),
        }
    }

    fn adopted_spec_file(&self) -> PathBuf {
        self.task_dir.join("adopted-spec.json")
    }

    /// The workspace with its snapshots; `None` outside of a git repository.
    pub(super) fn open_workspace(
        &self,
        work_dirs: &WorkDirs,
    ) -> Result<Option<Workspace>, WorkspaceError> {
        let shadow = match &self.clone {
            Some(_) => self.task_dir.join("shadow"),
            None => work_dirs
                .root
                .join("shadows")
                .join(file_name_for(&self.dir)),
        };
        let workspace = Workspace::open(&self.dir, &shadow)?;
        Ok(Some(workspace).filter(Workspace::is_git))
    }

    /// Builds the context that the run's effects need, with the sandbox of the task's settings. Fails if the sandbox is
    /// required and unavailable: another worker may support it.
    pub(super) async fn build_run_context(
        &self,
        work_dirs: &WorkDirs,
        workspace: Option<Workspace>,
        spec: &RunSpec,
    ) -> Result<RunContext, SandboxUnavailableError> {
        let context = SandboxContext {
            workspace: self.dir.clone(),
            state: work_dirs.root.clone(),
            environment: env::host_env(),
        };
        let sandboxes =
            set_up_sandboxes(&spec.sandbox, &context, &Supervisor::this_program()).await?;
        let redactor = secrets::run_redactor(spec);
        Ok(RunContext {
            run_dir: self.run_dir(),
            workspace,
            baseline_cache: work_dirs.root.join("baselines"),
            verification_rooms: VerificationRoomSlot::default(),
            agents: Supervisor::this_program()
                .with_sandbox(sandboxes.agents)
                .with_redactor(redactor.clone()),
            checks: Supervisor::this_program()
                .with_sandbox(sandboxes.checks)
                .with_redactor(redactor)
                .with_env_allowlist(&spec.environment.checks)
                .with_check_slots(check_slots(&spec.environment)),
        })
    }

    pub(super) const fn is_clone(&self) -> bool {
        self.clone.is_some()
    }

    /// Commits the work in the clone; also returns its patch. Blocks.
    pub(super) fn commit(
        &self,
        task: &Task,
        id: TaskId,
        message: &str,
    ) -> Result<Option<(BranchCommit, Vec<u8>)>, CheckoutError> {
        let Some((clone, _)) = &self.clone else {
            return Ok(None);
        };
        let identity = CommitAuthor::from_git_config(&clone.tree());
        let branch_commit = clone.commit(&branch_name(task, id), message, &identity)?;
        let Some(branch_commit) = branch_commit else {
            return Ok(None);
        };
        let patch = clone.patch(&branch_commit)?;
        Ok(Some((branch_commit, patch)))
    }

    /// Pushes a commit to the repository that was cloned. Blocks.
    pub(super) fn push(&self, branch_commit: &BranchCommit) -> Result<(), CheckoutError> {
        let Some((clone, address)) = &self.clone else {
            return Ok(());
        };
        clone.push(address, branch_commit)
    }
}

/// The branch of a task; all subtasks of a plan share one.
fn branch_name(task: &Task, id: TaskId) -> String {
    let plan = task.part_of.as_ref().map(|part| part.parent_task_id);
    format!("selvedge/{}", plan.unwrap_or(id).short())
}

/// A folder of the clone; rejects a link that leads out of it.
fn resolve_subdirectory(tree: &Path, subdirectory: &str) -> Result<PathBuf, TaskWorkspaceError> {
    let dir = tree
        .join(subdirectory.trim_start_matches("./"))
        .canonicalize();
    match (dir, tree.canonicalize()) {
        (Ok(dir), Ok(tree)) if dir.starts_with(&tree) && dir.is_dir() => Ok(dir),
        _ => Err(TaskWorkspaceError::Rejected(format!(
            "folder `{subdirectory}` not found in the repository"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn adopted_spec_that_cannot_be_read_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let work_dirs = WorkDirs {
            root: root.path().join("worker"),
            allowed_paths: vec![folder.clone()],
        };
        let task = Task {
            workspace: Some(folder.to_str().unwrap().to_owned()),
            ..Task::default()
        };
        let opened = work_dirs.open_task_workspace(&task, TaskId::new(Uuid::nil()));
        let task_workspace = opened.unwrap();
        assert!(task_workspace.load_adopted_spec().unwrap().is_none());
        let file = task_workspace.adopted_spec_file();
        std::fs::write(&file, "{").unwrap();
        let error = task_workspace.load_adopted_spec().unwrap_err();
        assert!(error.to_string().contains("adopted-spec.json"), "{error}");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(task_workspace.load_adopted_spec().is_err());
    }
}
