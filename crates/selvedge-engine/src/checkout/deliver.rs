//! Delivers a commit: as a branch of a repository on this machine, or by a push.

use std::path::Path;

use super::clone::run_with_timeout;
use super::{BranchCommit, Checkout, CheckoutError, RepositoryAddress};
use crate::workspace::WorkspaceError;
use crate::workspace::git;
use crate::workspace::repository::Repository;

const DELIVERING: &str = "deliver the branch";

impl Checkout {
    /// Makes the commit a new branch of the repository in `dir`. Writes only objects and one ref:
    /// its checkout, index and settings stay unchanged, and none of its hooks runs.
    ///
    /// # Errors
    ///
    /// `dir` is not in a repository, has a branch of that name with other content, or cannot be
    /// written.
    pub fn deliver_to(&self, dir: &Path, made: &BranchCommit) -> Result<(), CheckoutError> {
        let theirs = Repository::containing(dir).ok_or_else(|| WorkspaceError::NotARepository {
            dir: dir.to_owned(),
        })?;
        let new = format!("^{}", self.base);
        let names = git::output_of(
            self.command(&[
                "rev-list",
                "--objects",
                "--no-object-names",
                &made.commit,
                &new,
            ]),
            DELIVERING,
            &self.root,
        )?;
        let packing = self.command(&["pack-objects", "--quiet", "--stdout"]);
        let pack = git::output_with_input(packing, names, DELIVERING, &self.root)?;
        // Writes to their object store through our git directory, so that none of their settings is
        // read.
        let mut unpacking = self.command(&["unpack-objects", "-q", "--strict"]);
        unpacking.env("GIT_OBJECT_DIRECTORY", theirs.objects());
        git::output_with_input(unpacking, pack, DELIVERING, dir)?;
        let mut naming = self.git.command(&theirs.common_git_dir(), theirs.root());
        naming.args(["update-ref", "--create-reflog"]);
        naming.args(["-m", "selvedge: a run's work"]);
        naming.args([&format!("refs/heads/{}", made.branch), &made.commit]);
        naming.env("GIT_COMMITTER_NAME", "Selvedge");
        naming.env("GIT_COMMITTER_EMAIL", "selvedge@localhost");
        git::output_of(naming, DELIVERING, dir)?;
        Ok(())
    }

    /// Pushes the commit as a branch of that name.
    ///
    /// # Errors
    ///
    /// The repository cannot be reached or rejects it.
    pub fn push(
        &self,
        address: &RepositoryAddress,
        made: &BranchCommit,
    ) -> Result<(), CheckoutError> {
        let mut push = self.git.user_command(&self.root);
        push.env("GIT_DIR", self.git_dir());
        push.args([
            "push",
            "--quiet",
            "--no-verify",
            "--recurse-submodules=no",
            "--",
        ]);
        push.arg(address.as_str());
        push.arg(format!("{}:refs/heads/{}", made.commit, made.branch));
        run_with_timeout(push, "push the branch", &self.root)?;
        Ok(())
    }
}
