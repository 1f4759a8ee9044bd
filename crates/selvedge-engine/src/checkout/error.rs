//! Errors of a clone, as fragments that fit after "failed to …:".

use std::path::PathBuf;

use crate::workspace::WorkspaceError;

/// Why a repository could not be cloned, or its result not be delivered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckoutError {
    /// The repository does not have the revision.
    #[error("revision {revision:?} does not exist in {address}; use a branch, a tag or a commit")]
    NoRevision {
        /// The requested revision.
        revision: String,
        /// Address of the repository.
        address: String,
    },
    /// The repository has no commits.
    #[error("{address} has no commits; create one first")]
    NoCommits {
        /// Address of the repository.
        address: String,
    },
    /// A branch cannot be created because a part of its name is a branch.
    #[error(
        "{address} has a branch `{existing}`, so it cannot have the branch `{branch}`; rename the existing one: `git branch -m {existing} NEW`"
    )]
    BranchNameTaken {
        /// Address of the repository.
        address: String,
        /// Its branch.
        existing: String,
        /// The branch that would be created.
        branch: String,
    },
    /// The clone was removed.
    #[error("{} no longer exists", root.display())]
    CloneMissing {
        /// Its path.
        root: PathBuf,
    },
    /// The clone's path already exists.
    #[error("{} already exists", root.display())]
    TargetExists {
        /// The path.
        root: PathBuf,
    },
    /// A branch would contain only the ids of commits that exist nowhere else.
    #[error(
        "{} a nested repository, whose files a branch would not contain; remove its `.git`, or add it as a submodule",
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
