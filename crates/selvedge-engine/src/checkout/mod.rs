//! A clone of a repository for one run to work in, and the way back of what was made there: one commit
//! on a branch of its own, given to the repository it came from, pushed, or written as a patch.
//!
//! Two directories: `tree/` is an ordinary clone, where agents and checks work and which nobody trusts
//! afterwards; `records/` is a git directory of ours that commits what stands in the tree without
//! reading a setting, hook or filter of it. The person's repository gets objects and one new branch:
//! its checkout, index and settings are neither written nor obeyed. Everything here blocks.

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

/// A clone that a run works in.
#[derive(Debug, Clone)]
pub struct Checkout {
    git: GitProgram,
    root: PathBuf,
    base: String,
}

impl Checkout {
    /// Opens one that was cloned earlier, from this commit.
    ///
    /// # Errors
    /// It is gone, or git is not installed.
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

    /// Where agents and checks work.
    pub fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// The commit that it began from.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the commit names submodules, which are not cloned.
    pub fn has_submodules(&self) -> bool {
        self.tree().join(".gitmodules").exists()
    }

    fn git_dir(&self) -> PathBuf {
        self.root.join("records")
    }
}
