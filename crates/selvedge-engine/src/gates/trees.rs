//! Trees that checks run on. Before a check is run again, and after the last check, the workspace is made
//! byte-identical to the judged tree, so that the delivered tree is the verified one.

use std::path::Path;

use selvedge_core::model::TreeId;

use crate::check_error::CheckError;
use crate::workspace::{FileStatIndex, VerificationRoom, Workspace, WorkspaceError};

const CANNOT_RESTORE: &str = "cannot restore the snapshot";

/// Snapshots of one workspace, and the two trees that a verification needs.
#[derive(Debug, Clone)]
pub struct VerificationTrees {
    /// The snapshots.
    pub workspace: Workspace,
    /// The tree that is judged.
    pub judged: TreeId,
    /// The tree that the run began from.
    pub start: TreeId,
    /// The verification room, if checks do not run in the workspace itself; the snapshots are then the room's.
    pub(crate) verification_room: Option<VerificationRoom>,
}

impl VerificationTrees {
    /// Trees for checks that run in the workspace itself.
    pub fn in_place(workspace: Workspace, judged: TreeId, start: TreeId) -> Self {
        Self {
            workspace,
            judged,
            start,
            verification_room: None,
        }
    }

    /// The folder with the installed tools.
    pub(super) fn tools_root(&self) -> &Path {
        match &self.verification_room {
            Some(room) => room.origin(),
            None => self.workspace.dir(),
        }
    }

    /// Makes the folder where checks run equal to a tree; returns whether it differed.
    pub(crate) async fn ensure_tree(&self, tree: &TreeId) -> Result<bool, CheckError> {
        match self.verification_room.clone() {
            None => ensure_workspace_tree(&self.workspace, tree).await,
            Some(room) => {
                let tree = tree.clone();
                let enter = move |_: &Workspace| Ok(room.enter(&tree)?.differed);
                run_blocking(&self.workspace, CANNOT_RESTORE, enter).await
            }
        }
    }

    /// Makes a room equal to a tree, and returns its files if they are known.
    pub(super) async fn enter_and_list(
        &self,
        room: VerificationRoom,
        tree: &TreeId,
    ) -> Result<Option<FileStatIndex>, CheckError> {
        let tree = tree.clone();
        let enter = move |_: &Workspace| Ok(room.files_of(room.enter(&tree)?));
        run_blocking(&self.workspace, CANNOT_RESTORE, enter).await
    }

    /// Makes the folder equal to the judged tree after checks have run on it, and discards what they built.
    pub(super) async fn reset_to_judged_tree(&self) -> Result<bool, CheckError> {
        self.reset_to(&self.judged).await
    }

    /// Makes the folder equal to a tree after commands have run on it, and discards what they built.
    pub(super) async fn reset_to(&self, tree: &TreeId) -> Result<bool, CheckError> {
        if let Some(room) = &self.verification_room {
            room.forget_entered_tree();
        }
        self.ensure_tree(tree).await
    }
}

/// Makes the workspace equal to a tree; returns whether it differed.
pub(super) async fn ensure_workspace_tree(
    workspace: &Workspace,
    tree: &TreeId,
) -> Result<bool, CheckError> {
    let tree = tree.clone();
    run_blocking(workspace, CANNOT_RESTORE, move |workspace| {
        workspace.ensure_tree(&tree)
    })
    .await
}

/// Runs a blocking operation on the workspace; see [`CheckError::of_workspace`].
pub(crate) async fn run_blocking<T: Send + 'static>(
    workspace: &Workspace,
    what: &str,
    work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, CheckError> {
    let workspace = workspace.clone();
    let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
    let done = done.map_err(|panic| CheckError::Infrastructure(panic.to_string()))?;
    done.map_err(|error| CheckError::of_workspace(what, &error))
}
