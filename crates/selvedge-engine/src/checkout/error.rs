//! What can go wrong with a clone, as fragments that fit after "failed to …:".

use std::path::PathBuf;

use crate::workspace::WorkspaceError;

/// Why a repository could not be cloned, or what was made of it not be given back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckoutError {
    /// The repository does not know the revision.
    #[error("there is no revision {revision:?} in {address}; name a branch, a tag or a commit")]
    NoRevision {
        /// What was asked for.
        revision: String,
        /// Of which repository.
        address: String,
    },
    /// The repository has no commit at all.
    #[error("{address} has no commit to begin from; commit something first")]
    NoCommits {
        /// Which repository.
        address: String,
    },
    /// The clone was removed.
    #[error("{} is no longer there", root.display())]
    CloneMissing {
        /// Where it was.
        root: PathBuf,
    },
    /// Something is in the place of the clone.
    #[error("{} is there already", root.display())]
    TargetExists {
        /// Where.
        root: PathBuf,
    },
    /// A branch would hold the names of commits that nobody has.
    #[error(
        "{} a repository of its own, of which a branch would hold nothing but the name; remove the `.git` in it, or add it as a submodule yourself",
        is_or_are(paths)
    )]
    NestedRepository {
        /// Where they are, in the tree.
        paths: Vec<String>,
    },
    /// Git, or the disk.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn is_or_are(paths: &[String]) -> String {
    match paths {
        [path] => format!("{path} is"),
        paths => format!("each of {} is", paths.join(", ")),
    }
}
