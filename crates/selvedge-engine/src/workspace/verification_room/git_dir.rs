//! The `.git` directory of a room: as it was when the room was created, plus the agent's commits.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::DOING;
use super::files::{copy, copy_files, is_folder, make_folder, remove_all};
use crate::workspace::dir_handle::DirHandle;
use crate::workspace::error::WorkspaceError;
use crate::workspace::manifest::PLAIN_MODE;
use crate::workspace::repository::Repository;
use crate::workspace::{Workspace, git};

/// The folder in a room with the copy that is used for each tree.
const GIT_DIR_COPY: &str = "records";

/// A temporary index in a room.
const COMPARED_INDEX: &str = "compared-index";

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
        let names = names_in(source).map_err(|e| WorkspaceError::io(DOING, source, e))?;
        let is_copied = |name: &OsString| {
            let is_left_out = NOT_COPIED.iter().any(|it| name == it);
            !is_left_out && !name.as_bytes().ends_with(b".lock") && is_plain(&source.join(name))
        };
        let names = names.into_iter().filter(is_copied);
        let paths: Vec<PathBuf> = names
            .flat_map(|name| match name.to_str() {
                Some("hooks") => hooks_in(source),
                _ => vec![PathBuf::from(name)],
            })
            .collect();
        copy_files(source, &target, &paths)?;
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

/// Returns the hooks of a git directory. Examples, of which each new repository has many, are left out.
fn hooks_in(git_dir: &Path) -> Vec<PathBuf> {
    let names = names_in(&git_dir.join("hooks")).unwrap_or_default();
    let paths = names.iter().map(|name| Path::new("hooks").join(name));
    paths
        .filter(|path| path.extension() != Some(OsStr::new("sample")))
        .collect()
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

/// Files of the room as the agent's last commit has them: in a composed tree they remain committed.
#[derive(Debug, Clone)]
pub(crate) struct CommittedFiles {
    /// The commit.
    head: String,
    /// Relative to the repository.
    paths: Vec<PathBuf>,
}

/// Finds which of these paths of the room in `folder` are as in the agent's last commit; `None` if the agent committed
/// nothing. `tree` is the part of the room with the workspace's files.
pub(super) fn find_committed(
    origin: &Workspace,
    folder: &Path,
    tree: &Path,
    paths: &[PathBuf],
) -> Result<Option<CommittedFiles>, WorkspaceError> {
    let Some(repository) = origin.repository.as_ref().filter(|it| has_own_git_dir(it)) else {
        return Ok(None);
    };
    let root = folder.join("root");
    let head_of = |git_dir: &Path| {
        let mut command = origin.git.command(git_dir, &root);
        command.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        git::run(command, DOING, &root).map(|output| one_line(&output.stdout))
    };
    let (head, before) = (
        head_of(repository.git_dir())?,
        head_of(&folder.join(GIT_DIR_COPY))?,
    );
    if head.is_empty() || head == before {
        return Ok(None);
    }
    let prefix = tree.strip_prefix(&root).unwrap_or(Path::new(""));
    let paths: BTreeSet<PathBuf> = paths.iter().map(|path| prefix.join(path)).collect();
    let git = RoomRepository::new(origin, repository, folder);
    let index = folder.join(COMPARED_INDEX);
    let mut entries = Vec::new();
    let mut tracked = BTreeSet::new();
    for entry in git.entries(&head)? {
        if let Some(path) = path_of(&entry).filter(|path| paths.contains(path)) {
            entries.extend_from_slice(&entry);
            entries.push(0);
            tracked.insert(path);
        }
    }
    let mut tracked_before = BTreeSet::new();
    if !before.is_empty() {
        tracked_before.extend(
            git.entries(&before)?
                .iter()
                .filter_map(|entry| path_of(entry)),
        );
    }
    remove_all(&index)?;
    git.run(&index, &["update-index", "-z", "--index-info"], entries)?;
    // It fails if a file differs.
    let _ = git.run(&index, &["update-index", "-q", "--refresh"], Vec::new());
    let differing = git.run(&index, &["diff-files", "--name-only", "-z"], Vec::new())?;
    remove_all(&index)?;
    let differing: BTreeSet<PathBuf> = records(&differing).map(to_path).collect();
    let is_committed = |path: &PathBuf| {
        if tracked.contains(path) {
            return !differing.contains(path);
        }
        tracked_before.contains(path) && root.join(path).symlink_metadata().is_err()
    };
    let paths: Vec<PathBuf> = paths.into_iter().filter(is_committed).collect();
    Ok((!paths.is_empty()).then_some(CommittedFiles { head, paths }))
}

/// Replaces the agent's last commit in the room's `.git`: the new one has the same message and parents, and the current
/// files at these paths. So git reports the same changes as for the attempt's own tree.
pub(super) fn commit_files(
    origin: &Workspace,
    folder: &Path,
    committed: &CommittedFiles,
) -> Result<(), WorkspaceError> {
    let Some(repository) = &origin.repository else {
        return Ok(());
    };
    let git = RoomRepository::new(origin, repository, folder);
    let git_dir = folder.join("root/.git");
    let index = git_dir.join("index");
    remove_all(&index)?;
    git.run(&index, &["read-tree", &committed.head], Vec::new())?;
    let mut names = Vec::new();
    for path in &committed.paths {
        names.extend_from_slice(path.as_os_str().as_bytes());
        names.push(0);
    }
    let update = [
        "update-index",
        "-z",
        "--add",
        "--remove",
        "--replace",
        "--stdin",
    ];
    git.run(&index, &update, names)?;
    let tree = one_line(&git.run(&index, &["write-tree"], Vec::new())?);
    let commit = git.run(&index, &["cat-file", "commit", &committed.head], Vec::new())?;
    let commit = with_tree(&commit, &tree);
    let store = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let commit = git.run(&index, &store, commit)?;
    let to_error = |error| WorkspaceError::io(DOING, &git_dir, error);
    let anchor = DirHandle::open_root(&git_dir).map_err(to_error)?;
    let head = fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
    let branch = head.strip_prefix("ref: ").map(str::trim);
    let name = Path::new(
        branch
            .filter(|it| it.starts_with("refs/"))
            .unwrap_or("HEAD"),
    );
    anchor
        .make_folder(name.parent().unwrap_or(Path::new("")))
        .and_then(|()| anchor.write(name, PLAIN_MODE, |file| file.write_all(&commit)))
        .map_err(to_error)
}

/// The repository of a room, with the agent's objects. New objects are stored in the room.
struct RoomRepository<'a> {
    origin: &'a Workspace,
    /// A git directory of Selvedge, whose settings are used.
    reader: PathBuf,
    root: PathBuf,
    objects: PathBuf,
}

impl<'a> RoomRepository<'a> {
    fn new(origin: &'a Workspace, repository: &Repository, folder: &Path) -> Self {
        Self {
            origin,
            reader: origin.shadow.reader(repository.object_format()),
            root: folder.join("root"),
            objects: repository.objects(),
        }
    }

    /// Runs git on the room's files with this index, and returns its output.
    fn run(&self, index: &Path, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>, WorkspaceError> {
        let mut command = self.origin.git.command(&self.reader, &self.root);
        command
            .env("GIT_WORK_TREE", &self.root)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_OBJECT_DIRECTORY", self.root.join(".git/objects"))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.objects)
            .args(args);
        git::output_with_input(command, input, DOING, &self.root)
    }

    /// Returns the files of a commit, each as git lists it.
    fn entries(&self, commit: &str) -> Result<Vec<Vec<u8>>, WorkspaceError> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", commit];
        let listing = self.run(Path::new("unused"), &args, Vec::new())?;
        Ok(records(&listing).map(<[u8]>::to_vec).collect())
    }
}

fn records(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    let records = listing.split(|byte| *byte == 0);
    records.filter(|record| !record.is_empty())
}

/// Returns the path in a line `MODE blob ID\tPATH`; a submodule has none.
fn path_of(entry: &[u8]) -> Option<PathBuf> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let is_file = !entry.starts_with(b"160000 ");
    is_file.then(|| to_path(&entry[tab + 1..]))
}

fn to_path(name: &[u8]) -> PathBuf {
    OsStr::from_bytes(name).into()
}

fn one_line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

/// Replaces the tree of a commit, and removes its signature.
fn with_tree(commit: &[u8], tree: &str) -> Vec<u8> {
    let end = commit.windows(2).position(|two| two == b"\n\n");
    let (head, rest) = commit.split_at(end.map_or(commit.len(), |end| end + 1));
    let mut changed = format!("tree {tree}\n").into_bytes();
    let mut is_signature = false;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let is_continued = line.starts_with(b" ");
        is_signature = line.starts_with(b"gpgsig") || is_signature && is_continued;
        if !is_signature && !line.starts_with(b"tree ") {
            changed.extend_from_slice(line);
        }
    }
    changed.extend_from_slice(rest);
    changed
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
