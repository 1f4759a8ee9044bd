//! A revision of the person's repository, laid out in a folder of its own. The repository there is one
//! of ours, which borrows the objects of theirs: no filter, hook or other setting of theirs applies,
//! and nothing of theirs is written, not even a list of work trees.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::canonical_dir;
use super::error::WorkspaceError;
use super::git::{GitProgram, output_of};
use super::repository::Repository;

const DOING: &str = "check out a revision";

/// Lays out the revision of the repository that holds `dir` in the empty folder `into`; gives the
/// place there that stands for `dir`. Files of submodules and of large-file storage are not there.
///
/// # Errors
/// `dir` is in no repository, git does not know the revision, or it cannot be written.
pub fn check_out(dir: &Path, revision: &str, into: &Path) -> Result<PathBuf, WorkspaceError> {
    let (dir, into) = (canonical_dir(dir)?, canonical_dir(into)?);
    let git = GitProgram::find(&dir)?;
    let theirs = Repository::containing(&dir);
    let theirs = theirs.ok_or_else(|| WorkspaceError::NotARepository { dir: dir.clone() })?;

    let mut resolve = git.command(theirs.git_dir(), theirs.root());
    resolve.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
    resolve.arg(format!("{revision}^{{commit}}"));
    let commit = output_of(resolve, "find the revision", &dir)?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();

    let ours = into.join(".git");
    let call = |args: &[&str]| {
        let mut command = git.command(&ours, &into);
        command.args(args);
        output_of(command, DOING, &into)
    };
    let format = match commit.len() {
        64 => "--object-format=sha256",
        _ => "--object-format=sha1",
    };
    call(&["init", "--quiet", "--template=", format])?;
    let info = ours.join("objects/info");
    let borrowed = [theirs.objects().as_os_str().as_bytes(), b"\n"].concat();
    fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("alternates"), borrowed))
        .map_err(|error| WorkspaceError::io(DOING, &info, error))?;
    call(&["update-ref", "--no-deref", "HEAD", &commit])?;
    call(&["read-tree", &commit])?;
    call(&["checkout-index", "--all", "--quiet"])?;
    let within = dir.strip_prefix(theirs.root()).unwrap_or(Path::new(""));
    Ok(into.join(within))
}
