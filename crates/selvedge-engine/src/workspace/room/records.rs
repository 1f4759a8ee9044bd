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

/// What of a repository's own folder is not copied: objects are shown, and the rest is not for reading the work.
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
/// What of it an agent may rightly change: commits, and where they stand.
const FOLLOWED: [&str; 4] = ["HEAD", "packed-refs", "refs", "index"];

/// Copies a repository's own folder but for its objects, or the pointer to it; and the ignore rules above the
/// workspace.
pub(super) fn copy_records(
    origin: &Workspace,
    repository: &Repository,
    root: &Path,
) -> Result<(), WorkspaceError> {
    let (theirs, ours) = (repository.records(), root.join(".git"));
    let is_own = theirs == repository.root().join(".git");
    if is_own {
        make_folder(&ours)?;
        let entries = fs::read_dir(theirs).map_err(|e| WorkspaceError::io(DOING, theirs, e))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_copied = !NOT_COPIED.iter().any(|it| name == OsStr::new(it))
                && !name.as_bytes().ends_with(b".lock");
            let is_plain = entry
                .file_type()
                .is_ok_and(|kind| kind.is_file() || kind.is_dir());
            if is_copied && is_plain {
                copy(&entry.path(), &ours.join(&name))?;
            }
        }
        let info = ours.join("objects/info");
        make_folder(&info)?;
        // As it is called in the room, and here.
        let here = repository.objects();
        let shared = [b"../shared-objects\n", here.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(info.join("alternates"), shared)
            .map_err(|error| WorkspaceError::io(DOING, &info, error))?;
        let index = theirs.join("index");
        if index.symlink_metadata().is_ok_and(|data| data.is_file()) {
            let kept = root.with_file_name("index");
            fs::copy(&index, &kept).map_err(|e| WorkspaceError::io(DOING, &kept, e))?;
        }
    } else {
        let pointer = [b"gitdir: ", theirs.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(&ours, pointer).map_err(|error| WorkspaceError::io(DOING, &ours, error))?;
    }
    let above = origin.dir.ancestors().skip(1);
    for folder in above.take_while(|folder| folder.starts_with(repository.root())) {
        let below = folder.strip_prefix(repository.root()).unwrap_or(folder);
        let (from, to) = (
            folder.join(".gitignore"),
            root.join(below).join(".gitignore"),
        );
        if from.symlink_metadata().is_ok_and(|data| data.is_file()) {
            fs::copy(&from, &to).map_err(|error| WorkspaceError::io(DOING, &to, error))?;
        }
    }
    Ok(())
}

/// Takes over what an agent has committed. Everything else of the repository's own folder stays as it was; the
/// list of tracked files is made from the commit if it is not as it was.
pub(super) fn follow_commits(
    origin: &Workspace,
    tree: &Path,
    folder: &Path,
) -> Result<(), WorkspaceError> {
    let Some(repository) = &origin.repository else {
        return Ok(());
    };
    let records = folder.join("root/.git");
    let theirs = repository.records();
    if !records.is_dir() || !is_folder(&records) {
        return Ok(());
    }
    for name in FOLLOWED {
        let (from, to) = (theirs.join(name), records.join(name));
        remove_all(&to)?;
        let is_plain = from
            .symlink_metadata()
            .is_ok_and(|data| data.is_file() || data.is_dir());
        if is_plain {
            copy(&from, &to)?;
        }
    }
    let index = records.join("index");
    let read = |path: &Path| fs::read(path).unwrap_or_default();
    if read(&index) == read(&folder.join("index")) {
        return Ok(());
    }
    remove_all(&index)?;
    let mut command = origin.git.command(&records, tree);
    command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repository.objects());
    command.args(["read-tree", "HEAD"]);
    // Before the first commit there is nothing to read.
    let _ = git::run(command, DOING, tree)?;
    Ok(())
}
