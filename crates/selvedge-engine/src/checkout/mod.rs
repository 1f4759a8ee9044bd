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
mod deliver;
mod error;
mod taken;

use std::path::{Path, PathBuf};

use crate::workspace::git::Git;

pub use address::{Address, AddressError};
pub use commit::{Identity, Made};
pub use error::CheckoutError;

/// A clone that a run works in.
#[derive(Debug, Clone)]
pub struct Checkout {
    git: Git,
    root: PathBuf,
    base: String,
}

impl Checkout {
    /// Opens one that was cloned earlier, from this commit.
    ///
    /// # Errors
    /// It is gone, or git is not installed.
    pub fn open(root: &Path, base: &str) -> Result<Self, CheckoutError> {
        let root = root.canonicalize().map_err(|_| CheckoutError::Gone {
            root: root.to_owned(),
        })?;
        let checkout = Self {
            git: Git::find(&root)?,
            base: base.to_owned(),
            root,
        };
        if checkout.tree().join(".git").exists() && checkout.records().is_dir() {
            Ok(checkout)
        } else {
            Err(CheckoutError::Gone {
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

    fn records(&self) -> PathBuf {
        self.root.join("records")
    }
}
