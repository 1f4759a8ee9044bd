//! A clone of a repository in which one run works, and the delivery of its result: one commit on
//! its own branch, given to the repository it came from, pushed, or written as a patch.
//!
//! Two directories: `tree/` is an ordinary clone, where agents and checks work and which is not
//! trusted afterwards; `records/` is our own git directory, which commits the content of the tree
//! without reading its settings, hooks or filters. The person's repository gets objects and one new
//! branch: its checkout, index and settings are neither written nor obeyed. All functions here
//! block.

mod address;
mod clone;
mod commit;
mod copied_files;
mod deliver;
mod error;

use std::path::{Path, PathBuf};

use crate::workspace::git::GitProgram;

pub use address::{RepositoryAddress, RepositoryAddressError};
pub use commit::{BranchCommit, CommitAuthor};
pub use error::CheckoutError;

/// A clone in which a run works.
#[derive(Debug, Clone)]
pub struct Checkout {
    git: GitProgram,
    root: PathBuf,
    base: String,
}

impl Checkout {
    /// Opens an existing clone that was made from this commit.
    ///
    /// # Errors
    ///
    /// The clone is gone, or git is not installed.
    pub fn open(root: &Path, base: &str) -> Result<Self, CheckoutError> {
        let root = root
            .canonicalize()
            .map_err(|_| CheckoutError::CloneMissing {
                root: root.to_owned(),
            })?;
        let checkout = Self {
            git: GitProgram::find(&root)?,
            base: base.to_owned(),
            root,
        };
        if checkout.tree().join(".git").exists() && checkout.git_dir().is_dir() {
            Ok(checkout)
        } else {
            Err(CheckoutError::CloneMissing {
                root: checkout.root,
            })
        }
    }

    /// The directory in which agents and checks work.
    pub fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// The commit from which the clone was made.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the commit contains submodules, which are not cloned.
    pub fn has_submodules(&self) -> bool {
        self.tree().join(".gitmodules").exists()
    }

    fn git_dir(&self) -> PathBuf {
        self.root.join("records")
    }
}
