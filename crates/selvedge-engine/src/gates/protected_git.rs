//! Keeps git directories out of reach of a session's code, whichever sandbox it has.

use std::path::Path;

use crate::check_error::CheckError;
use crate::process::Supervisor;
use crate::workspace::{GitProtection, ProtectedSession, WorkspaceError};

/// Folder in the run's directory.
const FOLDER: &str = "git";
/// Folder in the run's directory of `.git` entries that were moved out of the work tree, if there are any.
pub const MOVED_GIT_DIRS: &str = "git/moved";

/// The protection of a workspace's git directories, until it [ends](Self::end).
#[derive(Debug)]
pub(crate) struct ProtectedGit(GitProtection);

impl ProtectedGit {
    /// Begins the protection, and returns it with the supervisor that starts the session's processes.
    ///
    /// # Errors
    /// The workspace cannot be read, or the disk is full.
    pub(crate) async fn begin(
        workspace: &Path,
        run_dir: &Path,
        session: ProtectedSession,
        supervisor: &Supervisor,
    ) -> Result<(Self, Supervisor), CheckError> {
        if let Some(sandbox) = supervisor.sandbox() {
            sandbox.search_paths_ahead();
        }
        let sandbox = supervisor.sandbox().filter(|it| it.has_mounts()).cloned();
        let (workspace, folder) = (workspace.to_owned(), run_dir.join(FOLDER));
        let can_mount = sandbox.is_some();
        let begin = move || GitProtection::begin(&workspace, &folder, session, can_mount);
        let to_error = |error: String| CheckError::Infrastructure(error);
        let begun = tokio::task::spawn_blocking(begin).await;
        let begun: Result<GitProtection, WorkspaceError> =
            begun.map_err(|panic| to_error(panic.to_string()))?;
        let protection = begun.map_err(|error| to_error(error.to_string()))?;
        let supervisor = match sandbox {
            Some(sandbox) => supervisor
                .clone()
                .with_sandbox(Some(sandbox.with_git_mounts(protection.mounts()))),
            None => supervisor.clone(),
        };
        Ok((Self(protection), supervisor))
    }

    /// Ends the protection after all processes of the session have ended; returns descriptions of what was restored,
    /// discarded or moved away.
    pub(crate) async fn end(self) -> Vec<String> {
        let ended = tokio::task::spawn_blocking(move || self.0.end()).await;
        ended.unwrap_or_else(|panic| vec![format!(".git (not restored: {panic})")])
    }
}
