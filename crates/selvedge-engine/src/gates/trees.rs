//! The trees that checks are run on: before a check is run again the workspace is made byte-identical
//! to what was judged, and after the last one it is made so again, so that the tree that is delivered
//! is the tree that was verified.

use std::path::Path;

use selvedge_core::model::TreeId;

use crate::checks::CheckAborted;
use crate::workspace::{self, Room, Workspace};

/// Snapshots of one workspace, and the two trees that matter to a verification run.
#[derive(Debug, Clone)]
pub struct Trees {
    /// The snapshots.
    pub workspace: Workspace,
    /// What is judged.
    pub judged: TreeId,
    /// What the run began from.
    pub start: TreeId,
    /// The room that checks run in, if not in the workspace itself; the snapshots are then the room's.
    pub(crate) room: Option<Room>,
}

impl Trees {
    /// Trees of a workspace in which the checks run themselves.
    pub fn in_place(workspace: Workspace, judged: TreeId, start: TreeId) -> Self {
        Self {
            workspace,
            judged,
            start,
            room: None,
        }
    }

    /// The folder with the installed tools.
    pub(super) fn installed_in(&self) -> &Path {
        match &self.room {
            Some(room) => room.origin(),
            None => self.workspace.dir(),
        }
    }

    /// Makes the folder where checks run equal to a tree; returns whether it differed.
    pub(crate) async fn settle(&self, tree: &TreeId) -> Result<bool, CheckAborted> {
        match self.room.clone() {
            None => settle(&self.workspace, tree).await,
            Some(room) => {
                let tree = tree.clone();
                let enter = move |_: &Workspace| room.enter(&stored(&tree)?);
                blocking(&self.workspace, "cannot put the tree back", enter).await
            }
        }
    }

    /// The same, of the tree that is judged, where checks have run on it already: what they built is not kept.
    pub(super) async fn settle_anew(&self) -> Result<bool, CheckAborted> {
        if let Some(room) = &self.room {
            room.leave();
        }
        self.settle(&self.judged).await
    }
}

/// The name of a tree in the snapshots.
pub(super) fn stored(tree: &TreeId) -> Result<workspace::TreeId, workspace::WorkspaceError> {
    workspace::TreeId::parse(tree.as_str())
}

/// Makes the workspace equal to a tree; says whether it was not.
pub(super) async fn settle(workspace: &Workspace, tree: &TreeId) -> Result<bool, CheckAborted> {
    let tree = tree.clone();
    blocking(workspace, "cannot put the tree back", move |workspace| {
        workspace.settle(&stored(&tree)?)
    })
    .await
}

/// Does something that blocks with the workspace; whatever goes wrong is infrastructure.
pub(super) async fn blocking<T: Send + 'static>(
    workspace: &Workspace,
    what: &str,
    work: impl FnOnce(&Workspace) -> Result<T, workspace::WorkspaceError> + Send + 'static,
) -> Result<T, CheckAborted> {
    let workspace = workspace.clone();
    let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
    let done = done.map_err(|panic| CheckAborted::Infrastructure(panic.to_string()))?;
    done.map_err(|error| CheckAborted::Infrastructure(format!("{what}: {error}")))
}
