//! The `.git` directory of a room: as it was when the room was created, plus the agent's commits.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::DOING;
use super::files::{copy, copy_files, is_folder, make_folder, remove_all};
use crate::workspace::error::WorkspaceError;
use crate::workspace::repository::Repository;
use crate::workspace::{Workspace, git};

/// The folder in a room with the copy that is used for each tree.
const GIT_DIR_COPY: &str = "records";

/// Parts of `.git` that are not copied: objects are mounted, and the others do not matter for checks.
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
/// Parts of `.git` that change with commits.
const COMMIT_DEPENDENT_PARTS: [&str; 4] = ["HEAD", "packed-refs", "refs", "index"];

/// Copies `.git` without its objects, and the `.gitignore` files above the workspace.
pub(super) fn copy_git_dir(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    let Some(repository) = &origin.repository else {
        return Ok(());
    };
    let root = folder.join("root");
    if has_own_git_dir(repository) {
        let (source, target) = (repository.git_dir(), folder.join(GIT_DIR_COPY));
        make_folder(&target)?;
        let entries = fs::read_dir(source).map_err(|e| WorkspaceError::io(DOING, source, e))?;
        let names = entries.flatten().filter_map(|entry| {
            let name = entry.file_name();
            let is_copied = !NOT_COPIED.iter().any(|it| name == OsStr::new(it))
                && !name.as_bytes().ends_with(b".lock")
                && is_plain(&entry.path());
            is_copied.then(|| PathBuf::from(name))
        });
        copy_files(source, &target, &names.collect::<Vec<_>>())?;
        let info = target.join("objects/info");
        make_folder(&info)?;
        // The paths of the objects in the room and on the host.
        let objects = repository.objects();
        let alternates = [
            b"../shared-objects\n",
            objects.as_os_str().as_bytes(),
            b"\n",
        ]
        .concat();
        fs::write(info.join("alternates"), alternates)
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

/// Creates the room's `.git` from the copy, with the agent's commits. An index that has changed is read from the commit
/// instead, because its entries can hide changes from git.
pub(super) fn refresh_git_dir(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    let Some(repository) = &origin.repository else {
        return Ok(());
    };
    let (source, target) = (repository.git_dir(), folder.join("root/.git"));
    remove_all(&target)?;
    if !has_own_git_dir(repository) {
        let source = fs::canonicalize(source);
        let source = source.map_err(|error| WorkspaceError::io(DOING, &target, error))?;
        let pointer = [b"gitdir: ", source.as_os_str().as_bytes(), b"\n"].concat();
        return fs::write(&target, pointer).map_err(|e| WorkspaceError::io(DOING, &target, e));
    }
    let records = folder.join(GIT_DIR_COPY);
    copy(&records, &target)?;
    let mut names = COMMIT_DEPENDENT_PARTS.map(PathBuf::from).to_vec();
    if names
        .iter()
        .all(|name| is_same_content(&source.join(name), &records.join(name)))
    {
        return Ok(());
    }
    let read = |path: &Path| fs::read(path).unwrap_or_default();
    let before = read(&records.join("index"));
    for name in &names {
        remove_all(&target.join(name))?;
    }
    names.retain(|name| is_plain(&source.join(name)));
    copy_files(source, &target, &names)?;
    let index = target.join("index");
    if read(&index) == before {
        return Ok(());
    }
    remove_all(&index)?;
    let place = repository.root();
    let mut command = origin.git.command(source, place);
    command.args(["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]);
    let output = git::run(command, DOING, place)?;
    if !output.status.success() {
        // No file is tracked before the first commit.
        return Ok(());
    }
    let tree = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let reader = origin.shadow.reader(repository.object_format());
    let mut command = origin.git.command(&reader, place);
    command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repository.objects());
    command.env("GIT_INDEX_FILE", &index);
    command.args(["read-tree", &tree]);
    if !git::run(command, DOING, place)?.status.success() {
        // An agent has damaged objects, so checks that use git fail.
        remove_all(&index)?;
    }
    Ok(())
}

/// Returns whether `.git` is a folder in the repository's root, instead of a link or a pointer file.
fn has_own_git_dir(repository: &Repository) -> bool {
    is_folder(&repository.root().join(".git"))
}

/// Returns whether two paths are missing, files with the same bytes, or folders with the same content. Links are never
/// the same.
fn is_same_content(one: &Path, other: &Path) -> bool {
    let kind = |path: &Path| path.symlink_metadata().ok().map(|data| data.file_type());
    match (kind(one), kind(other)) {
        (None, None) => true,
        (Some(one_kind), Some(other_kind)) if one_kind.is_file() && other_kind.is_file() => {
            let bytes = (fs::read(one), fs::read(other));
            matches!(bytes, (Ok(one), Ok(other)) if one == other)
        }
        (Some(one_kind), Some(other_kind)) if one_kind.is_dir() && other_kind.is_dir() => {
            let (Ok(names), Ok(other_names)) = (names_in(one), names_in(other)) else {
                return false;
            };
            let mut names_of_both = names.iter();
            names == other_names
                && names_of_both.all(|name| is_same_content(&one.join(name), &other.join(name)))
        }
        _ => false,
    }
}

fn names_in(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

fn is_plain(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|data| data.is_file() || data.is_dir())
}
