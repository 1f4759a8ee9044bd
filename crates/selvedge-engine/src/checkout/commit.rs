//! Commits the content of the tree without using the clone's own settings: an agent could have
//! written them. The agent's own commits become one commit on top of the base.

use std::path::Path;
use std::process::Command;

use super::{Checkout, CheckoutError};
use crate::workspace::{git, is_cache};

const DOING: &str = "commit the work";

/// Author of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitAuthor {
    /// The author's name.
    pub name: String,
    /// The author's email address, which need not exist.
    pub email: String,
}

impl CommitAuthor {
    /// The person's identity as configured for git in `dir`; otherwise this program's.
    pub fn from_git_config(dir: &Path) -> Self {
        let ask = |key: &str| {
            let git = git::GitProgram::find(dir).ok()?;
            let mut command = git.user_command(dir);
            command.args(["config", "--global", "--includes", "--get", key]);
            let answer = git::run(command, "read the settings", dir).ok()?;
            let text = String::from_utf8(answer.stdout).ok()?.trim().to_owned();
            (answer.status.success() && !text.is_empty()).then_some(text)
        };
        Self {
            name: ask("user.name").unwrap_or_else(|| "Selvedge".to_owned()),
            email: ask("user.email").unwrap_or_else(|| "selvedge@localhost".to_owned()),
        }
    }
}

/// A commit on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchCommit {
    /// The commit's id.
    pub commit: String,
    /// The branch's name, without `refs/heads/`.
    pub branch: String,
}

impl Checkout {
    /// Commits the content of the tree to `branch`, on top of the base; returns `None` if it is
    /// equal to the base. Ignored files are not committed, and filters (large-file storage) are not
    /// applied.
    ///
    /// # Errors
    ///
    /// Git fails, or the disk is full.
    pub fn commit(
        &self,
        branch: &str,
        message: &str,
        by: &CommitAuthor,
    ) -> Result<Option<BranchCommit>, CheckoutError> {
        self.run_git(&["read-tree", &self.base])?;
        // Copied files are not part of the work, even if the rules that ignore them have changed.
        let taken = self.copied_files().into_iter();
        let taken: Vec<String> = taken
            .map(|path| format!(":(exclude,literal){path}"))
            .collect();
        let mut add = vec!["add", "--all", "--", "."];
        add.extend(taken.iter().map(String::as_str));
        self.run_git(&add)?;
        self.reject_nested_repositories()?;
        let tree = self.run_git(&["write-tree"])?;
        if tree == self.run_git(&["rev-parse", &format!("{}^{{tree}}", self.base)])? {
            return Ok(None);
        }
        let mut command = self.command(&["commit-tree", &tree, "-p", &self.base]);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), &by.name);
            command.env(format!("GIT_{role}_EMAIL"), &by.email);
        }
        let made = git::output_with_input(command, message.as_bytes().to_vec(), DOING, &self.root)?;
        let commit = text(&made);
        self.run_git(&["update-ref", &format!("refs/heads/{branch}"), &commit])?;
        Ok(Some(BranchCommit {
            commit,
            branch: branch.to_owned(),
        }))
    }

    /// Lists files in the tree that no commit includes because git ignores them, except folders
    /// that tools fill and can fill again, and copied files. A folder that is ignored as a whole
    /// counts once.
    ///
    /// # Errors
    ///
    /// Git fails.
    pub fn ignored_files(&self) -> Result<Vec<String>, CheckoutError> {
        let mut command = self.command(&["ls-files", "--others", "--ignored"]);
        command.args(["--exclude-standard", "--directory", "-z"]);
        let output = git::output_of(command, DOING, &self.root)?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let paths = text.split('\0').filter(|path| !path.is_empty());
        let is_made = |path: &&str| path.split('/').any(|name| is_cache(name.as_ref()));
        let taken = self.copied_files();
        Ok(paths
            .filter(|path| !is_made(path) && !taken.iter().any(|it| it == path))
            .map(str::to_owned)
            .collect())
    }

    /// A nested repository would be committed only as the id of a commit that exists nowhere else.
    fn reject_nested_repositories(&self) -> Result<(), CheckoutError> {
        const REPOSITORY: &str = "160000";
        let changes = self.run_git(&["diff-index", "--cached", "--raw", &self.base])?;
        let nested = changes.lines().filter_map(|change| {
            let (what, path) = change.split_once('\t')?;
            (what.split(' ').nth(1) == Some(REPOSITORY)).then(|| path.to_owned())
        });
        let paths: Vec<String> = nested.collect();
        if paths.is_empty() {
            Ok(())
        } else {
            Err(CheckoutError::NestedRepository { paths })
        }
    }

    /// The changes of a commit, as a patch that `git apply` accepts, including binary files.
    ///
    /// # Errors
    ///
    /// Git fails.
    pub fn patch(&self, made: &BranchCommit) -> Result<Vec<u8>, CheckoutError> {
        let options = ["--binary", "--full-index", "--no-ext-diff", "--no-textconv"];
        let mut command = self.command(&["diff"]);
        command.args(options).args([&self.base, &made.commit, "--"]);
        Ok(git::output_of(command, "write the patch", &self.root)?)
    }

    /// A git command on our own git directory, about the tree.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.git.command(&self.git_dir(), &self.tree());
        command
            .env("GIT_WORK_TREE", self.tree())
            .env("GIT_INDEX_FILE", self.git_dir().join("index"))
            .args(["-c", "advice.addEmbeddedRepo=false"])
            .args(args);
        command
    }

    fn run_git(&self, args: &[&str]) -> Result<String, CheckoutError> {
        Ok(text(&git::output_of(
            self.command(args),
            DOING,
            &self.root,
        )?))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
