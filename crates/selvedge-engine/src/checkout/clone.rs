//! Cloning with the person's credentials, but without the settings by which a repository could make
//! git run programs.

use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Checkout, CheckoutError, RepositoryAddress};
use crate::removal::remove_all;
use crate::workspace::WorkspaceError;
use crate::workspace::git::{self, GitProgram};
use crate::workspace::repository::ObjectFormat;
use crate::workspace::shadow::init_git_dir;

const DOING: &str = "clone the repository";
/// Time limit of a clone or a push.
pub(super) const NETWORK_TIMEOUT: Duration = Duration::from_mins(30);

impl Checkout {
    /// Clones a repository into `root`, which must not exist yet, and checks `revision` out on a
    /// new branch (the default branch if `None`). Submodules are not cloned, and nothing is shared
    /// with a repository on this machine: work in the clone cannot damage it.
    ///
    /// # Errors
    ///
    /// The repository cannot be reached or does not have the revision, or the disk is full. Nothing
    /// is left behind.
    pub fn clone(
        address: &RepositoryAddress,
        revision: Option<&str>,
        branch: &str,
        root: &Path,
    ) -> Result<Self, CheckoutError> {
        if root.exists() {
            return Err(CheckoutError::TargetExists {
                root: root.to_owned(),
            });
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .map_err(|e| WorkspaceError::io("create the folder", root, e))?;
        let cloned = Self::clone_into(address, revision, branch, root);
        if cloned.is_err() {
            // The original error is more useful than one of the removal.
            let _ = remove_all(root);
        }
        cloned
    }

    fn clone_into(
        address: &RepositoryAddress,
        revision: Option<&str>,
        branch: &str,
        root: &Path,
    ) -> Result<Self, CheckoutError> {
        let root = root
            .canonicalize()
            .map_err(|e| WorkspaceError::io("find the folder", root, e))?;
        let git = GitProgram::find(&root)?;
        let tree = root.join("tree");
        let mut clone = git.user_command(&root);
        clone
            .args(["clone", "--quiet", "--no-checkout", "--no-hardlinks"])
            .args(["--template=", "--no-recurse-submodules", "--"])
            .arg(address.as_str())
            .arg(&tree);
        run_with_timeout(clone, DOING, &root)?;
        // The branch of the repository's HEAD is one of the clone, too.
        ensure_branch_is_possible(&git, &tree, address, "refs/heads", branch)?;
        let base = resolve_revision(&git, &tree, revision)?.ok_or_else(|| match revision {
            Some(revision) => CheckoutError::NoRevision {
                revision: revision.to_owned(),
                address: address.to_string(),
            },
            None => CheckoutError::NoCommits {
                address: address.to_string(),
            },
        })?;
        let mut checkout = git.user_command(&tree);
        checkout
            .args([
                "checkout",
                "--quiet",
                "--no-recurse-submodules",
                "-B",
                branch,
            ])
            .args([&base, "--"]);
        run_with_timeout(checkout, "check out the revision", &tree)?;
        let checkout = Self { git, root, base };
        checkout.init_git_dir()?;
        Ok(checkout)
    }

    /// Ensures that the repository can have this branch: no existing branch has the name of one of its parent folders.
    ///
    /// # Errors
    ///
    /// [`CheckoutError::BranchNameTaken`], or git fails.
    pub fn ensure_deliverable(
        &self,
        address: &RepositoryAddress,
        branch: &str,
    ) -> Result<(), CheckoutError> {
        ensure_branch_is_possible(
            &self.git,
            &self.tree(),
            address,
            "refs/remotes/origin",
            branch,
        )
    }

    /// Creates our git directory, which borrows the objects of the clone.
    fn init_git_dir(&self) -> Result<(), CheckoutError> {
        let records = self.git_dir();
        let format = match self.base.len() {
            64 => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        };
        init_git_dir(&records, format)?;
        let info = records.join("objects/info");
        let borrowed = [
            self.tree().join(".git/objects").as_os_str().as_bytes(),
            b"\n",
        ]
        .concat();
        fs::create_dir_all(&info)
            .and_then(|()| fs::write(info.join("alternates"), borrowed))
            .map_err(|error| WorkspaceError::io(DOING, &info, error).into())
    }
}

/// Git stores a branch `a` as a file, so there cannot be a branch `a/b`.
fn ensure_branch_is_possible(
    git: &GitProgram,
    tree: &Path,
    address: &RepositoryAddress,
    prefix: &str,
    branch: &str,
) -> Result<(), CheckoutError> {
    for existing in Path::new(branch).ancestors().skip(1) {
        let existing = existing.to_string_lossy();
        if existing.is_empty() {
            break;
        }
        let mut command = git.command(&tree.join(".git"), tree);
        command.args(["show-ref", "--verify", "--quiet", "--"]);
        command.arg(format!("{prefix}/{existing}"));
        if git::run(command, "list the branches", tree)?
            .status
            .success()
        {
            return Err(CheckoutError::BranchNameTaken {
                address: address.to_string(),
                existing: existing.into_owned(),
                branch: branch.to_owned(),
            });
        }
    }
    Ok(())
}

/// Resolves the revision that a person gave: a branch of the repository has precedence over a tag,
/// and a tag over any other name that git knows.
fn resolve_revision(
    git: &GitProgram,
    tree: &Path,
    revision: Option<&str>,
) -> Result<Option<String>, CheckoutError> {
    let names = match revision {
        None => vec!["HEAD".to_owned()],
        Some(name) => vec![
            format!("refs/remotes/origin/{name}"),
            format!("refs/tags/{name}"),
            name.to_owned(),
        ],
    };
    for name in names {
        let mut command = git.command(&tree.join(".git"), tree);
        command
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"));
        let output = git::run(command, "find the revision", tree)?;
        if output.status.success() {
            return Ok(Some(
                String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            ));
        }
    }
    Ok(None)
}

/// Runs a git command that may have to wait for a network.
pub(super) fn run_with_timeout(
    command: Command,
    doing: &'static str,
    place: &Path,
) -> Result<Vec<u8>, WorkspaceError> {
    git::output_within(command, NETWORK_TIMEOUT, doing, place)
}
