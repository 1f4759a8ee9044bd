//! Checks out a revision of the user's repository into a separate folder, which gets a new repository that borrows the
//! objects of theirs. Therefore no filter, hook or other setting of their repository applies, and nothing is written to
//! it, not even its list of work trees.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::canonical_dir;
use super::error::WorkspaceError;
use super::git::{GitProgram, output_of};
use super::repository::Repository;

const DOING: &str = "check out a revision";

/// Checks out a revision of the repository that contains `dir` into the empty folder `into`. Returns the path in it
/// that corresponds to `dir`. Submodules and large-file storage are not included.
///
/// # Errors
/// `dir` is not in a repository, the revision is unknown, or the files cannot be written.
pub fn check_out(dir: &Path, revision: &str, into: &Path) -> Result<PathBuf, WorkspaceError> {
    let (dir, into) = (canonical_dir(dir)?, canonical_dir(into)?);
    let git = GitProgram::find(&dir)?;
    let source = Repository::containing(&dir);
    let source = source.ok_or_else(|| WorkspaceError::NotARepository { dir: dir.clone() })?;

    let mut resolve = git.command(source.git_dir(), source.root());
    resolve.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
    resolve.arg(format!("{revision}^{{commit}}"));
    let commit = output_of(resolve, "find the revision", &dir)?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();

    let git_dir = into.join(".git");
    let call = |args: &[&str]| {
        let mut command = git.command(&git_dir, &into);
        command.args(args);
        output_of(command, DOING, &into)
    };
    let format = match commit.len() {
        64 => "--object-format=sha256",
        _ => "--object-format=sha1",
    };
    call(&["init", "--quiet", "--template=", format])?;
    let info = git_dir.join("objects/info");
    let alternates = [source.objects().as_os_str().as_bytes(), b"\n"].concat();
    fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("alternates"), alternates))
        .map_err(|error| WorkspaceError::io(DOING, &info, error))?;
    call(&["update-ref", "--no-deref", "HEAD", &commit])?;
    call(&["read-tree", &commit])?;
    call(&["checkout-index", "--all", "--quiet"])?;
    let relative = dir.strip_prefix(source.root()).unwrap_or(Path::new(""));
    Ok(into.join(relative))
}
