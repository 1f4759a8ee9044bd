//! The repository's own folder in a room: as it was when the room was made, but for what an agent has committed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::DOING;
use super::files::{copy, is_folder, make_folder, remove_all};
use crate::workspace::error::WorkspaceError;
use crate::workspace::repository::Repository;
use crate::workspace::{Workspace, git};

/// The folder in a room with the copy from which that of each tree is made.
const GIT_DIR_COPY: &str = "records";

/// Parts of a repository's own folder that are not copied: objects are mounted, and the rest does not concern the work.
const NOT_COPIED: [&str; 8] = [
    "objects",
    "modules",
    "worktrees",
    "lfs",
    "annex",
    "logs",
    "gc.log",
    "fsmonitor--daemon",
];
/// Parts that change with commits.
const COMMIT_DEPENDENT_PARTS: [&str; 4] = ["HEAD", "packed-refs", "refs", "index"];

/// Copies a repository's own folder but for its objects, and the ignore rules above the workspace.
pub(super) fn copy_git_dir(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    let Some(repository) = &origin.repository else {
        return Ok(());
    };
    let root = folder.join("root");
    if has_own_git_dir(repository) {
        let (theirs, ours) = (repository.git_dir(), folder.join(GIT_DIR_COPY));
        make_folder(&ours)?;
        let entries = fs::read_dir(theirs).map_err(|e| WorkspaceError::io(DOING, theirs, e))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_copied = !NOT_COPIED.iter().any(|it| name == OsStr::new(it))
                && !name.as_bytes().ends_with(b".lock");
            if is_copied && is_plain(&entry.path()) {
                copy(&entry.path(), &ours.join(&name))?;
            }
        }
        let info = ours.join("objects/info");
        make_folder(&info)?;
        // As they are called in the room, and here.
        let here = repository.objects();
        let shared = [b"../shared-objects\n", here.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(info.join("alternates"), shared)
            .map_err(|error| WorkspaceError::io(DOING, &info, error))?;
    }
    let above = origin.dir.ancestors().skip(1);
    for above in above.take_while(|above| above.starts_with(repository.root())) {
        let below = above.strip_prefix(repository.root()).unwrap_or(above);
        let from = above.join(".gitignore");
        if is_plain(&from) {
            copy(&from, &root.join(below).join(".gitignore"))?;
        }
    }
    Ok(())
}

/// Makes the repository's own folder from the copy, with the agent's commits. The list of tracked files is read from the
/// commit unless it is as it was: its entries can hide changes from git.
pub(super) fn refresh_git_dir(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    let Some(repository) = &origin.repository else {
        return Ok(());
    };
    let (theirs, ours) = (repository.git_dir(), folder.join("root/.git"));
    remove_all(&ours)?;
    if !has_own_git_dir(repository) {
        let theirs = fs::canonicalize(theirs);
        let theirs = theirs.map_err(|error| WorkspaceError::io(DOING, &ours, error))?;
        let pointer = [b"gitdir: ", theirs.as_os_str().as_bytes(), b"\n"].concat();
        return fs::write(&ours, pointer).map_err(|e| WorkspaceError::io(DOING, &ours, e));
    }
    copy(&folder.join(GIT_DIR_COPY), &ours)?;
    let read = |path: &Path| fs::read(path).unwrap_or_default();
    let before = read(&ours.join("index"));
    for name in COMMIT_DEPENDENT_PARTS {
        let (from, to) = (theirs.join(name), ours.join(name));
        remove_all(&to)?;
        if is_plain(&from) {
            copy(&from, &to)?;
        }
    }
    let index = ours.join("index");
    if read(&index) == before {
        return Ok(());
    }
    remove_all(&index)?;
    let place = repository.root();
    let mut command = origin.git.command(theirs, place);
    command.args(["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]);
    let found = git::run(command, DOING, place)?;
    if !found.status.success() {
        // Before the first commit no file is tracked.
        return Ok(());
    }
    let tree = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let reader = origin.shadow.reader(repository.object_format());
    let mut command = origin.git.command(&reader, place);
    command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repository.objects());
    command.env("GIT_INDEX_FILE", &index);
    command.args(["read-tree", &tree]);
    if !git::run(command, DOING, place)?.status.success() {
        // An agent has damaged objects: the checks that ask git fail.
        remove_all(&index)?;
    }
    Ok(())
}

/// Whether a repository's own folder is in its root, and not a link or pointer to another place.
fn has_own_git_dir(repository: &Repository) -> bool {
    is_folder(&repository.root().join(".git"))
}

fn is_plain(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|data| data.is_file() || data.is_dir())
}
