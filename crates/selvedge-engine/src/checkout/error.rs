//! Errors of a clone, as fragments that fit after "failed to …:".

use std::path::PathBuf;

use crate::workspace::WorkspaceError;

/// Why a repository could not be cloned, or its result not be delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckoutError {
    /// The repository does not have the revision.
    #[error("there is no revision {revision:?} in {address}; name a branch, a tag or a commit")]
    NoRevision {
        /// The requested revision.
        revision: String,
        /// Address of the repository.
        address: String,
    },
    /// The repository has no commits.
    #[error("{address} has no commit to begin from; commit something first")]
    NoCommits {
        /// Address of the repository.
        address: String,
    },
    /// The clone was removed.
    #[error("{} is no longer there", root.display())]
    CloneMissing {
        /// Its path.
        root: PathBuf,
    },
    /// The clone's path already exists.
    #[error("{} is there already", root.display())]
    TargetExists {
        /// The path.
        root: PathBuf,
    },
    /// A branch would contain only the ids of commits that exist nowhere else.
    #[error(
        "{} a repository of its own, of which a branch would hold nothing but the name; remove the `.git` in it, or add it as a submodule yourself",
        is_or_are(paths)
    )]
    NestedRepository {
        /// Their paths in the tree.
        paths: Vec<String>,
    },
    /// An error of git or of the disk.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn is_or_are(paths: &[String]) -> String {
    match paths {
        [path] => format!("{path} is"),
        paths => format!("each of {} is", paths.join(", ")),
    }
}
