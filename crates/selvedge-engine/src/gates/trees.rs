//! The trees that checks are run on: before a check is run again the workspace is made byte-identical
//! to what was judged, and after the last one it is made so again, so that the tree that is delivered
//! is the tree that was verified.

use selvedge_core::model::TreeId;

use crate::checks::CheckAborted;
use crate::workspace::{self, Workspace};

/// Snapshots of one workspace, and the two trees that matter to a verification run.
#[derive(Debug, Clone)]
pub struct Trees {
    /// The snapshots.
    pub workspace: Workspace,
    /// What is judged.
    pub judged: TreeId,
    /// What the run began from.
    pub start: TreeId,
}

/// The name of a tree in the snapshots.
pub(super) fn stored(tree: &TreeId) -> Result<workspace::TreeId, workspace::WorkspaceError> {
    workspace::TreeId::parse(tree.as_str())
}

/// Makes the workspace equal to a tree; says whether it was not.
pub(crate) async fn settle(workspace: &Workspace, tree: &TreeId) -> Result<bool, CheckAborted> {
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
